package engine

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// holdWriters keeps everything that is appended from now on in the stage, until release.
func holdWriters(disk *fs.Crash) (release func()) {
	gate := make(chan bool)
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op.Changes() && filepath.Base(name) != stageName {
			<-gate
		}
		return nil
	})
	return func() { close(gate) }
}

// What a recovery has put into the segments is not there for the next one to find, whatever becomes of the stage: it may be
// switched off, or not to be had.
func TestWhatWasRedoneIsNotRedoneAgain(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		b := stageBench(t, 4<<20)
		l := b.create("t", small())
		release := holdWriters(b.disk)
		b.fill(l, 5)
		left := b.disk.Clone(fs.KeepAll)
		release()
		b.e.Close()
		b.disk, b.opt.StageBytes = left, -1
		b.open()
		l = b.log("t")
		b.whole(l, 0, 5)
		if b.e.Recovery().Redone == 0 {
			t.Error("nothing came from the stage")
		}
		if deleted {
			must(t, b.e.Delete(l.Name()))
			b.crash(fs.KeepAll)
			if _, ok := b.e.Log(l.Name()); ok {
				t.Error("a deleted log is back")
			}
		} else {
			must(t, l.Truncate(2))
			b.crash(fs.KeepAll)
			b.whole(b.log("t"), 0, 2)
		}
		b.stop()
	}
}

// A recovery that is killed has made the file that staged records start, and not yet looked at the one before it.
func TestARecoveryThatIsKilledLooksAgainAtTheSegmentBeforeTheStagedOne(t *testing.T) {
	staged := 0
	for _, h := range ways {
		b := stageBench(t, 4<<20)
		l := b.create("t", crashConfig(h, true))
		b.fill(l, 5)
		must(t, b.e.Checkpoint())
		c := crashConfig(h, false)
		c.SegmentBytes = 1000
		l.SetConfig(c)
		b.disk.SetHook(func(op fs.Op, name string, _ int) error { // no writer comes far
			if op == fs.OpOpen && filepath.Ext(name) == segment.SnapshotSuffix {
				return os.ErrDeadlineExceeded
			}
			return nil
		})
		a := appendOne(l, batchOf(batchID(5), 1, 100, testNow+5000, -1, 0))
		left := b.disk.Clone(fs.KeepAll)
		b.disk.SetHook(nil)
		b.e.Close()
		if a.Err != nil {
			continue // a writer had to answer it: the stage is left alone while its disk is slow
		}
		staged++
		f, err := left.Open(segment.Name(l.Dir(), 5, segment.LogSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL)
		must(t, err)
		must(t, f.Close())
		b.disk = left
		b.open()
		b.whole(b.log("t"), 0, 6)
		b.stop()
	}
	if staged == 0 {
		t.Error("nothing was staged")
	}
}

// A process may be killed while it labels a slot. What its neighbours in the block have was acknowledged.
func TestASlotThatWasBeingLabelledHidesNoOther(t *testing.T) {
	for what, spoil := range map[string]func(h []byte){
		"new":   func([]byte) {},
		"again": func(h []byte) { binary.NativeEndian.PutUint16(h[52:], 0xffff) },
	} {
		b := stageBench(t, 4<<20)
		s := b.e.stage
		if what == "again" {
			l, err := b.e.Create(Name{"u", 0}, [16]byte{2}, Config{})
			must(t, err)
			b.fill(l, 1)
			must(t, l.Flush())
		}
		slot := s.get(100, 0)
		must(t, s.mem.Update(slot.at, slotHeader, spoil))
		b.fill(b.create("t", Config{}), 3)
		left := b.disk.Clone(fs.KeepAll)
		s.put(slot)
		b.e.Close()
		b.disk = left
		b.open()
		b.whole(b.log("t"), 0, 3)
		b.stop()
	}
}

// What lies behind a place that is not what was written cannot be put there.
func TestWhatTheStageHasBehindACutIsKeptAside(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.fill(l, 10)
	must(t, l.Flush())
	release := holdWriters(b.disk)
	b.fill(l, 3)
	left := b.disk.Clone(fs.KeepAll)
	release()
	b.e.Close()
	size, err := left.Stat(firstLog)
	must(t, err)
	patch(t, left, firstLog, size.Size()-50, []byte{0xff, 0xfe, 0xfd})
	left.Settle()
	b.disk = left
	b.open()
	b.whole(b.log("t"), 0, 9)
	kept := 0
	for _, name := range list(t, b.disk, l.Dir()) {
		if match, _ := filepath.Match("*"+stagedSuffix+"*", filepath.Base(name)); match {
			kept += len(read(t, b.disk, filepath.Join(l.Dir(), name)))
		}
	}
	if kept != 3*int(size.Size())/10 {
		t.Errorf("%d bytes are kept of 3 records", kept)
	}
	b.restart()
	b.whole(b.log("t"), 0, 9)
}

// What a killed process had not yet written, it had not taken back its promise for: no more than that allows may be in flight
// when a recovery writes it.
func TestWhatIsRedoneInALogThatWasSyncIsFlushedRunByRun(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
	b.fill(l, 3)
	must(t, b.e.Checkpoint())
	l.SetConfig(Config{Writer: WriterBuffered})
	release := holdWriters(b.disk)
	for range 3 {
		b.add(l, batchOf(batchID(l.LogEndOffset()), 1, 700_000, testNow, -1, 0))
	}
	left := b.disk.Clone(fs.KeepAll)
	release()
	b.e.Close()
	var writes, unflushed atomic.Int64
	left.SetHook(func(op fs.Op, name string, _ int) error {
		switch {
		case filepath.Ext(name) != segment.LogSuffix:
		case op == fs.OpWrite:
			if writes.Add(1); unflushed.Add(1) > 1 {
				t.Error("two runs are in flight")
			}
		case op == fs.OpDatasync:
			unflushed.Store(0)
		}
		return nil
	})
	b.disk = left
	b.open()
	left.SetHook(nil)
	if writes.Load() != 3 {
		t.Errorf("%d runs were redone", writes.Load())
	}
	b.whole(b.log("t"), 0, 6)
}

// A range is good until it is released, whoever has the directory by then.
func TestARangeOfTheStageOutlivesTheNextStart(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	must(t, err)
	must(t, appendOne(l, batchOf("x", 1, 100, testNow, -1, 0)).Err)
	r, err := l.Read(0, 1<<20, true)
	must(t, err)
	if r.Mem == nil {
		t.Skip("a writer was faster")
	}
	want := fmt.Sprintf("%x", r.Mem)
	must(t, e.Close())
	e = open(t, Options{Dir: dir})
	debug.SetPanicOnFault(true)
	if got := fmt.Sprintf("%x", r.Mem); got != want {
		t.Errorf("the bytes have changed: %s, were %s", got, want)
	}
	r.Release()
	must(t, e.Close())
}

func FuzzStage(f *testing.F) {
	h := make([]byte, slotHeader+100)
	setUsed(h, 100)
	binary.NativeEndian.PutUint64(h, slotMagic)
	binary.NativeEndian.PutUint16(h[52:], 1)
	h[slotNames] = 't'
	f.Add(h)
	f.Add(h[:slotNames])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		disk := crashDisk(1)
		disk.SetBoot("") // every slot is looked at
		overwrite(t, disk, "/data/"+stageName, b)
		runs, err := StagedRuns(disk, "/data")
		if err != nil {
			t.Fatal(err)
		}
		for n, all := range runs {
			for _, r := range all {
				if checkName(n) != nil || r.Size <= 0 || r.At < slotHeader || r.Base < 0 || r.Position < 0 {
					t.Errorf("%s: %+v", n, r)
				}
			}
		}
	})
}
