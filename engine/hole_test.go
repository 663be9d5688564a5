package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"golang.org/x/sys/unix"
)

// Writeback puts blocks on the disk in any order, so a power cut in async mode may leave a hole with good batches behind it.
// The log comes back by itself: what lies before the hole is there, what lies behind it is in a side file, and appends go on.
func TestAHoleThatAPowerCutLeavesInAnAsyncLogIsCutWithoutHelp(t *testing.T) {
	for _, h := range []how{ways[0], ways[2]} {
		holes, flushed, random := 0, int64(10), rand.New(rand.NewPCG(1, 7))
		for seed := uint64(1); holes < 5; seed++ {
			if seed > 300 {
				t.Fatalf("%s: %d cuts, and %d with a hole", h.name, seed-1, holes)
			}
			b := newBench(t)
			b.stop()
			b.disk = crashDisk(seed)
			b.opt.SyncMethod = h.method
			b.open()
			cfg := crashConfig(h, false)
			cfg.SegmentBytes = 1 << 20
			l := b.create("t", cfg)
			b.fill(l, int(flushed))
			must(t, l.Flush())
			for range 60 {
				b.add(l, batchOf(batchID(l.LogEndOffset()), 1, 500+random.IntN(1000), testNow, -1, 0))
			}
			b.crash(fs.Random)
			if holes += b.e.Recovery().States[HoledTail]; b.e.Recovery().States[HoledTail] == 1 {
				if err := afterHole(b, flushed); err != nil {
					t.Fatalf("%s, seed %d: %v", h.name, seed, err)
				}
			}
			b.stop()
		}
	}
}

// afterHole checks a log whose recovery found a hole.
func afterHole(b *bench, flushed int64) error {
	l := b.log("t")
	end := l.LogEndOffset()
	if end < flushed || end >= flushed+60 {
		return fmt.Errorf("the log ends at %d, of %d flushed", end, flushed)
	}
	b.whole(l, 0, end)
	side, _ := sideFile(b.t, b.disk, l.Dir())
	size, err := b.disk.Stat(firstLog)
	if err != nil {
		return err
	}
	if got := int64(len(side)); got == 0 || got != b.e.Recovery().Cut || !strings.Contains(string(side), "b0") {
		return fmt.Errorf("%d bytes were cut behind position %d, %d are kept, with records or not", b.e.Recovery().Cut, size.Size(), got)
	}
	b.fill(l, 5)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, end+5)
	b.restart()
	b.whole(b.log("t"), 0, end+5)
	if again, _ := sideFile(b.t, b.disk, l.Dir()); len(again) != len(side) {
		return errors.New("what was cut is not kept")
	}
	return nil
}

// sideFile returns what a recovery took off a log, and how many files it is in.
func sideFile(t *testing.T, disk *fs.Crash, dir string) (b []byte, files int) {
	t.Helper()
	for _, name := range list(t, disk, dir) {
		if strings.Contains(name, tornSuffix) {
			b, files = append(b, read(t, disk, dir+"/"+name)...), files+1
		}
	}
	return b, files
}

func TestAChangeToSyncModeFlushesWhatAsyncLeftInEveryWayOfWriting(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		b.stop()
		b.opt.SyncMethod = h.method
		b.open()
		l := b.create("t", crashConfig(h, false))
		b.fill(l, 2)
		must(t, l.Flush())
		b.fill(l, 3)
		l.SetConfig(crashConfig(h, true))
		b.fill(l, 1)
		b.crash(fs.DropUnflushed)
		b.whole(b.log("t"), 0, 6)
		b.stop()
	}
}

// The kernel tells the failure of a write-back to the descriptors that are open, and forgets it with the last of them.
func TestTheErrorOfAWriteBackIsNotLostWithItsDescriptor(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.Descriptors = 2 // one for writers
	b.open()
	l, other := b.create("t", crashConfig(ways[0], false)), b.create("other", crashConfig(ways[0], false))
	b.fill(l, 2)
	must(t, l.Flush())
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpWrite && name == firstLog {
			return &fs.Delayed{Err: unix.EIO}
		}
		return nil
	})
	b.fill(l, 1)
	b.disk.SetHook(nil)
	other.Append(batchOf("x", 1, 0, testNow, -1, 0), 0, func(Appended) {}) // which opens a descriptor, and has the other one closed
	for end := time.Now().Add(time.Minute); l.newest().Open() && b.e.Err() == nil && time.Now().Before(end); {
		runtime.Gosched()
	}
	if err := l.Flush(); !errors.Is(err, ErrOffline) || !errors.Is(err, unix.EIO) || l.FlushedOffset() != 2 {
		t.Errorf("flush: %v, flushed up to %d", err, l.FlushedOffset())
	}
}
