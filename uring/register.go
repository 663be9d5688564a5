package uring

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// register calls io_uring_register(2). The descriptor itself is used: registered indexes need 6.3 here.
func (r *Ring) register(code uint32, arg unsafe.Pointer, n int) (int, error) {
	if r.closed {
		return 0, ErrClosed
	}
	for {
		res, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), uintptr(code), uintptr(arg), uintptr(n), 0, 0)
		switch errno {
		case 0:
			return int(res), nil
		case unix.EINTR:
			continue
		case unix.EEXIST:
			panic("uring: registration by a thread that is not the ring's owner")
		}
		return 0, errno
	}
}

// RegisterFiles makes fds the ring's registered files: with FixedFile an entry's descriptor is an index into them. An
// fd of -1 leaves a hole for RegisterFilesUpdate. The kernel holds its own reference to each file.
func (r *Ring) RegisterFiles(fds []int32) error {
	_, err := r.register(registerFiles, unsafe.Pointer(unsafe.SliceData(fds)), len(fds))
	if err != nil {
		return fmt.Errorf("uring: register %d files: %w", len(fds), err)
	}
	return nil
}

// RegisterFilesUpdate replaces registered files from index off on and returns how many it replaced; -1 clears one.
// Entries in flight keep the file that they started with.
func (r *Ring) RegisterFilesUpdate(off int, fds []int32) (int, error) {
	arg := struct {
		off, resv uint32
		fds       unsafe.Pointer
	}{off: uint32(off), fds: unsafe.Pointer(unsafe.SliceData(fds))}
	n, err := r.register(registerFilesUpdate, unsafe.Pointer(&arg), len(fds))
	if err != nil {
		return 0, fmt.Errorf("uring: update %d registered files at %d: %w", len(fds), off, err)
	}
	return n, nil
}

// UnregisterFiles drops all registered files.
func (r *Ring) UnregisterFiles() error {
	if _, err := r.register(unregisterFiles, nil, 0); err != nil {
		return fmt.Errorf("uring: unregister files: %w", err)
	}
	return nil
}

// RegisterBuffers pins buffers for PrepReadFixed and PrepWriteFixed, which name them by their index here. They must come
// from Alloc, and may be freed after UnregisterBuffers or Close. They count against RLIMIT_MEMLOCK (ENOMEM) unless the
// process has CAP_IPC_LOCK.
func (r *Ring) RegisterBuffers(buffers []*Buffer) error {
	vec := make([]iovec, len(buffers))
	total := 0
	for i, b := range buffers {
		vec[i] = iovec{unsafe.Pointer(unsafe.SliceData(b.Bytes())), uintptr(len(b.Bytes()))}
		total += len(b.Bytes())
	}
	if _, err := r.register(registerBuffers, unsafe.Pointer(unsafe.SliceData(vec)), len(vec)); err != nil {
		return fmt.Errorf("uring: register %d buffers of %d bytes: %w", len(vec), total, err)
	}
	return nil
}

// UnregisterBuffers unpins the registered buffers once no entry in flight uses them.
func (r *Ring) UnregisterBuffers() error {
	if _, err := r.register(unregisterBuffers, nil, 0); err != nil {
		return fmt.Errorf("uring: unregister buffers: %w", err)
	}
	return nil
}

// RegisterRingFd makes the owner's calls a little cheaper (5.18): the kernel need not look the descriptor up each time.
// It holds for the calling thread alone, which becomes the owner. A second call does nothing.
func (r *Ring) RegisterRingFd() error {
	if err := r.bind(); err != nil || r.enterFlags&enterRegisteredRing != 0 {
		return err
	}
	arg := struct {
		off, resv uint32
		fd        uint64
	}{off: ^uint32(0), fd: uint64(r.fd)}
	if _, err := r.register(registerRingFds, unsafe.Pointer(&arg), 1); err != nil {
		return fmt.Errorf("uring: register ring descriptor: %w", err)
	}
	r.enterFd, r.enterFlags = arg.off, enterRegisteredRing
	return nil
}

// UnregisterRingFd undoes RegisterRingFd. Close does it too.
func (r *Ring) UnregisterRingFd() error {
	if r.enterFlags&enterRegisteredRing == 0 {
		return nil
	}
	arg := struct {
		off, resv uint32
		fd        uint64
	}{off: r.enterFd}
	if _, err := r.register(unregisterRingFds, unsafe.Pointer(&arg), 1); err != nil {
		return fmt.Errorf("uring: unregister ring descriptor: %w", err)
	}
	r.enterFd, r.enterFlags = uint32(r.fd), 0
	return nil
}

// RegisterEventFd makes the kernel add to an eventfd at each completion. With DEFER_TASKRUN it says that work is there:
// the owner has to wait or peek for completions to appear. Not for the commit path: a wake-up through Go's poller
// costs more than the write.
func (r *Ring) RegisterEventFd(fd int) error {
	arg := int32(fd)
	if _, err := r.register(registerEventfd, unsafe.Pointer(&arg), 1); err != nil {
		return fmt.Errorf("uring: register eventfd: %w", err)
	}
	return nil
}

// UnregisterEventFd undoes RegisterEventFd.
func (r *Ring) UnregisterEventFd() error {
	if _, err := r.register(unregisterEventfd, nil, 0); err != nil {
		return fmt.Errorf("uring: unregister eventfd: %w", err)
	}
	return nil
}

// RegisterIOWQMaxWorkers bounds the kernel threads that run what cannot be started without blocking (5.15): bounded is
// for files, unbounded for what may wait forever; 0 leaves a value. It returns the values before. The limit belongs to
// the owner's thread.
func (r *Ring) RegisterIOWQMaxWorkers(bounded, unbounded uint32) (oldBounded, oldUnbounded uint32, err error) {
	if err := r.bind(); err != nil {
		return 0, 0, err
	}
	arg := [2]uint32{bounded, unbounded}
	if _, err := r.register(registerIOWQMaxWorker, unsafe.Pointer(&arg), 2); err != nil {
		return 0, 0, fmt.Errorf("uring: limit workers to %d and %d: %w", bounded, unbounded, err)
	}
	return arg[0], arg[1], nil
}
