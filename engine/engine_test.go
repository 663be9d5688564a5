package engine

import (
	"fmt"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// prepared returns a batch of n records, ready to be appended.
func prepared(t testing.TB, n int, value string) *record.Prepared {
	t.Helper()
	b := record.NewBuilder(record.None)
	for i := range n {
		b.Add(1700000000000+int64(i), []byte(fmt.Sprint("k", i)), []byte(value))
	}
	raw := b.Bytes()
	p := new(record.Prepared)
	if err := p.Prepare(raw, record.DefaultRules(1700000000000)); err != nil {
		t.Fatal(err)
	}
	return p
}

// appendWait appends and waits for the acknowledgement.
func appendWait(t testing.TB, l *Log, p *record.Prepared) Appended {
	t.Helper()
	done := make(chan Appended, 1)
	l.Append(p, 0, func(a Appended) { done <- a })
	a := <-done
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	return a
}

func open(t testing.TB, opt Options) *Engine {
	t.Helper()
	e, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatWasAppendedIsReadAgainAfterAnOrderlyStop(t *testing.T) {
	for _, cfg := range []Config{{}, {FlushMessages: 1}, {SegmentBytes: 4096}} {
		dir := t.TempDir()
		e := open(t, Options{Dir: dir})
		l, err := e.Create(Name{"t", 0}, [16]byte{1}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			a := appendWait(t, l, prepared(t, 10, fmt.Sprint("value ", i)))
			if a.BaseOffset != int64(10*i) || a.LastOffset != int64(10*i+9) {
				t.Fatalf("append %d: %+v", i, a)
			}
		}
		check := func(l *Log) {
			t.Helper()
			if l.HighWatermark() != 500 || l.LogEndOffset() != 500 {
				t.Fatalf("high %d end %d", l.HighWatermark(), l.LogEndOffset())
			}
			for at := int64(0); at < 500; {
				r, err := l.Read(at, 100, true)
				if err != nil {
					t.Fatal(err)
				}
				b, err := r.Bytes()
				r.Release()
				if err != nil {
					t.Fatal(err)
				}
				batch, _, err := record.Next(b)
				if err != nil {
					t.Fatal(err)
				}
				if err := batch.Check(); err != nil {
					t.Fatal(err)
				}
				if batch.BaseOffset() > at || batch.LastOffset() < at {
					t.Fatalf("asked for %d, got %d..%d", at, batch.BaseOffset(), batch.LastOffset())
				}
				at++
			}
		}
		check(l)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, Options{Dir: dir})
		if r := e.Recovery(); !r.Clean || r.Scanned != 0 || r.Logs != 1 {
			t.Fatalf("%+v", r)
		}
		l, _ = e.Log(Name{"t", 0})
		if l.TopicID() != [16]byte{1} {
			t.Fatal("topic id")
		}
		check(l)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
