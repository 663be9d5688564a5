package powerloss

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/tests/powerloss/disk"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// A faulty machine has an engine with one sync log, whose acknowledged batches are known.
type faulty struct {
	m     *rig.Machine
	e     *engine.Engine
	l     *engine.Log
	acked []batchID
	next  batchID
}

// eachFaulty runs a test on both file systems, with both writers.
func eachFaulty(t *testing.T, test func(t *testing.T, f *faulty)) {
	for _, fs := range rig.FileSystems {
		for _, w := range []engine.Writer{engine.WriterBuffered, engine.WriterDirect} {
			t.Run(fmt.Sprint(fs, " ", w), func(t *testing.T) {
				f := &faulty{m: rig.New(t, rig.Cache, fs)}
				f.open(t)
				t.Cleanup(func() { _ = f.e.Close() }) // before the machine; it may be offline
				var err error
				f.l, err = f.e.Create(engine.Name{Topic: "log"}, [16]byte{1}, engine.Config{
					FlushMessages: 1, Writer: w, SegmentBytes: 256 << 10, IndexInterval: 256, RetentionAge: -1})
				must(t, err)
				for range 20 {
					must(t, f.append())
				}
				test(t, f)
			})
		}
	}
}

func (f *faulty) open(t *testing.T) {
	t.Helper()
	var err error
	f.e, err = engine.Open(engine.Options{Dir: filepath.Join(f.m.Dir, "data"), ReserveBytes: 1 << 20, RetentionInterval: -1})
	must(t, err)
}

// append appends the next batch, and notes it where it is acknowledged.
func (f *faulty) append() error {
	f.next++
	done := make(chan error, 1)
	f.l.Append(f.next.prepared("log", 60<<10), 0, func(a engine.Appended) { done <- a.Err })
	err := <-done
	if err == nil {
		f.acked = append(f.acked, f.next)
	}
	return err
}

// restart takes the power away and opens what is left, on a disk that is well: all that was acknowledged has to be there, in order.
func (f *faulty) restart(t *testing.T) {
	t.Helper()
	f.m.Cut(t, disk.Any, uint64(len(f.acked)))
	_ = f.e.Close() // offline
	for op := disk.Read; op <= disk.Flush; op++ {
		must(t, f.m.Disk.Fail(op, 0))
	}
	f.m.Restart(t)
	verify(t, filepath.Join(f.m.Dir, "data"))
	f.open(t)
	var ok bool
	if f.l, ok = f.e.Log(engine.Name{Topic: "log"}); !ok {
		t.Fatal("the log is gone")
	}
	f.check(t)
	must(t, f.append())
}

// check reads the log: what was acknowledged is there in order, and nothing that was not sent.
func (f *faulty) check(t *testing.T) {
	t.Helper()
	must(t, f.l.Err())
	a := newAccount()
	a.begin(1)
	must(t, a.take(event{Log: "log", What: isLog, Base: f.l.LogStartOffset(), Last: f.l.LogEndOffset()}))
	must(t, tellBatches(f.l, "log", func(e event) {
		must(t, a.take(e))
	}))
	there := a.found["log"].batches
	for i, id := range f.acked {
		for len(there) > 0 && there[0].id != id && there[0].id < id {
			there = there[1:] // sent and refused, and there all the same
		}
		if len(there) == 0 || there[0].id != id {
			t.Fatalf("acknowledged batch %d of %d, %d, is not in its place", i, len(f.acked), id)
		}
		there = there[1:]
	}
}

// A write or a flush of the disk that fails is final, be it the last that does.
func TestADiskThatFailsToWriteOrFlushTakesItsDirectoryOffline(t *testing.T) {
	for _, op := range []disk.Op{disk.Write, disk.Flush} {
		t.Run(op.String(), func(t *testing.T) {
			eachFaulty(t, func(t *testing.T, f *faulty) {
				must(t, f.m.Disk.Fail(op, syscall.EIO))
				err := f.append()
				if !errors.Is(err, engine.ErrOffline) {
					t.Errorf("an append to a disk that fails: %v", err)
				}
				must(t, f.m.Disk.Fail(op, 0)) // the next flush would say that all is well
				if err := f.append(); !errors.Is(err, engine.ErrOffline) {
					t.Errorf("an append after it: %v", err)
				}
				if err := f.l.Flush(); err == nil {
					t.Error("the flush was tried again")
				}
				f.restart(t)
			})
		})
	}
}

// The device below the file system is full (a thin one): the file system has promised room that is not there, and says so at the flush.
func TestADeviceWithoutRoomLosesNothingThatWasAcknowledged(t *testing.T) {
	eachFaulty(t, func(t *testing.T, f *faulty) {
		must(t, f.m.Disk.Fail(disk.Write, syscall.ENOSPC))
		if err := f.append(); err == nil {
			t.Error("acknowledged by a device without room")
		}
		must(t, f.m.Disk.Fail(disk.Write, 0))
		f.restart(t)
	})
}

// What cannot be read is an error of that read, of mapped indexes, too; and when the disk is well again the log is.
func TestADiskThatFailsToReadIsAnErrorAndNoMore(t *testing.T) {
	eachFaulty(t, func(t *testing.T, f *faulty) {
		for range 150 {
			must(t, f.append())
		}
		must(t, f.e.Close())
		f.m.Replug(t) // nothing of it is in memory
		f.open(t)
		f.l, _ = f.e.Log(engine.Name{Topic: "log"})
		must(t, f.m.Disk.Fail(disk.Read, syscall.EIO))
		failed := 0
		for offset := int64(0); offset < f.l.LogEndOffset(); offset += 37 {
			r, err := f.l.Read(offset, 1<<16, true)
			if err == nil {
				_, err = r.Bytes()
				r.Release()
			}
			if err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Error("everything is read from a disk that fails to read")
		}
		must(t, f.m.Disk.Fail(disk.Read, 0))
		f.check(t)
	})
}

// A limit of the process on the size of files, or of a quota: the write comes back short, and then not at all.
func TestAWriteThatTheKernelCutsShortIsNotAcknowledged(t *testing.T) {
	eachFaulty(t, func(t *testing.T, f *faulty) {
		var was unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 150_001, Max: was.Max}))
		defer unix.Setrlimit(unix.RLIMIT_FSIZE, &was)
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			err = f.append()
		}
		if err == nil {
			t.Error("nothing was cut short")
		}
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was))
		f.restart(t)
	})
}
