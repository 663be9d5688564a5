package giouringcheck

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"github.com/zurau/zurau/uring"
	"golang.org/x/sys/unix"
)

// step is one operation in both bindings. flags are of the entry, whose bits are the same in both.
type step struct {
	name   string
	flags  uring.Flags
	ours   func(s *uring.SQE, fd int)
	theirs func(e *giouring.SubmissionQueueEntry, fd int)
}

// steps run in order, one submission for each group.
func steps(b []byte) [][]step {
	at := func(i int) uintptr { return uintptr(unsafe.Pointer(&b[i])) }
	write := func(n int, off uint64, flags uring.Flags) step {
		return step{"write", flags,
			func(s *uring.SQE, fd int) { s.PrepWrite(fd, b[:n], off) },
			func(e *giouring.SubmissionQueueEntry, fd int) { e.PrepareWrite(fd, at(0), uint32(n), off) }}
	}
	fsync := func(fd int, flags uring.Flags) step {
		pick := func(file int) int {
			if fd < 0 {
				return fd
			}
			return file
		}
		return step{"fsync", flags,
			func(s *uring.SQE, file int) { s.PrepFsync(pick(file), uring.FsyncDatasync) },
			func(e *giouring.SubmissionQueueEntry, file int) {
				e.PrepareFsync(pick(file), giouring.FsyncDatasync)
			}}
	}
	read := func(n int, off uint64, flags uring.Flags) step {
		return step{"read", flags,
			func(s *uring.SQE, fd int) { s.PrepRead(fd, b[2048:2048+n], off) },
			func(e *giouring.SubmissionQueueEntry, fd int) { e.PrepareRead(fd, at(2048), uint32(n), off) }}
	}
	nop := step{"nop", 0, func(s *uring.SQE, _ int) { s.PrepNop() }, func(e *giouring.SubmissionQueueEntry, _ int) { e.PrepareNop() }}
	durable := step{"durable write", 0,
		func(s *uring.SQE, fd int) { s.PrepWrite(fd, b[:64], 512).SetRWFlags(uring.RWFDsync) },
		func(e *giouring.SubmissionQueueEntry, fd int) {
			e.PrepareWrite(fd, at(0), 64, 512)
			e.OpcodeFlags = unix.RWF_DSYNC
		}}
	fallocate := step{"fallocate", 0,
		func(s *uring.SQE, fd int) { s.PrepFallocate(fd, 0, 0, 4096) },
		func(e *giouring.SubmissionQueueEntry, fd int) { e.PrepareFallocate(fd, 0, 0, 4096) }}
	cancel := step{"cancel of nothing", 0,
		func(s *uring.SQE, _ int) { s.PrepAsyncCancel(12345, 0) },
		func(e *giouring.SubmissionQueueEntry, _ int) { e.PrepareCancel64(12345, 0) }}
	return [][]step{
		{nop}, {write(100, 0, 0)}, {write(100, 100, uring.IOLink), fsync(0, 0)}, {durable},
		{read(100, 150, 0)},                         // over the end of what was written
		{read(100, 600, 0)},                         // at the end of the file
		{read(100, 500, uring.IOLink), fsync(0, 0)}, // short, so the chain breaks
		{fsync(-1, uring.IOLink), write(10, 0, 0)},  // fails, so the chain breaks
		{fallocate}, {read(100, 4000, 0)}, {cancel},
	}
}

func TestTheSameOperationsGiveTheSameResults(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, err := uring.New(uring.Options{Entries: 8})
	if err != nil {
		t.Skip(err)
	}
	defer ours.Close()
	theirs, err := giouring.CreateRing(8)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.QueueExit()
	mem, err := uring.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Free()
	for i := range mem.Bytes() {
		mem.Bytes()[i] = byte(i)
	}
	fileA, fileB := create(t), create(t)
	for i, group := range steps(mem.Bytes()) {
		a, b := runOurs(t, ours, group, int(fileA.Fd())), runTheirs(t, theirs, group, int(fileB.Fd()))
		for k := range group {
			if a[uint64(k)] != b[uint64(k)] {
				t.Errorf("group %d, %s: %d here and %d there", i, group[k].name, a[uint64(k)], b[uint64(k)])
			}
		}
	}
	contentA, errA := os.ReadFile(fileA.Name())
	contentB, errB := os.ReadFile(fileB.Name())
	if errA != nil || errB != nil || string(contentA) != string(contentB) {
		t.Errorf("files differ: %d and %d bytes, %v, %v", len(contentA), len(contentB), errA, errB)
	}
}

func create(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func runOurs(t *testing.T, r *uring.Ring, group []step, fd int) map[uint64]int32 {
	t.Helper()
	for i, x := range group {
		s := r.GetSQE()
		x.ours(s, fd)
		s.SetUserData(uint64(i)).SetFlags(x.flags)
	}
	if _, err := r.SubmitAndWait(len(group)); err != nil {
		t.Fatal(err)
	}
	got := make(map[uint64]int32)
	for _, c := range r.Reap(nil) {
		got[c.UserData] = c.Res
	}
	return got
}

func runTheirs(t *testing.T, r *giouring.Ring, group []step, fd int) map[uint64]int32 {
	t.Helper()
	for i, x := range group {
		e := r.GetSQE()
		*e = giouring.SubmissionQueueEntry{} // it leaves the last use's flags in place
		x.theirs(e, fd)
		e.SetData64(uint64(i))
		e.SetFlags(uint32(x.flags))
	}
	return theirResults(t, r, len(group))
}

func theirResults(t *testing.T, r *giouring.Ring, n int) map[uint64]int32 {
	t.Helper()
	got := make(map[uint64]int32)
	_, err := r.SubmitAndWait(uint32(n))
	for len(got) < n {
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		c, peekErr := r.PeekCQE()
		if peekErr != nil {
			_, err = r.SubmitAndWait(1)
			continue
		}
		got[c.UserData] = c.Res
		r.CQESeen(c)
	}
	return got
}
