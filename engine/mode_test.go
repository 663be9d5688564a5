package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

func TestSyncShowsOnlyWhatIsFlushedAndAsyncWhatIsWritten(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		async, sync := b.create("async", crashConfig(h, false)), b.create("sync", crashConfig(h, true))
		b.fill(async, 3)
		b.fill(sync, 3)
		if async.HighWatermark() != 3 || async.FlushedOffset() != 0 {
			t.Errorf("%s: async: high watermark %d, flushed %d", h.name, async.HighWatermark(), async.FlushedOffset())
		}
		if sync.HighWatermark() != 3 || sync.FlushedOffset() != 3 {
			t.Errorf("%s: sync: high watermark %d, flushed %d", h.name, sync.HighWatermark(), sync.FlushedOffset())
		}
		must(t, async.Flush())
		if async.FlushedOffset() != 3 {
			t.Errorf("%s: flushed %d after Flush", h.name, async.FlushedOffset())
		}
		b.crash(fs.DropUnflushed)
		b.whole(b.log("async"), 0, 3)
		b.whole(b.log("sync"), 0, 3)
		b.stop()
	}
}

func TestTheFirstSyncAppendFlushesWhatCameBefore(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, false))
		b.fill(l, 30) // several segments
		l.SetConfig(crashConfig(h, true))
		if l.HighWatermark() != 30 {
			t.Errorf("%s: the high watermark fell to %d", h.name, l.HighWatermark())
		}
		b.fill(l, 1)
		if l.FlushedOffset() != 31 {
			t.Errorf("%s: flushed %d", h.name, l.FlushedOffset())
		}
		b.crash(fs.DropUnflushed)
		b.whole(b.log("t"), 0, 31)
		b.stop()
	}
}

func TestFlushMessagesFlushesByCount(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		c := crashConfig(h, false)
		c.FlushMessages = 10
		l := b.create("t", c)
		for i := range int64(35) {
			b.fill(l, 1)
			if f := l.FlushedOffset(); f != (i+1)/10*10 {
				t.Errorf("%s: flushed %d after %d records", h.name, f, i+1)
			}
		}
		b.stop()
	}
}

func TestFlushIntervalFlushesByTime(t *testing.T) {
	b := newBench(t)
	c := small()
	c.FlushInterval = time.Millisecond
	l := b.create("t", c)
	flushed := make(chan struct{})
	var once atomic.Bool
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpDatasync && once.CompareAndSwap(false, true) {
			close(flushed)
		}
		return nil
	})
	b.fill(l, 1)
	<-flushed
	must(t, l.Flush()) // behind the one that began
	b.disk.SetHook(nil)
	if l.FlushedOffset() != 1 {
		t.Errorf("flushed %d", l.FlushedOffset())
	}
}

func TestCheckpointsComeByBytesInBothModes(t *testing.T) {
	for _, h := range ways {
		for _, sync := range []bool{true, false} {
			b := newBench(t)
			b.stop()
			b.opt.CheckpointBytes = 4000
			b.open()
			moved := make(chan struct{}, 100)
			b.disk.SetHook(func(op fs.Op, name string, _ int) error {
				if op == fs.OpRename && name == "/data/recovery-point-offset-checkpoint.tmp" {
					moved <- struct{}{}
				}
				return nil
			})
			l := b.create("t", crashConfig(h, sync))
			b.fill(l, 60)
			<-moved
			b.disk.SetHook(nil)
			b.stop()
		}
	}
}

func TestTheRecoveryPointIsNeverAheadOfTheFlush(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if p := l.settled.Load(); p.offset > l.FlushedOffset() {
			t.Errorf("recovery point %d, flushed %d at %v %s", p.offset, l.FlushedOffset(), op, name)
		}
		return nil
	})
	for range 10 {
		b.fill(l, 7)
		must(t, b.e.Checkpoint())
		if p := l.settled.Load(); p.offset != l.LogEndOffset() {
			t.Errorf("recovery point %d after a checkpoint, the log ends at %d", p.offset, l.LogEndOffset())
		}
	}
	b.disk.SetHook(nil)
}

func TestAChangeOfTheModeIsInForceForTheNextAppend(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, false))
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { // others append meanwhile
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					appendOne(l, batchOf("other", 1, 50, testNow, -1, 0))
				}
			}
		}()
		for i := range 100 {
			sync := i%2 == 0
			l.SetConfig(crashConfig(h, sync))
			r := appendOne(l, batchOf("mine", 1, 50, testNow, -1, 0))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if sync && l.FlushedOffset() <= r.LastOffset {
				t.Fatalf("%s: offset %d was acknowledged in sync mode with %d flushed", h.name, r.LastOffset, l.FlushedOffset())
			}
		}
		close(stop)
		<-done
		b.stop()
	}
}
