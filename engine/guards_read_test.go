package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// guardReads fails the reading of a log's guards, or of that of one segment, from the n-th call on, 0 for all, in one way.
func guardReads(disk *fs.Crash, of string, n int, op fs.Op, err error) {
	disk.SetHook(func(called fs.Op, name string, _ int) error {
		if called != op || !isGuard(filepath.Base(name)) || !strings.HasPrefix(name, of) {
			return nil
		}
		if n--; n > 0 {
			return nil
		}
		return err
	})
}

// unreadables are ways in which a guard that is there cannot be read.
var unreadables = []struct {
	name string
	op   fs.Op
	err  error
}{
	{"EMFILE", fs.OpOpen, syscall.EMFILE}, {"EACCES", fs.OpOpen, syscall.EACCES}, {"EIO", fs.OpRead, syscall.EIO}, {"short", fs.OpRead, fs.ErrShort},
}

func TestAGuardThatCannotBeReadIsNotAsIfThereWereNone(t *testing.T) {
	for _, u := range unreadables {
		for _, rotten := range []bool{false, true} {
			t.Run(fmt.Sprint(u.name, ", rotten ", rotten), func(t *testing.T) {
				b := newBench(t)
				l := b.create("t", Config{})
				b.fill(l, 40)
				must(t, b.e.Checkpoint())
				name := guard.Name(l.Dir(), 0)
				before := read(t, b.disk, name)
				b.killed(func(disk *fs.Crash) {
					forget(t, disk)
					if rotten {
						flip(t, disk, 39, 65, 0)
					}
					guardReads(disk, l.dir, 0, u.op, u.err)
				})
				l, _ = b.e.Log(Name{"t", 0})
				if StateOf(l.Err()) != Unreadable || !strings.Contains(l.Err().Error(), name) || b.e.Recovery().Cut != 0 {
					t.Errorf("%v, cut %d", l.Err(), b.e.Recovery().Cut)
				}
				b.disk.SetHook(nil)
				if !bytes.Equal(read(t, b.disk, name), before) {
					t.Error("the guard is another one")
				}
				b.restart()
				if !rotten {
					b.whole(b.log("t"), 0, 40)
					must(t, guarded(b.disk, b.log("t"), true))
					return
				}
				l, _ = b.e.Log(Name{"t", 0})
				if StateOf(l.Err()) != CorruptGuarded {
					t.Error(l.Err())
				}
			})
		}
	}
}

func TestATruncationIsRefusedWhereAGuardCannotBeRead(t *testing.T) {
	for _, u := range unreadables {
		t.Run(u.name, func(t *testing.T) {
			b := newBench(t)
			l := b.create("t", small())
			b.fill(l, 40)
			must(t, b.e.Checkpoint())
			guardReads(b.disk, l.dir, 0, u.op, u.err)
			segs := *l.view.Load()
			err := l.Truncate(segs[1].Base + 2)
			b.disk.SetHook(nil)
			if err == nil || !strings.Contains(err.Error(), guard.Name(l.Dir(), segs[1].Base)) || b.e.Err() != nil {
				t.Fatalf("%v, and the directory %v", err, b.e.Err())
			}
			b.whole(l, 0, 40)
			must(t, guarded(b.disk, l, true))
			must(t, l.Truncate(segs[1].Base+2))
			b.fill(l, 10)
			must(t, b.e.Checkpoint())
			b.whole(l, 0, segs[1].Base+12)
			must(t, guarded(b.disk, l, true))
			b.restart()
			b.whole(b.log("t"), 0, segs[1].Base+12)
		})
	}
}

func TestAScrubThatCannotReadAGuardFindsNothingAndWritesNone(t *testing.T) {
	for _, u := range unreadables {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		name := guard.Name(l.dir, 0)
		before := read(t, b.disk, name)
		guardReads(b.disk, l.dir, 0, u.op, u.err)
		s := b.scrubbed()
		b.disk.SetHook(nil)
		if s != "" || !bytes.Equal(read(t, b.disk, name), before) {
			t.Errorf("%s: %q, and the guard has %d bytes, had %d", u.name, s, len(read(t, b.disk, name)), len(before))
		}
		// It was not read when it was compared, and is there when it would be written.
		reads := 0
		b.disk.SetHook(func(op fs.Op, called string, _ int) error {
			if op != u.op || called != name {
				return nil
			}
			if reads++; reads == 1 {
				return u.err
			}
			return nil
		})
		if s := b.scrubbed(); s != "" || !bytes.Equal(read(t, b.disk, name), before) {
			t.Errorf("%s: %q, and the guard is another one", u.name, s)
		}
		b.stop()
	}
}

// The first look at a guard is a finding, and the second, which is to confirm it, cannot read the guard.
func TestAFindingThatNobodyCanConfirmWaitsAndOneThatWasConfirmedStays(t *testing.T) {
	for _, u := range unreadables {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		flip(t, b.disk, 2, 12, 0) // of the leader epoch, which no checksum covers
		guardReads(b.disk, guard.Name(l.dir, 0), 2, u.op, u.err)
		must(t, b.e.Scrub(context.Background(), 0))
		if l.Err() != nil {
			t.Errorf("%s: %v", u.name, l.Err())
		}
		b.disk.SetHook(nil)
		if s := b.scrubbed(); s != GuardDiffers {
			t.Errorf("%s: %q", u.name, s)
		}
		b.stop()
		guardReads(b.disk, guard.Name(l.dir, 0), 0, u.op, u.err)
		b.open()
		l, _ = b.e.Log(Name{"t", 0})
		if StateOf(l.Err()) != GuardDiffers {
			t.Errorf("%s: a start that cannot read the guard: %v", u.name, l.Err())
		}
		b.disk.SetHook(nil)
		b.restart()
		l, _ = b.e.Log(Name{"t", 0})
		if StateOf(l.Err()) != GuardDiffers {
			t.Errorf("%s: the start after it: %v", u.name, l.Err())
		}
		overwrite(t, b.disk, guard.Name(l.dir, 0), nil)
		b.restart()
		b.log("t")
		b.stop()
	}
}

// lose removes the log file of one segment, counted from the end, and returns its base offset.
func (b *bench) lose(l *Log, fromEnd int, also func(disk *fs.Crash, base int64)) int64 {
	segs := *l.view.Load()
	base := segs[len(segs)-1-fromEnd].Base
	b.killed(func(disk *fs.Crash) {
		must(b.t, disk.Remove(segment.Name(l.dir, base, segment.LogSuffix)))
		if also != nil {
			also(disk, base)
		}
	})
	return base
}

func TestANewestSegmentThatWasFlushedAndIsGoneTakesTheLogOffline(t *testing.T) {
	for _, sync := range []bool{true, false} {
		b := newBench(t)
		c := small()
		if sync {
			c.FlushMessages = 1
		}
		l := b.create("t", c)
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		base := b.lose(l, 0, nil)
		l, _ = b.e.Log(Name{"t", 0})
		name := guard.Name(l.dir, base)
		if StateOf(l.Err()) != SegmentLost || !strings.Contains(l.Err().Error(), filepath.Base(name)) {
			t.Errorf("sync %t: %v", sync, l.Err())
		}
		b.restart() // and again
		l, _ = b.e.Log(Name{"t", 0})
		if StateOf(l.Err()) != SegmentLost {
			t.Errorf("sync %t: the next start: %v", sync, l.Err())
		}
		b.stop()
		overwrite(t, b.disk, name, nil) // what the error tells to do where nothing is missing
		b.open()
		b.met("without the guard", EndBelowPoint)
		b.whole(b.log("t"), 0, base)
		b.stop()
	}
}

func TestAGuardOfNothingOrOfASegmentInTheMidstIsRemovedWithoutIt(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	base := b.lose(l, 0, func(disk *fs.Crash, base int64) {
		overwrite(t, disk, guard.Name("/data/t-0", base), make([]byte, guard.Width))
	})
	b.met("of nothing", GuardOrphan)
	b.whole(b.log("t"), 0, base)
	must(t, b.e.Checkpoint())
	b.lose(b.log("t"), 1, nil)
	b.met("in the midst", GuardOrphan, SegmentMissing)
	must(t, guarded(b.disk, b.log("t"), true))
}

// A killed process made a segment's file, whose name is not durable before a recovery has flushed it: a guard that came earlier would
// tell of a segment that nobody was promised.
func TestAGuardIsMadeAfterItsSegmentHasItsName(t *testing.T) {
	for seed := range uint64(10) {
		disk := crashDisk(seed)
		m := newMortal(disk, -1)
		opt := crashOptions(m, ways[0])
		opt.StageBytes = -1
		e := open(t, opt)
		l, err := e.Create(Name{"t", 0}, [16]byte{1}, small())
		must(t, err)
		for i := range 30 {
			if a := appendOne(l, batchOf(fmt.Sprint(i), 1, 100, testNow, -1, 0)); a.Err != nil {
				t.Fatal(a.Err)
			}
			if i == 10 {
				must(t, e.Checkpoint())
			}
		}
		m.mu.Lock()
		m.at = m.calls + 1
		m.mu.Unlock()
		go e.Checkpoint()
		<-m.died
		m.bury()
		var cuts []*fs.Crash
		disk.SetHook(func(op fs.Op, _ string, _ int) error {
			if op.Changes() {
				cuts = append(cuts, disk.Clone(fs.Random))
			}
			return nil
		})
		opt.FS = disk
		must(t, open(t, opt).Close())
		disk.SetHook(nil)
		for i, cut := range cuts {
			opt.FS = cut
			e := open(t, opt)
			for _, l := range e.Logs() {
				if err := l.Err(); err != nil {
					t.Errorf("seed %d, cut %d: %v", seed, i, err)
				}
			}
			must(t, e.Close())
		}
	}
}

func TestAHoleBeforeWhatIsGuardedIsNoCrash(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	b.killed(func(disk *fs.Crash) {
		forget(t, disk)
		must(t, disk.Remove(segment.Name(l.dir, (*l.view.Load())[1].Base, segment.LogSuffix)))
	})
	l, _ = b.e.Log(Name{"t", 0})
	if StateOf(l.Err()) != SegmentLost {
		t.Error(l.Err())
	}
	if _, err := b.disk.Stat(guard.Name(l.dir, 0)); errors.Is(err, os.ErrNotExist) {
		t.Error("the first segment's guard is gone")
	}
}
