package engine

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
	"golang.org/x/sys/unix"
)

// keptFiles counts the side files of a folder for the next start.
func keptFiles(t *testing.T, disk *fs.Crash, dir string) (n int) {
	t.Helper()
	for _, name := range list(t, disk, dir) {
		if strings.Contains(filepath.Base(name), redoSuffix) {
			n++
		}
	}
	return n
}

// A log that cannot be read for a moment must not cost what the stage acknowledged: the stage goes, whatever became of the log.
func TestWhatTheStageHasOfALogThatCannotBeReadIsThereAtTheNextStart(t *testing.T) {
	for _, op := range []fs.Op{fs.OpReadDir, fs.OpOpen, fs.OpStat, fs.OpRead} {
		for _, p := range []fs.Policy{fs.KeepAll, fs.DropUnflushed} {
			b := stageBench(t, 4<<20)
			cfg := small()
			cfg.SegmentBytes = 1 << 20
			l, other := b.create("t", cfg), b.create("other", cfg)
			b.fill(l, 30)
			b.fill(other, 3)
			must(t, errors.Join(l.Flush(), other.Flush()))
			release := holdWriters(b.disk)
			b.fill(l, 5)
			left := b.disk.Clone(fs.KeepAll)
			release()
			b.e.Close()
			b.disk = left
			b.disk.SetHook(func(o fs.Op, name string, _ int) error {
				if o == op && strings.HasPrefix(name, "/data/t-0") && !strings.Contains(name, redoSuffix) {
					return unix.EIO
				}
				return nil
			})
			b.open()
			b.disk.SetHook(nil)
			l, _ = b.e.Log(Name{"t", 0})
			if wantErr(t, op.String(), l.Err(), unix.EIO); keptFiles(t, b.disk, l.Dir()) == 0 {
				t.Fatalf("%v fails: nothing is kept: %v", op, list(t, b.disk, l.Dir()))
			}
			b.fill(b.log("other"), 3)
			b.crash(p) // what was kept is flushed
			b.whole(b.log("t"), 0, 35)
			if n := keptFiles(t, b.disk, l.Dir()); n > 0 {
				t.Errorf("%v fails: %d side files are left", op, n)
			}
			must(t, b.log("t").Truncate(32))
			b.crash(fs.KeepAll)
			b.whole(b.log("t"), 0, 32)
			b.restart()
			b.whole(b.log("t"), 0, 32)
			b.stop()
		}
	}
}

// A start makes the folders and files that a killed process had staged records for and had not come to make. That one cannot be looked at for
// a moment does not say that it is there.
func TestWhatTheStageHasOfAFileThatCannotBeLookedAtIsServed(t *testing.T) {
	for _, first := range []bool{true, false} {
		b := stageBench(t, 4<<20)
		l := b.create("t", small())
		end := int64(0)
		if !first {
			end = b.fill(l, 2)
			must(t, b.e.Checkpoint())
		}
		gate := make(chan bool)
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if op.Changes() && strings.HasSuffix(name, segment.LogSuffix) {
				<-gate
			}
			return nil
		})
		for range 15 { // and into the next segment
			b.add(l, batchOf(batchID(end), 1, 100, testNow, -1, 0))
			end++
		}
		left := b.disk.Clone(fs.KeepAll)
		close(gate)
		b.e.Close()
		for n := 1; ; n++ {
			b.disk = left.Clone(fs.KeepAll)
			looks := 0
			b.disk.SetHook(func(op fs.Op, name string, _ int) error {
				if op != fs.OpStat || !strings.HasSuffix(name, segment.LogSuffix) {
					return nil
				}
				if looks++; looks == n {
					return unix.EIO
				}
				return nil
			})
			b.open()
			b.disk.SetHook(nil)
			b.restart() // it may have been offline
			b.whole(b.log("t"), 0, end)
			b.stop()
			if looks < n {
				if n < 3 {
					t.Errorf("%d looks", looks)
				}
				break
			}
		}
	}
}

// Nor must what is repaired later: a sector that comes back, a file out of a backup, a guard that was wrong.
func TestWhatTheStageHasOfALogThatIsCorruptIsThereOnceItIsNot(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.fill(l, 30)
	must(t, b.e.Checkpoint())
	release := holdWriters(b.disk)
	b.fill(l, 3)
	left := b.disk.Clone(fs.KeepAll)
	release()
	b.e.Close()
	b.disk = left
	good := read(t, b.disk, firstLog)
	at := int64(len(good))/30*29 + 8 // the length of the last batch
	patch(t, b.disk, firstLog, at, []byte{0x7f, 0xfe, 0xfd})
	b.open()
	l, _ = b.e.Log(Name{"t", 0})
	wantErr(t, "damaged", l.Err(), ErrOffline)
	b.e.Close()
	patch(t, b.disk, firstLog, at, []byte(good)[at:at+3])
	b.disk.Settle()
	b.open()
	b.whole(b.log("t"), 0, 33)
	if n := keptFiles(t, b.disk, l.Dir()); n > 0 {
		t.Errorf("%d side files are left", n)
	}
}

// A read that ends before the file does says nothing of what the file holds: nothing is cut for it.
func TestAShortReadIsNoTornWrite(t *testing.T) {
	b := newBench(t)
	cfg := small()
	cfg.FlushMessages, cfg.SegmentBytes = 1, 1<<20
	b.fill(b.create("t", cfg), 30)
	b.fill(b.create("other", cfg), 3)
	left := b.disk.Clone(fs.DropUnflushed)
	b.e.Close()
	for n := 1; ; n++ {
		b.disk = left.Clone(fs.DropUnflushed)
		reads := 0
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if op != fs.OpRead || !strings.HasPrefix(name, "/data/t-0/") || !strings.HasSuffix(name, ".log") {
				return nil
			}
			if reads++; reads == n {
				return fs.ErrShort
			}
			return nil
		})
		b.open()
		b.disk.SetHook(nil)
		b.whole(b.log("other"), 0, 3)
		if l, _ := b.e.Log(Name{"t", 0}); l.Err() == nil {
			b.whole(l, 0, 30)
		} else {
			wantErr(t, "the log", l.Err(), ErrOffline)
		}
		b.restart()
		b.whole(b.log("t"), 0, 30)
		b.stop()
		if reads < n {
			if n < 3 {
				t.Errorf("%d reads", reads)
			}
			break
		}
	}
}
