package engine

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

func TestATruncationTakesWholeBatchesAndIsDurable(t *testing.T) {
	for _, h := range ways {
		for _, to := range []int64{0, 1, 7, 11, 29, 30, 31, 58, 59} {
			b := newBench(t)
			c := crashConfig(h, to%2 == 0)
			c.SegmentBytes = 2000
			l := b.create("t", c)
			for range 30 {
				at := l.LogEndOffset()
				b.add(l, batchOf(batchID(at), 2, 60, testNow+at, -1, 0))
			}
			must(t, b.e.Checkpoint())
			must(t, l.Truncate(to))
			end := to / 2 * 2
			b.whole(l, 0, end)
			if l.FlushedOffset() != end {
				t.Errorf("%s, to %d: flushed %d", h.name, to, l.FlushedOffset())
			}
			b.crash(fs.DropUnflushed)
			l = b.log("t")
			b.whole(l, 0, end)
			l.SetConfig(c)
			b.fill(l, 20) // over where the old ones were
			must(t, l.Flush())
			b.crash(fs.Random)
			b.whole(b.log("t"), 0, end+20)
			b.stop()
		}
	}
}

func TestATruncationLeavesReadersWhatTheyHold(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{IndexInterval: 300})
	b.fill(l, 20)
	r, err := l.Read(5, 1<<20, true)
	must(t, err)
	want, err := r.Bytes()
	must(t, err)
	must(t, l.Truncate(8))
	b.add(l, batchOf("other", 1, 1000, testNow, -1, 0))
	if got, err := r.Bytes(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a range that is held: %v", err)
	}
	r.Release()
	all, err := contents(l)
	must(t, err)
	if len(all) != 9 || all[8].id != "other" {
		t.Errorf("%d batches, the last is %s", len(all), all[len(all)-1].id)
	}
	b.restart()
	again, err := contents(b.log("t"))
	must(t, err)
	must(t, same(again, all))
	for _, name := range list(t, b.disk, l.Dir()) {
		if name[len(name)-len(segment.CopySuffix):] == segment.CopySuffix {
			t.Errorf("%s is left", name)
		}
	}
}

func TestATruncationBelowTheFirstRecordStartsTheLogThere(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes = 2000
	l := b.create("t", c)
	b.fill(l, 50)
	must(t, b.e.Retain())
	if l.LogStartOffset() <= 5 {
		t.Fatal("nothing was deleted")
	}
	must(t, l.Truncate(5))
	b.whole(l, 5, 5)
	end := b.fill(l, 30)
	b.whole(l, 5, end)
	must(t, l.Flush())
	b.crash(fs.DropUnflushed)
	b.whole(b.log("t"), 5, end)
}

// A power cut may have emptied a segment below the log start, which nobody misses: its end does not say where the log goes on.
func TestATruncationUpToTheStartGoesOnThereWhateverIsLeftBelow(t *testing.T) {
	for _, below := range []int64{0, 1, 3} {
		for _, emptied := range []bool{false, true} {
			b := newBench(t)
			l := b.create("t", small())
			b.fill(l, 20)
			must(t, l.Flush())
			first, second := (*l.view.Load())[0], (*l.view.Load())[1]
			start := second.Base + 1
			_, err := l.DeleteRecordsTo(start)
			must(t, err)
			must(t, b.e.Checkpoint())
			b.killed(func(disk *fs.Crash) {
				if emptied {
					overwrite(t, disk, first.Path(), []byte{})
				}
			})
			l = b.log("t")
			to := start - below
			must(t, l.Truncate(to))
			b.whole(l, to, to)
			end := b.fill(l, 10)
			must(t, l.Flush())
			b.crash(fs.DropUnflushed)
			b.whole(b.log("t"), to, end)
			b.stop()
		}
	}
}

func TestATruncationKnowsItsLimits(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	must(t, l.Truncate(0))
	b.fill(l, 5)
	must(t, l.Truncate(5))
	must(t, l.Truncate(1000))
	wantErr(t, "negative", l.Truncate(-1), ErrOffsetOutOfRange)
	b.whole(l, 0, 5)
	must(t, l.Truncate(0))
	b.whole(l, 0, 0)
	b.fill(l, 5)
	b.whole(l, 0, 5)
}

func TestATruncationForgetsEpochsAndProducersFromThereOn(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	seq := int32(0)
	for epoch := range int32(5) {
		for range 4 {
			done := make(chan Appended, 1)
			l.Append(batchOf("x", 1, 100, testNow, 7, seq), epoch, func(a Appended) { done <- a })
			if a := <-done; a.Err != nil {
				t.Fatal(a.Err)
			}
			seq++
		}
	}
	must(t, l.Truncate(9))
	check := func(l *Log) {
		t.Helper()
		if l.LatestEpoch() != 2 {
			t.Errorf("latest epoch %d, want 2", l.LatestEpoch())
		}
		if r := appendOne(l, batchOf("x", 1, 100, testNow, 7, 8)); r.Err != nil || !r.Duplicate || r.BaseOffset != 8 {
			t.Errorf("the last one that is left, again: %+v", r)
		}
		if r := appendOne(l, batchOf("x", 1, 100, testNow, 7, 15)); r.Err == nil {
			t.Errorf("one of the records that are gone: %+v", r)
		}
	}
	check(l)
	b.restart()
	check(b.log("t"))
	if r := appendOne(b.log("t"), batchOf("x", 1, 100, testNow, 7, 9)); r.Err != nil || r.BaseOffset != 9 {
		t.Errorf("the next: %+v", r)
	}
}

// What is below the start is not read, and still says which transactions are open and what producers have sent.
func TestATruncationToTheStartLeavesWhatIsKnownOfProducers(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.add(l, inTxn(1, 0, 2))
	start := l.LogEndOffset()
	b.fill(l, 5)
	_, err := l.DeleteRecordsTo(start)
	must(t, err)
	must(t, l.Truncate(start))
	b.fill(l, 1)
	if at := l.LastStableOffset(); at != start {
		t.Errorf("the last stable offset is %d: want %d, where the log starts", at, start)
	}
	if n := b.end(l, 1, true); l.LastStableOffset() != n+1 {
		t.Errorf("the last stable offset is %d behind the marker at %d", l.LastStableOffset(), n)
	}
	b.stop()
}

// With each call of it failed once, with a reader at the file that is cut and without.
func TestATruncationThatFailsServesNothingThatAPowerCutTakes(t *testing.T) {
	for way := range 4 {
		held, newest := way%2 == 1, way > 1
		for n := 1; ; n++ {
			b := newBench(t)
			l := b.create("t", small())
			b.fill(l, 40)
			must(t, b.e.Checkpoint())
			b.fill(l, 2)
			to := (*l.view.Load())[1].Base + 3
			if newest {
				to = l.newest().Base + 3
			}
			if held {
				r, err := l.Read(to, 1, true)
				must(t, err)
				defer r.Release()
			}
			calls, what := failing(b.disk, int64(n), unix.EIO)
			_ = l.Truncate(to) // what it says is for others
			b.disk.SetHook(nil)
			opt := b.opt
			opt.FS = b.disk.Clone(fs.DropUnflushed)
			next := open(t, opt)
			after, _ := next.Log(l.name)
			for at := range l.LogEndOffset() {
				r, err := l.Read(at, 1, true)
				if err != nil {
					continue
				}
				if served, err := r.Bytes(); err == nil && len(served) > 0 && at >= after.LogEndOffset() {
					t.Errorf("held %t, newest segment %t, %s fails: offset %d is served, and a power cut leaves [%d, %d)", held, newest, text(what), at, after.LogStartOffset(), after.LogEndOffset())
				}
				r.Release()
			}
			must(t, next.Close())
			b.e.Close()
			if calls.Load() < int64(n) {
				break
			}
		}
	}
}

func TestALogThatWasTruncatedBelowItsStartKeepsItsNewStart(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	start, err := l.DeleteRecordsTo(35)
	must(t, err)
	must(t, b.e.Retain())
	b.crash(fs.KeepAll) // the leader epochs in their file begin at 0, and nothing below has to be written to it
	l = b.log("t")
	l.SetConfig(small())
	const to = 3
	if (*l.view.Load())[0].Base <= to || start <= to {
		t.Fatal("the log still has what is below its start")
	}
	must(t, l.Truncate(to))
	b.fill(l, 20) // not flushed
	if l.Segments() < 2 {
		t.Fatal("there is no second segment")
	}
	for i := range 50 {
		opt := b.opt
		opt.FS = b.disk.Clone(fs.Random)
		e := open(t, opt)
		if after, _ := e.Log(l.name); after.Err() != nil || after.LogStartOffset() != to {
			t.Errorf("cut %d: %v, start %d", i, after.Err(), after.LogStartOffset())
		}
		must(t, e.Close())
	}
}
