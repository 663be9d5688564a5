package uring

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused runs f on a thread on which system call nr fails with errno, as a container's seccomp profile does it. The
// thread ends with f, because nothing takes such a filter away again.
func refused(t *testing.T, nr uint32, errno unix.Errno, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread() // and never unlocked
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Log("no seccomp here:", err)
			return
		}
		err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
		if err != nil {
			t.Log("no seccomp here:", err)
			return
		}
		f()
	})
	wg.Wait()
}

func TestTheProbeFindsARefusalOfAnyOfTheThreeCalls(t *testing.T) {
	owned(t, Options{}) // skips where io_uring is refused anyway
	for name, nr := range map[string]uint32{
		"setup": unix.SYS_IO_URING_SETUP, "enter": unix.SYS_IO_URING_ENTER, "register": unix.SYS_IO_URING_REGISTER,
	} {
		for _, errno := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
			refused(t, nr, errno, func() {
				rep := Probe()
				if rep.Allowed() || !errors.Is(rep.Err, ErrUnsupported) || !errors.Is(rep.Err, errno) {
					t.Errorf("io_uring_%s gives %v: %v", name, errno, rep.Err)
				}
			})
		}
	}
}

// onRefusedEnter makes a ring with one entry prepared, submits it against errno and checks what comes of it.
func onRefusedEnter(t *testing.T, errno unix.Errno, check func(r *Ring, submit func() error)) {
	t.Helper()
	refused(t, unix.SYS_IO_URING_ENTER, errno, func() {
		r, err := New(Options{Entries: 4})
		if err != nil {
			t.Error(err)
			return
		}
		r.GetSQE().PrepNop()
		check(r, func() error { _, err := r.Submit(); return err })
		if err := r.Close(); err != nil {
			t.Errorf("close after %v: %v", errno, err)
		}
	})
}

func TestEachErrnoOfEnterMeansWhatTheTableSays(t *testing.T) {
	owned(t, Options{})
	for _, errno := range []unix.Errno{unix.EAGAIN, unix.EBUSY, unix.EPERM, unix.ENOMEM} {
		onRefusedEnter(t, errno, func(r *Ring, submit func() error) {
			if err := submit(); !errors.Is(err, errno) || r.SQReady() != 1 {
				t.Errorf("%v: %v, %d entries left", errno, err, r.SQReady())
			}
		})
	}
	onRefusedEnter(t, unix.EBADR, func(r *Ring, submit func() error) {
		if err := submit(); !errors.Is(err, ErrDropped) {
			t.Errorf("EBADR: %v", err)
		}
	})
	for _, errno := range []unix.Errno{unix.EBADF, unix.EFAULT, unix.EINVAL, unix.EEXIST} {
		onRefusedEnter(t, errno, func(r *Ring, submit func() error) {
			if v := fmt.Sprint(panics(t, func() { submit() })); !strings.HasPrefix(v, "uring: ") {
				t.Errorf("%v: panic says %q", errno, v)
			}
		})
	}
}
