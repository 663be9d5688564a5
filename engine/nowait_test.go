package engine

import (
	"errors"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// An event loop reads what is in memory, wherever in a log it is asked for something: files that are not open are not opened, and
// indexes at rest not looked into, which a reader who may wait does.
func TestAReadThatDoesNotWaitLeavesFilesAlone(t *testing.T) {
	b := newBench(t)
	c := small()
	c.SegmentBytes, c.IndexInterval = 256<<10, 64
	end := b.fill(b.create("log", c), 4000)
	b.restart()
	l := b.log("log")
	l.SetConfig(c)
	b.fill(l, 3) // brings the last segment's indexes into memory
	segs := *l.view.Load()
	if len(segs) < 2 {
		t.Fatalf("%d segments", len(segs))
	}
	last := segs[len(segs)-1].Base
	var calls []fs.Op
	noWait := func(offset int64) error {
		b.disk.SetHook(func(op fs.Op, _ string, _ int) error {
			if op != fs.OpRead { // the twin cannot say what is in memory
				calls = append(calls, op)
			}
			return nil
		})
		defer b.disk.SetHook(nil)
		r, err := l.ReadNoWait(offset, 1<<10, true)
		r.Release()
		if err == nil {
			var c Committed
			c, err = l.ReadCommittedNoWait(offset, 1<<10, true)
			c.Release()
		}
		return err
	}
	for _, round := range []string{"closed", "open"} {
		for offset := int64(0); offset < end; offset += 500 {
			inMemory := round == "open" && offset >= last
			if err := noWait(offset); inMemory && err != nil || !inMemory && !errors.Is(err, ErrWouldBlock) {
				t.Errorf("%s, offset %d of %d: %v", round, offset, last, err)
			}
		}
		for offset := int64(0); offset < end; offset += 500 {
			r, err := l.Read(offset, 1<<10, true)
			if err != nil {
				t.Fatal(err)
			}
			r.Release()
		}
	}
	if len(calls) > 0 {
		t.Errorf("calls of the disk: %v", calls)
	}
}
