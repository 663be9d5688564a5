package uring

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRegisteredFilesAreFoundByTheirIndex(t *testing.T) {
	r := owned(t, Options{})
	files := []*os.File{tempFile(t), tempFile(t), tempFile(t)}
	fds := []int32{int32(files[0].Fd()), int32(files[1].Fd()), int32(files[2].Fd()), -1}
	if err := r.RegisterFiles(fds); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r.GetSQE().PrepWrite(i, []byte{'0' + byte(i)}, 0).SetFlags(FixedFile).SetUserData(uint64(i + 1))
	}
	r.GetSQE().PrepWrite(3, []byte("x"), 0).SetFlags(FixedFile).SetUserData(4)
	r.GetSQE().PrepWrite(4, []byte("x"), 0).SetFlags(FixedFile).SetUserData(5)
	want(t, results(t, r, 5), 1, 1, 1, neg(unix.EBADF), neg(unix.EBADF))
	for i, f := range files {
		if b, err := os.ReadFile(f.Name()); err != nil || string(b) != string(rune('0'+i)) {
			t.Errorf("file %d holds %q: %v", i, b, err)
		}
	}

	late := tempFile(t)
	if n, err := r.RegisterFilesUpdate(2, []int32{-1, int32(late.Fd())}); n != 2 || err != nil {
		t.Fatalf("updated %d: %v", n, err)
	}
	r.GetSQE().PrepWrite(2, []byte("x"), 0).SetFlags(FixedFile).SetUserData(1)
	r.GetSQE().PrepWrite(3, []byte("late"), 0).SetFlags(FixedFile).SetUserData(2)
	want(t, results(t, r, 2), neg(unix.EBADF), 4)

	if err := r.UnregisterFiles(); err != nil {
		t.Fatal(err)
	}
	if err := r.UnregisterFiles(); !errors.Is(err, unix.ENXIO) {
		t.Errorf("second time: %v", err)
	}
	if err := r.RegisterFiles([]int32{12345}); !errors.Is(err, unix.EBADF) {
		t.Errorf("registering no file: %v", err)
	}
}

func TestRegisteredBuffersAreFoundByTheirIndex(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	var buffers []*Buffer
	for i := range 3 {
		b, err := Alloc(4096)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Free)
		copy(b.Bytes()[100:], []byte{'a' + byte(i), 'A' + byte(i)})
		buffers = append(buffers, b)
	}
	if err := r.RegisterBuffers(buffers); err != nil {
		t.Skip(err) // RLIMIT_MEMLOCK
	}
	fd := int(f.Fd())
	for i := range 3 {
		r.GetSQE().PrepWriteFixed(fd, buffers[i].Bytes()[100:102], uint64(2*i), i).SetUserData(uint64(i + 1))
	}
	r.GetSQE().PrepWriteFixed(fd, buffers[1].Bytes()[:1], 0, 2).SetUserData(4) // memory of another buffer
	r.GetSQE().PrepWriteFixed(fd, buffers[1].Bytes()[:1], 0, 3).SetUserData(5) // no such buffer
	want(t, results(t, r, 5), 2, 2, 2, neg(unix.EFAULT), neg(unix.EFAULT))

	r.GetSQE().PrepReadFixed(fd, buffers[2].Bytes()[:6], 0, 2)
	if res := result(t, r); res != 6 || string(buffers[2].Bytes()[:6]) != "aAbBcC" {
		t.Fatalf("read %d: %q", res, buffers[2].Bytes()[:6])
	}
	if err := r.UnregisterBuffers(); err != nil {
		t.Fatal(err)
	}
}

func TestARegisteredRingDescriptorWorks(t *testing.T) {
	r := owned(t, Options{})
	if err := r.RegisterRingFd(); err != nil {
		t.Skip(err) // 5.18
	}
	r.GetSQE().PrepNop()
	if res := result(t, r); res != 0 {
		t.Fatal(res)
	}
	if err := r.UnregisterRingFd(); err != nil {
		t.Fatal(err)
	}
	r.GetSQE().PrepNop()
	if res := result(t, r); res != 0 {
		t.Fatal(res)
	}
}

// A thread has room for 16 of them.
func TestCloseGivesTheRegisteredDescriptorBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range 40 {
		r, err := New(Options{Entries: 1})
		if err != nil {
			t.Skip(err)
		}
		if err := r.RegisterRingFd(); i == 0 && err != nil {
			t.Skip(errors.Join(err, r.Close())) // 5.18
		} else if err != nil {
			t.Fatalf("ring %d: %v", i, err)
		}
		if err := r.RegisterRingFd(); err != nil { // registered already
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnEventFdCountsCompletions(t *testing.T) {
	r := owned(t, Options{})
	efd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(efd)
	if err := r.RegisterEventFd(efd); err != nil {
		t.Fatal(err)
	}
	r.GetSQE().PrepNop()
	result(t, r)
	if _, err := unix.Read(efd, make([]byte, 8)); err != nil {
		t.Errorf("eventfd after a completion: %v", err)
	}
	if err := r.UnregisterEventFd(); err != nil {
		t.Fatal(err)
	}
}

func TestBothWorkerLimitsArrive(t *testing.T) {
	r := owned(t, Options{})
	if _, _, err := r.RegisterIOWQMaxWorkers(3, 5); err != nil {
		t.Skip(err) // 5.15
	}
	if b, u, err := r.RegisterIOWQMaxWorkers(0, 0); b != 3 || u != 5 || err != nil {
		t.Errorf("limits are %d and %d: %v", b, u, err)
	}
}
