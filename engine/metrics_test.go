package engine

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/segment"
)

func TestMetricsCountTheLogFilesThatAreOpenAndThoseThatMadeRoom(t *testing.T) {
	for _, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			var open, told, evicted atomic.Int64
			b := newBench(t)
			b.stop()
			b.disk.SetHook(func(op fs.Op, name string, _ int) error {
				switch {
				case filepath.Ext(name) != segment.LogSuffix:
				case op == fs.OpOpen:
					open.Add(1)
				case op == fs.OpClose:
					open.Add(-1)
				}
				return nil
			})
			b.opt.Descriptors, b.opt.SyncMethod = 8, h.method
			b.opt.Metrics.Open = func() { told.Add(1) }
			b.opt.Metrics.Close = func(e bool) {
				told.Add(-1)
				if e {
					evicted.Add(1)
				}
			}
			compare := func(when string) {
				t.Helper()
				if told.Load() != open.Load() {
					t.Errorf("%s: %d are told of, %d are open", when, told.Load(), open.Load())
				}
			}
			b.open()
			for i := range int32(20) {
				l, err := b.e.Create(Name{"t", i}, [16]byte{1}, crashConfig(h, i%2 == 0))
				must(t, err)
				b.fill(l, 40) // some segments
				must(t, readThrough(l))
				if i == 0 && (evicted.Load() > 0 || open.Load() == 0) {
					t.Errorf("%d were closed for one log, %d are open", evicted.Load(), open.Load())
				}
			}
			must(t, b.e.Checkpoint())
			b.e.flushers.close() // what was to be closed is
			compare("in use")
			if evicted.Load() == 0 {
				t.Error("none was closed to make room for others")
			}
			l, _ := b.e.Log(Name{"t", 3})
			must(t, l.Truncate(5))
			b.fill(l, 3)
			r, err := l.Read(0, 1, true)
			must(t, err)
			must(t, b.e.Delete(l.name))
			compare("a log deleted")
			must(t, b.e.Close())
			if open.Load() != 1 {
				t.Errorf("%d are open behind the end, and one is held", open.Load())
			}
			compare("behind the end")
			r.Release()
			compare("let go")
			b.open()
			compare("opened again")
			b.stop()
			compare("stopped")
		})
	}
}

func TestMetricsAreToldOfEachAppendThatIsRefusedAndWhy(t *testing.T) {
	var told []error
	b := newBench(t)
	b.stop()
	b.opt.Metrics.Refuse = func(why error) { told = append(told, why) }
	b.opt.ReserveBytes = 1 << 20
	b.open()
	l := b.create("t", small())
	b.add(l, batchOf("one", 1, 0, testNow, 7, 0))
	refused := func(what string, l *Log, id string, pad int, sequence int32, want error) {
		t.Helper()
		told = nil
		a := appendOne(l, batchOf(id, 1, pad, testNow, 7, sequence))
		if !errors.Is(a.Err, want) || len(told) != 1 || !errors.Is(told[0], want) {
			t.Errorf("%s: %+v, and told of %v, want %v", what, a, told, want)
		}
	}
	refused("a batch that is larger than a segment", l, "large", 3000, 1, ErrTooLargeForSegment)
	refused("a gap", l, "gap", 0, 5, producer.ErrOutOfOrderSequence)
	b.disk.SetCapacity(1 << 20)
	b.e.space.measure(b.e) // it does so each second
	refused("a full disk", l, "two", 0, 1, ErrNoSpace)
	b.disk.SetCapacity(1 << 40)
	b.e.space.measure(b.e)
	told = nil
	b.add(l, batchOf("two", 1, 0, testNow, 7, 1))
	b.add(l, batchOf("two", 1, 0, testNow, 7, 1)) // a duplicate is answered, not refused
	if len(told) > 0 {
		t.Errorf("told of %v", told)
	}
	gone := b.create("gone", Config{})
	must(t, b.e.Delete(gone.name))
	refused("a log that was deleted", gone, "late", 0, 0, ErrDeleted)
	err := error(&corruption{RottenBatch, errors.New("bad")})
	rotten := b.create("rotten", Config{})
	rotten.condemn(err)
	refused("a log that is offline", rotten, "late", 0, 0, ErrOffline)
	b.stop()
	refused("an engine that is closed", l, "late", 0, 2, ErrClosed)
}
