package engine

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// whileFlushing holds flushes of segments back for as long as it takes to see whether somebody does not wait for them.
func whileFlushing(disk *fs.Crash, seen chan Appended) {
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpDatasync && filepath.Ext(name) == segment.LogSuffix {
			select {
			case a := <-seen:
				seen <- a
			case <-time.After(50 * time.Millisecond):
			}
		}
		return nil
	})
}

func TestAnAppendThatBeganInSyncModeIsFlushedWhateverTheModeIsThen(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, true))
		b.fill(l, 2)
		gate := make(chan bool)
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if op.Changes() && filepath.Ext(name) == segment.LogSuffix {
				<-gate
			}
			return nil
		})
		flushed := make(chan int64, 2)
		add := func() {
			l.Append(batchOf("x", 1, 100, testNow, -1, 0), 0, func(a Appended) {
				if a.Err != nil {
					t.Error(a.Err)
				}
				flushed <- l.FlushedOffset() - a.LastOffset
			})
		}
		add()
		add() // one of them waits for the other
		l.SetConfig(crashConfig(h, false))
		close(gate)
		for range 2 {
			if n := <-flushed; n <= 0 {
				t.Errorf("%s: acknowledged, and not flushed", h.name)
			}
		}
		b.stop()
	}
}

func TestADuplicateInSyncModeWaitsForTheFlushOfWhatAsyncLeft(t *testing.T) {
	for _, h := range ways {
		for _, stage := range []int64{-1, 4 << 20} {
			b := stageBench(t, stage)
			l := b.create("t", crashConfig(h, false))
			b.add(l, batchOf("x", 1, 100, testNow, 7, 0))
			l.mu.Lock()
			l.awaitWritten(1)
			l.mu.Unlock()
			seen := make(chan Appended, 1)
			whileFlushing(b.disk, seen)
			l.SetConfig(crashConfig(h, true))
			flushed := make(chan int64, 1)
			l.Append(batchOf("x", 1, 100, testNow, 7, 0), 0, func(a Appended) {
				flushed <- l.FlushedOffset()
				seen <- a
			})
			if n := <-flushed; n < 1 {
				t.Errorf("%s: acknowledged, and not flushed", h.name)
			}
			if a := <-seen; a.Err != nil || !a.Duplicate {
				t.Errorf("%s: %+v", h.name, a)
			}
			b.disk.SetHook(nil)
			b.stop()
		}
	}
}
