package engine

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"golang.org/x/sys/unix"
)

// failFrom makes every call of a kind on a kind of file fail from now on.
func failFrom(disk *fs.Crash, suffix string, fault error, ops ...fs.Op) {
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		for _, o := range ops {
			if op == o && strings.HasSuffix(name, suffix) {
				return fault
			}
		}
		return nil
	})
}

func TestAFailedFlushIsFinal(t *testing.T) {
	for _, h := range ways {
		for _, fault := range []error{unix.EIO, unix.ENOSPC, unix.EROFS} {
			b := newBench(t)
			b.stop()
			b.opt.SyncMethod = h.method
			heard := make(chan error, 10)
			b.opt.OnFailure = func(err error) { heard <- err }
			b.open()
			l := b.create("t", crashConfig(h, true))
			other := b.create("other", crashConfig(h, false))
			b.fill(l, 10)
			b.fill(other, 10)
			must(t, other.Flush())
			b.fill(other, 10)
			failFrom(b.disk, ".log", fault, fs.OpDatasync, fs.OpWriteDurable)
			r := appendOne(l, batchOf("lost", 1, 100, testNow, -1, 0))
			if !errors.Is(r.Err, ErrOffline) || !errors.Is(r.Err, fault) || r.BaseOffset != -1 {
				t.Fatalf("%s: append with a failing flush: %+v", h.name, r)
			}
			b.disk.SetHook(nil) // the disk works again: it does not matter
			must(t, offlineServesFlushed(b.e))
			if l.HighWatermark() != 10 || other.HighWatermark() != 10 {
				t.Errorf("%s: high watermarks %d and %d, want what was flushed", h.name, l.HighWatermark(), other.HighWatermark())
			}
			got, err := other.Read(15, 1000, true)
			if got.Size != 0 || err != nil && !errors.Is(err, ErrOffsetOutOfRange) {
				t.Errorf("%s: %d unflushed bytes are served, %v", h.name, got.Size, err)
			}
			before := b.disk.Counts()
			for _, err := range []error{l.Flush(), other.Flush(), l.Truncate(3), b.e.Delete(l.Name()), b.e.Close()} {
				wantErr(t, h.name, err, ErrOffline)
			}
			if after := b.disk.Counts(); after.Writes != before.Writes || after.Datasyncs != before.Datasyncs {
				t.Errorf("%s: it went on writing: %+v, %+v", h.name, before, after)
			}
			if err := <-heard; !errors.Is(err, fault) || len(heard) > 0 {
				t.Errorf("%s: told %v and %d more", h.name, err, len(heard))
			}
			b.disk = b.disk.Clone(fs.Random)
			b.open()
			if b.e.Recovery().Clean {
				t.Errorf("%s: the mark of an orderly stop after a failure", h.name)
			}
			if end := b.log("other").LogEndOffset(); end < 10 {
				t.Errorf("%s: %d of 10 flushed records", h.name, end)
			}
			b.whole(b.log("other"), 0, b.log("other").LogEndOffset())
			b.stop()
		}
	}
}

// The kernel takes the pages of a failed flush for clean: the next process reads them, flushes them with success, and must not
// answer a producer's retry, or a reader, with what is not on the disk.
func TestAStartAfterAFailedFlushServesWhatIsOnTheDisk(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		b.stop()
		b.opt.SyncMethod = h.method
		b.open()
		l := b.create("t", crashConfig(h, true))
		b.fill(l, 10)
		failFrom(b.disk, ".log", unix.EIO, fs.OpDatasync, fs.OpWriteDurable)
		wantErr(t, h.name, appendOne(l, batchOf(batchID(10), 1, 100, testNow, -1, 0)).Err, ErrOffline)
		b.crash(fs.KeepAll)
		kept := b.log("t").LogEndOffset()
		b.whole(b.log("t"), 0, kept)
		b.crash(fs.DropUnflushed)
		b.whole(b.log("t"), 0, kept)
		b.stop()
	}
}

func TestAFailedWriteIsFinal(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, false))
		b.fill(l, 5)
		failFrom(b.disk, ".log", unix.EIO, fs.OpWrite, fs.OpWriteDurable)
		r := appendOne(l, batchOf("lost", 1, 100, testNow, -1, 0))
		wantErr(t, h.name, r.Err, ErrOffline)
		b.disk.SetHook(nil)
		must(t, offlineServesFlushed(b.e))
		wantErr(t, h.name, b.e.Checkpoint(), ErrOffline)
		wantErr(t, h.name, b.e.Close(), ErrOffline)
	}
}

func TestARefusedOpenIsNotAFailureOfTheDisk(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 5)
	failFrom(b.disk, ".snapshot", unix.EMFILE, fs.OpOpen)
	done := make(chan error)
	go func() { done <- b.e.Checkpoint() }()
	select {
	case err := <-done:
		t.Errorf("the checkpoint did not wait for a descriptor: %v", err)
	case <-time.After(3 * patience):
	}
	must(t, b.e.Err())
	b.disk.SetHook(nil)
	must(t, <-done)
	b.fill(l, 5)
	b.crash(fs.DropUnflushed)
	b.whole(b.log("t"), 0, 5)
}

func TestAnUnreadableLogIsOfflineAndOthersAreNot(t *testing.T) {
	b := newBench(t)
	bad, good := b.create("bad", small()), b.create("good", small())
	b.fill(bad, 30)
	b.fill(good, 30)
	must(t, errors.Join(bad.Flush(), good.Flush()))
	left := b.disk.Clone(fs.DropUnflushed)
	b.stop()
	b.disk = left
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && strings.HasPrefix(name, "/data/bad-0/") {
			return unix.EIO
		}
		return nil
	})
	b.open()
	b.disk.SetHook(nil)
	l, ok := b.e.Log(Name{"bad", 0})
	if !ok || b.e.Recovery().Offline != 1 {
		t.Fatalf("%t, %+v", ok, b.e.Recovery())
	}
	wantErr(t, "the log", l.Err(), ErrOffline)
	wantErr(t, "its cause", l.Err(), unix.EIO)
	_, err := l.Read(0, 100, true)
	wantErr(t, "read", err, ErrOffline)
	_, err = l.OffsetForTime(0)
	wantErr(t, "look-up", err, ErrOffline)
	wantErr(t, "append", appendOne(l, batchOf("x", 1, 0, testNow, -1, 0)).Err, ErrOffline)
	wantErr(t, "flush", l.Flush(), ErrOffline)
	b.whole(b.log("good"), 0, 30)
	b.fill(b.log("good"), 5)
	must(t, b.e.Checkpoint())
	b.restart() // the disk reads again
	b.whole(b.log("bad"), 0, 30)
	b.whole(b.log("good"), 0, 35)
}

func TestAnOfflineLogMayBeDeletedAndMadeAgain(t *testing.T) {
	b := newBench(t)
	b.fill(b.create("t", small()), 30)
	b.stop()
	name := "/data/t-0/00000000000000000000.log"
	whole := read(t, b.disk, name)
	overwrite(t, b.disk, name, whole[:len(whole)-10])
	b.open()
	l, _ := b.e.Log(Name{"t", 0})
	wantErr(t, "the log", l.Err(), ErrOffline)
	must(t, b.e.Delete(l.Name()))
	b.fill(b.create("t", small()), 3)
	b.restart()
	b.whole(b.log("t"), 0, 3)
}

func TestAFlushThatWaitedBehindAFailedOneIsNotTried(t *testing.T) {
	for range 20 {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 3)
		begun, fail := make(chan struct{}), make(chan struct{})
		var flushes atomic.Int64
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if op != fs.OpDatasync || !strings.HasSuffix(name, ".log") || flushes.Add(1) > 1 {
				return nil
			}
			close(begun)
			<-fail
			return unix.EIO
		})
		answers := make(chan error, 4)
		go func() { answers <- l.Flush() }()
		<-begun
		for _, other := range []func() error{l.Flush, b.e.Checkpoint, func() error { return l.Truncate(1) }} {
			go func() { answers <- other() }()
		}
		close(fail)
		for range 4 {
			wantErr(t, "flush", <-answers, ErrOffline)
		}
		if n := flushes.Load(); n != 1 || l.FlushedOffset() != 0 {
			t.Fatalf("%d flushes, flushed %d", n, l.FlushedOffset())
		}
		b.disk.SetHook(nil)
		b.e.Close()
	}
}

func TestWhoeverWaitsForALogIsWokenByItsFailure(t *testing.T) {
	for _, h := range ways {
		for range 50 {
			b := newBench(t)
			l := b.create("t", crashConfig(h, true))
			b.fill(l, 1)
			failFrom(b.disk, ".log", unix.EIO, fs.OpWrite, fs.OpWriteDurable)
			answers := make(chan Appended, 20)
			for range 20 {
				l.Append(batchOf("x", 1, 100, testNow, -1, 0), 0, func(a Appended) { answers <- a })
			}
			l.drain()
			for range 20 {
				wantErr(t, h.name, (<-answers).Err, ErrOffline)
			}
			b.e.Close()
		}
	}
}
