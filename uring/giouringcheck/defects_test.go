package giouringcheck

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"github.com/zurau/zurau/uring"
	"golang.org/x/sys/unix"
)

// The tests in this file show what giouring does wrong and uring right. One that fails at "there" means that giouring
// has been repaired, and that the choice against it is due for another look.

// both returns a ring of each binding with one entry, so that each operation uses the same slot again.
func both(t *testing.T) (*uring.Ring, *giouring.Ring) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	ours, err := uring.New(uring.Options{Entries: 1})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { ours.Close() })
	theirs, err := giouring.CreateRing(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(theirs.QueueExit)
	return ours, theirs
}

func TestAWriteAfterAnFsyncInTheSameSlot(t *testing.T) {
	ours, theirs := both(t)
	fd := int(create(t).Fd())
	b := []byte("record")

	ours.GetSQE().PrepFsync(fd, uring.FsyncDatasync)
	oneOfOurs(t, ours)
	ours.GetSQE().PrepWrite(fd, b, 0)
	if res := oneOfOurs(t, ours); res != 6 {
		t.Errorf("here: %d", res)
	}

	theirs.GetSQE().PrepareFsync(fd, giouring.FsyncDatasync)
	theirResults(t, theirs, 1)
	theirs.GetSQE().PrepareWrite(fd, uintptr(unsafe.Pointer(&b[0])), 6, 0)
	if got := theirResults(t, theirs, 1); got[0] != -int32(unix.EINVAL) {
		t.Errorf("there: %d, not EINVAL", got[0])
	}
	runtime.KeepAlive(b)
}

func TestAWriteToRegisteredFileOne(t *testing.T) {
	ours, theirs := both(t)
	zero, one := create(t), create(t)
	b := []byte("record")

	if err := ours.RegisterFiles([]int32{int32(zero.Fd()), int32(one.Fd())}); err != nil {
		t.Fatal(err)
	}
	ours.GetSQE().PrepWrite(1, b, 0).SetFlags(uring.FixedFile)
	if res := oneOfOurs(t, ours); res != 6 {
		t.Errorf("here: %d", res)
	}
	if err := one.Truncate(0); err != nil {
		t.Fatal(err)
	}

	if _, err := theirs.RegisterFiles([]int{int(zero.Fd()), int(one.Fd())}); err != nil {
		t.Fatal(err)
	}
	// Index 1 is the upper half of the first integer: descriptor 0, whatever that is; as a rule nothing that fallocate works on.
	e := theirs.GetSQE()
	e.PrepareFallocate(1, 0, 0, 100)
	e.SetFlags(uint32(giouring.SqeFixedFile))
	theirResults(t, theirs, 1)
	if st, err := one.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("there: the file was found, size %d: %v", st.Size(), err)
	}
	runtime.KeepAlive(b)
}

func TestATimeoutThatFires(t *testing.T) {
	ours, theirs := both(t)
	ours.GetSQE().PrepTimeout(1, 0, 0)
	if res := oneOfOurs(t, ours); res != -int32(unix.ETIME) {
		t.Errorf("here: %d", res)
	}
	// The kernel is given the address of a pointer and takes that for seconds.
	spec := syscall.Timespec{Nsec: 1}
	theirs.GetSQE().PrepareTimeout(&spec, 0, 0)
	limit := syscall.Timespec{Nsec: 50e6}
	if _, err := theirs.SubmitAndWaitTimeout(1, &limit, nil); !errors.Is(err, unix.ETIME) && !errors.Is(err, unix.EINTR) {
		c, _ := theirs.PeekCQE()
		t.Errorf("there: it completed with %+v, %v", c, err)
	}
}

func oneOfOurs(t *testing.T, r *uring.Ring) int32 {
	t.Helper()
	if _, err := r.SubmitAndWait(1); err != nil {
		t.Fatal(err)
	}
	c, _ := r.PeekCQE()
	r.Advance(1)
	return c.Res
}
