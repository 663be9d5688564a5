package engine

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// inTxn is a batch of n records of a producer's transaction, whose sequences are the offsets at which it is sent.
func inTxn(id int64, sequence int32, n int) *record.Prepared {
	b := record.NewBuilder(record.None).Producer(id, 0, sequence)
	b.Transactional = true
	for i := range n {
		b.Add(testNow, nil, fmt.Appendf(nil, "producer %d, record %d", id, int(sequence)+i))
	}
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), record.DefaultRules(testNow)); err != nil {
		panic(err)
	}
	return p
}

// end appends a marker and returns its offset.
func (b *bench) end(l *Log, id int64, commit bool) int64 {
	b.t.Helper()
	r := endOne(l, Marker{ProducerID: id, Commit: commit})
	if r.Err != nil {
		b.t.Fatal(r.Err)
	}
	return r.BaseOffset
}

func endOne(l *Log, m Marker) Appended {
	done := make(chan Appended, 1)
	l.AppendMarker(m, 0, func(a Appended) { done <- a })
	return <-done
}

func (b *bench) stable(l *Log, want int64) {
	b.t.Helper()
	if got := l.LastStableOffset(); got != want {
		b.t.Errorf("last stable offset %d, want %d of %d", got, want, l.HighWatermark())
	}
}

func (b *bench) aborted(l *Log, from, to int64, want ...AbortedTxn) {
	b.t.Helper()
	got, err := l.AbortedTransactions(from, to)
	must(b.t, err)
	if !slices.Equal(got, want) {
		b.t.Errorf("aborted in [%d, %d): %v, want %v", from, to, got, want)
	}
}

// committedOf reads a log as a consumer of committed records does: it leaves out aborted transactions and markers, and returns the
// offsets of the others.
func committedOf(l *Log, from int64, maxBytes int) (offsets []int64, err error) {
	for {
		c, err := l.ReadCommitted(from, maxBytes, true)
		if err != nil {
			return nil, err
		}
		b, err := c.Bytes()
		c.Release()
		if err != nil || len(b) == 0 {
			return offsets, err
		}
		kept := keeper{aborted: c.Aborted}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				break // cut off by the limit
			}
			b, from = rest, batch.LastOffset()+1
			if batch.LastOffset() >= c.LastStableOffset {
				return nil, fmt.Errorf("a batch up to offset %d below the last stable offset %d", batch.LastOffset(), c.LastStableOffset)
			}
			if kept.keeps(batch) && !batch.IsControl() {
				for o := batch.BaseOffset(); o <= batch.LastOffset(); o++ {
					offsets = append(offsets, o)
				}
			}
		}
	}
}

func TestCommittedRecordsAreReadUpToTheFirstOpenTransaction(t *testing.T) {
	for _, h := range ways {
		for _, sync := range []bool{false, true} {
			b := newBench(t)
			l := b.create("t", crashConfig(h, sync))
			b.add(l, batchOf("a", 2, 10, testNow, -1, 0)) // 0, 1
			b.add(l, inTxn(1, 0, 2))                      // 2, 3
			b.stable(l, 2)
			b.add(l, inTxn(2, 0, 1))                      // 4
			b.add(l, batchOf("b", 1, 10, testNow, -1, 0)) // 5
			b.end(l, 2, false)                            // 6: the one behind ends first
			b.stable(l, 2)
			b.aborted(l, 0, 7, AbortedTxn{2, 4})
			b.add(l, inTxn(1, 2, 1)) // 7
			b.end(l, 1, true)        // 8
			b.stable(l, 9)
			b.add(l, inTxn(3, 0, 1)) // 9
			b.stable(l, 9)
			got, err := committedOf(l, 0, 1<<20)
			must(t, err)
			if want := []int64{0, 1, 2, 3, 5, 7}; !slices.Equal(got, want) {
				t.Errorf("%s: a reader of committed records sees %v, want %v", h.name, got, want)
			}
			b.stop()
		}
	}
}

func TestARangeOfCommittedRecordsEndsAtTheLastStableOffset(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.add(l, batchOf("a", 2, 10, testNow, -1, 0))
	b.add(l, inTxn(1, 0, 2)) // 2
	b.add(l, batchOf("b", 2, 10, testNow, -1, 0))
	for offset, want := range map[int64]int{0: batchOf("a", 2, 10, testNow, -1, 0).Batches[0].Size, 2: 0, 4: 0, 6: 0} {
		c, err := l.ReadCommitted(offset, 1<<20, true)
		must(t, err)
		if c.Size != want || c.LastStableOffset != 2 || c.HighWatermark != 6 || c.Aborted == nil {
			t.Errorf("from %d: %d bytes, stable %d of %d, aborted %v; want %d bytes, 2 of 6, none", offset, c.Size,
				c.LastStableOffset, c.HighWatermark, c.Aborted, want)
		}
		c.Release()
	}
	_, err := l.ReadCommitted(7, 1<<20, true)
	wantErr(t, "beyond the end", err, ErrOffsetOutOfRange)
}

func TestWhereNothingFitsTheListOfAbortedTransactionsIsMissingAndWhereNothingIsAskedForItIsThere(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.add(l, inTxn(1, 0, 2))
	b.end(l, 1, false)
	for limit, want := range map[int]bool{0: true, 10: false, 1000: true} {
		c, err := l.ReadCommitted(0, limit, false)
		must(t, err)
		if (c.Aborted != nil) != want || want && !slices.Equal(c.Aborted, []AbortedTxn{{1, 0}}) || (c.Size > 0) != (limit == 1000) {
			t.Errorf("at most %d bytes: %d bytes, aborted %v", limit, c.Size, c.Aborted)
		}
		c.Release()
	}
}

func TestAnOpenTransactionAndWhatWasAbortedOutliveEveryKindOfStart(t *testing.T) {
	starts := map[string]func(*bench){
		"an orderly stop":          (*bench).restart,
		"a kill":                   func(b *bench) { b.crash(fs.KeepAll) },
		"a power cut":              func(b *bench) { must(b.t, b.log("t").Flush()); b.crash(fs.DropUnflushed) },
		"a checkpoint and a crash": func(b *bench) { must(b.t, b.e.Checkpoint()); b.crash(fs.DropUnflushed) },
	}
	for name, start := range starts {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 5)
		b.add(l, inTxn(1, 0, 2)) // 5
		b.fill(l, 20)            // rolls
		b.add(l, inTxn(2, 0, 2)) // 27
		b.end(l, 1, false)       // 29
		b.fill(l, 20)
		b.add(l, inTxn(3, 0, 1)) // 50
		b.end(l, 3, false)       // 51
		must(t, l.Flush())
		if l.Segments() < 4 {
			t.Fatalf("%d segments", l.Segments())
		}
		want := l.Producers()
		for round := range 3 {
			start(b)
			l = b.log("t")
			b.stable(l, 27)
			b.aborted(l, 0, 27, AbortedTxn{1, 5})
			b.aborted(l, 0, 52, AbortedTxn{1, 5}, AbortedTxn{3, 50})
			b.aborted(l, 30, 50)
			b.aborted(l, 52, 60)
			if got := l.Producers(); !slices.Equal(got, want) {
				t.Errorf("%s, round %d: producers %+v, want %+v", name, round, got, want)
			}
		}
		b.end(l, 2, true) // 52: the log goes on
		b.add(l, inTxn(3, 1, 1))
		b.end(l, 3, false)
		b.stable(l, 55)
		start(b)
		b.stable(b.log("t"), 55)
		b.aborted(b.log("t"), 0, 55, AbortedTxn{1, 5}, AbortedTxn{3, 50}, AbortedTxn{3, 53})
		b.stop()
	}
}

func TestATransactionIndexThatIsDamagedIsMadeAgainFromTheLog(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for i := range int32(40) {
		id := int64(i % 3)
		b.add(l, inTxn(id, i/3, 1))
		b.fill(l, 2)
		b.end(l, id, i%4 == 0)
	}
	must(t, l.Flush())
	var names []string
	for _, s := range *l.view.Load() {
		if s.HasAborted() {
			names = append(names, segment.Name(l.Dir(), s.Base, segment.TxnSuffix))
		}
	}
	if len(names) < 3 {
		t.Fatalf("%d transaction indexes", len(names))
	}
	all, err := l.AbortedTransactions(0, l.LogEndOffset())
	must(t, err)
	b.stop()
	sound := map[string][]byte{}
	for _, n := range names {
		sound[n] = read(t, b.disk, n)
	}
	flip := func(at int) func([]byte) []byte {
		return func(c []byte) []byte { c[at] ^= 0xff; return c }
	}
	for what, damage := range map[string]func(c []byte) []byte{
		"torn":                func(c []byte) []byte { return c[:len(c)-5] },
		"a torn one more":     func(c []byte) []byte { return append(c, c[:7]...) },
		"another version":     flip(1),
		"a marker too far up": flip(18),
		"zeros":               func(c []byte) []byte { return make([]byte, len(c)) },
		"text":                func([]byte) []byte { return []byte("no index at all") },
		"entries twice":       func(c []byte) []byte { return append(c, c...) },
	} {
		for _, n := range names {
			overwrite(t, b.disk, n, damage(slices.Clone(sound[n])))
			b.open()
			b.aborted(b.log("t"), 0, b.log("t").LogEndOffset(), all...)
			b.stop()
			if !slices.Equal(read(t, b.disk, n), sound[n]) {
				t.Errorf("%s: %s is not what it was", what, n)
			}
		}
	}
	b.open()
}

func TestATransactionIndexThatIsDamagedInUseIsMadeAgainFromTheLog(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for i := range int32(40) {
		id := int64(i % 3)
		b.add(l, inTxn(id, i/3, 1))
		b.fill(l, 2)
		b.end(l, id, i%4 == 0)
	}
	must(t, l.Flush())
	must(t, b.e.Checkpoint())
	all, err := l.AbortedTransactions(0, l.LogEndOffset())
	must(t, err)
	want, err := committedOf(l, 0, 1<<20)
	must(t, err)
	for _, damage := range []func(c []byte) []byte{
		func(c []byte) []byte { return c[:len(c)-1] },
		func(c []byte) []byte { return make([]byte, len(c)) },
		func([]byte) []byte { return nil },
	} {
		n := 0
		for _, s := range (*l.view.Load())[:l.Segments()-1] {
			if !s.HasAborted() {
				continue
			}
			n++
			name := segment.Name(l.Dir(), s.Base, segment.TxnSuffix)
			sound := read(t, b.disk, name)
			overwrite(t, b.disk, name, damage(slices.Clone(sound)))
			if n%2 == 0 {
				b.aborted(l, 0, l.LogEndOffset(), all...)
			} else if got, err := committedOf(l, 0, 1<<20); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s is damaged, and committed records are %v, %v; want %v", name, got, err, want)
			}
			if !slices.Equal(read(t, b.disk, name), sound) {
				t.Errorf("%s is not what it was", name)
			}
		}
		if n < 3 {
			t.Fatalf("%d transaction indexes", n)
		}
	}
}

func TestATruncationTakesMarkersBack(t *testing.T) {
	for _, reading := range []bool{false, true} {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 3)
		b.add(l, inTxn(1, 0, 2)) // 3, 4
		b.add(l, inTxn(2, 0, 1)) // 5
		b.end(l, 2, false)       // 6
		b.end(l, 1, false)       // 7
		b.fill(l, 30)
		b.add(l, inTxn(2, 1, 1)) // 38
		b.end(l, 2, false)       // 39
		var held Committed
		if reading {
			var err error
			held, err = l.ReadCommitted(3, 1<<20, true)
			must(t, err)
		}
		must(t, l.Truncate(39))
		b.stable(l, 38)
		b.aborted(l, 0, 39, AbortedTxn{2, 5}, AbortedTxn{1, 3})
		must(t, l.Truncate(7))
		held.Release()
		b.stable(l, 3)
		b.aborted(l, 0, 7, AbortedTxn{2, 5})
		b.end(l, 1, true) // 7: another leader's marker
		b.stable(l, 8)
		b.crash(fs.KeepAll)
		l = b.log("t")
		b.stable(l, 8)
		b.aborted(l, 0, 8, AbortedTxn{2, 5})
		must(t, l.Truncate(4)) // into the first transaction
		b.stable(l, 3)
		b.aborted(l, 0, 4)
		must(t, l.Truncate(0))
		b.stable(l, 0)
		b.add(l, inTxn(1, 0, 2))
		b.stable(l, 0)
		b.restart()
		b.stable(b.log("t"), 0)
		b.stop()
	}
}

func TestRetentionTakesTransactionIndexesAlongAndALogStartPassesAnOpenTransaction(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.add(l, inTxn(1, 0, 1)) // 0
	b.add(l, inTxn(2, 0, 1)) // 1
	b.end(l, 1, false)       // 2
	end := b.fill(l, 40)
	b.add(l, inTxn(1, 1, 1))
	b.end(l, 1, false)
	b.stable(l, 1)
	must(t, l.Flush())
	first := (*l.view.Load())[0]
	name := segment.Name(l.Dir(), first.Base, segment.TxnSuffix)
	must(t, b.e.Checkpoint())
	read(t, b.disk, name)
	if _, err := l.DeleteRecordsTo(end); err != nil {
		t.Fatal(err)
	}
	b.stable(l, end)
	must(t, b.e.Retain())
	for _, n := range []string{name, name + segment.DeletedSuffix} {
		if _, err := b.disk.Stat(n); !os.IsNotExist(err) {
			t.Errorf("%s after retention: %v", n, err)
		}
	}
	b.aborted(l, end, end+2, AbortedTxn{1, end})
	_, err := l.aborted(0, 3, false) // as of who has read the records just before they went
	wantErr(t, "transactions of a segment that went", err, os.ErrClosed)
	b.crash(fs.KeepAll)
	l = b.log("t")
	b.stable(l, l.LogStartOffset())
	b.end(l, 2, true)
	b.stable(l, end+3)
}

func TestATransactionIndexWithoutALogGoes(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 3)
	b.stop()
	name := segment.Name(l.Dir(), 77, segment.TxnSuffix)
	overwrite(t, b.disk, name, index.AbortedTxn{ProducerID: 1, FirstOffset: 77, LastOffset: 78, LastStableOffset: 79}.AppendTo(nil))
	b.open()
	if _, err := b.disk.Stat(name); !os.IsNotExist(err) {
		t.Errorf("%s: %v", name, err)
	}
}

func TestMarkersOfZombiesAreRefusedByTheLog(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	p := inTxn(1, 0, 1)
	b.add(l, p)
	if r := endOne(l, Marker{ProducerID: 1, CoordinatorEpoch: 5}); r.Err != nil {
		t.Fatal(r.Err)
	}
	wantErr(t, "an old coordinator", endOne(l, Marker{ProducerID: 1, CoordinatorEpoch: 4}).Err, producer.ErrCoordinatorFenced)
	wantErr(t, "an old epoch", endOne(l, Marker{ProducerID: 1, ProducerEpoch: -1, CoordinatorEpoch: 5}).Err, producer.ErrInvalidEpoch)
	b.add(l, inTxn(1, 1, 1))
	wantErr(t, "version 2 with the epoch of the records", endOne(l, Marker{ProducerID: 1, CoordinatorEpoch: 5, Version: 2}).Err, producer.ErrInvalidEpoch)
	b.stable(l, 2)
	if r := endOne(l, Marker{ProducerID: 1, ProducerEpoch: 1, CoordinatorEpoch: 5, Version: 2, Commit: true}); r.Err != nil || r.BaseOffset != 3 {
		t.Fatalf("%+v", r)
	}
	b.stable(l, 4)
	wantErr(t, "records behind their marker", appendOne(l, inTxn(1, 2, 1)).Err, producer.ErrInvalidEpoch)
	b.aborted(l, 0, 4, AbortedTxn{1, 0})
}

func TestTheLastStableOffsetHasMovedWhenAnAdvanceIsTold(t *testing.T) {
	told := make(chan int64, 100)
	e := open(t, Options{Dir: t.TempDir(), OnAdvance: func(l *Log) { told <- l.LastStableOffset() }})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	must(t, err)
	appendOne(l, inTxn(1, 0, 3))
	endOne(l, Marker{ProducerID: 1})
	deadline := time.After(10 * time.Second)
	for {
		select {
		case at := <-told:
			if at == 4 {
				return
			}
		case <-deadline:
			t.Fatal("nobody was told of the last stable offset behind the marker")
		}
	}
}
