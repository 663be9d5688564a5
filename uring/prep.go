package uring

import (
	"math"
	"time"
	"unsafe"
)

// CurrentPosition as a position means the descriptor's own file position, and is what pipes and sockets need.
const CurrentPosition = math.MaxUint64

// prep fills the fields that almost every operation has. b's memory is the kernel's from Submit to the completion.
func (s *SQE) prep(op Op, fd int, b []byte, off uint64) *SQE {
	if len(b) > math.MaxInt32 {
		panic("uring: buffer of more than 2 GiB in one operation")
	}
	s.keep = unsafe.Pointer(unsafe.SliceData(b))
	*s.e = Entry{OpCode: op, Fd: int32(fd), Off: off, Addr: uint64(uintptr(s.keep)), Len: uint32(len(b))}
	return s
}

// PrepNop prepares an operation that does nothing and completes with 0.
func (s *SQE) PrepNop() *SQE { return s.prep(OpNop, -1, nil, 0) }

// PrepRead prepares a pread(2) into b from position off in bytes. It completes with the count read; 0 is the end.
func (s *SQE) PrepRead(fd int, b []byte, off uint64) *SQE { return s.prep(OpRead, fd, b, off) }

// PrepWrite prepares a pwrite(2) of b at position off in bytes. It completes with the count written, which may be short.
func (s *SQE) PrepWrite(fd int, b []byte, off uint64) *SQE { return s.prep(OpWrite, fd, b, off) }

// PrepReadFixed is PrepRead into memory inside the registered buffer index.
func (s *SQE) PrepReadFixed(fd int, b []byte, off uint64, index int) *SQE {
	s.prep(OpReadFixed, fd, b, off)
	s.e.BufIndex = uint16(index)
	return s
}

// PrepWriteFixed is PrepWrite from memory inside the registered buffer index.
func (s *SQE) PrepWriteFixed(fd int, b []byte, off uint64, index int) *SQE {
	s.prep(OpWriteFixed, fd, b, off)
	s.e.BufIndex = uint16(index)
	return s
}

// PrepReadv prepares a preadv(2) into bufs. The vector is copied; the buffers' memory is the kernel's until the completion.
func (s *SQE) PrepReadv(fd int, bufs [][]byte, off uint64) *SQE {
	return s.prepv(OpReadv, fd, bufs, off)
}

// PrepWritev prepares a pwritev(2) of bufs. The vector is copied; the buffers' memory is the kernel's until the completion.
func (s *SQE) PrepWritev(fd int, bufs [][]byte, off uint64) *SQE {
	return s.prepv(OpWritev, fd, bufs, off)
}

// iovec is struct iovec. base is a pointer, so that a vector on the Go heap keeps its buffers.
type iovec struct {
	base unsafe.Pointer
	size uintptr
}

// maxIovecs is the kernel's limit (UIO_MAXIOV).
const maxIovecs = 1024

func (s *SQE) prepv(op Op, fd int, bufs [][]byte, off uint64) *SQE {
	if len(bufs) > maxIovecs {
		panic("uring: more than 1024 buffers in one operation")
	}
	s.prep(op, fd, nil, off)
	if len(bufs) == 0 {
		return s
	}
	vec := make([]iovec, len(bufs))
	for i, b := range bufs {
		vec[i] = iovec{unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))}
	}
	s.keep = unsafe.Pointer(unsafe.SliceData(vec))
	s.e.Addr, s.e.Len = uint64(uintptr(s.keep)), uint32(len(vec))
	return s
}

// PrepFsync prepares an fsync(2), or with FsyncDatasync an fdatasync(2). It covers writes that completed before it was
// submitted, and the one that it is linked to. Its failure is final: a second one may succeed without writing anything.
func (s *SQE) PrepFsync(fd int, flags uint32) *SQE {
	s.prep(OpFsync, fd, nil, 0)
	s.e.OpFlags = flags
	return s
}

// PrepFallocate prepares a fallocate(2) of size bytes from position off.
func (s *SQE) PrepFallocate(fd int, mode uint32, off, size uint64) *SQE {
	s.prep(OpFallocate, fd, nil, off)
	s.e.Len, s.e.Addr = mode, size
	return s
}

// PrepPollAdd prepares a wait for poll(2) events on fd. It completes with the events that are there, once, or with
// PollAddMulti at each of them until it is cancelled.
func (s *SQE) PrepPollAdd(fd int, events, flags uint32) *SQE {
	s.prep(OpPollAdd, fd, nil, 0)
	s.e.OpFlags, s.e.Len = events, flags
	return s
}

// PrepPollRemove prepares the end of the poll with the given user data; that one completes with -ECANCELED.
func (s *SQE) PrepPollRemove(userData uint64) *SQE {
	s.prep(OpPollRemove, -1, nil, 0)
	s.e.Addr = userData
	return s
}

// PrepTimeout prepares a completion with -ETIME after d, or with 0 once count later completions have come that are none
// of timeouts (count 0: never). The time is copied into memory of the ring, so nothing has to be kept.
func (s *SQE) PrepTimeout(d time.Duration, count uint32, flags uint32) *SQE {
	s.prepTime(OpTimeout, d, flags)
	s.e.Off = uint64(count)
	return s
}

// PrepLinkTimeout prepares a limit on the entry before it, which must be an entry with IOLink. When d passes first, that
// entry is cancelled and this one completes with -ETIME; else this one completes with -ECANCELED. A buffer is the
// kernel's until the entry itself completes, timed out or not.
func (s *SQE) PrepLinkTimeout(d time.Duration, flags uint32) *SQE {
	return s.prepTime(OpLinkTimeout, d, flags)
}

func (s *SQE) prepTime(op Op, d time.Duration, flags uint32) *SQE {
	ts := &s.ring.times[s.slot]
	ts.set(d)
	s.prep(op, -1, nil, 0)
	s.e.Addr, s.e.Len, s.e.OpFlags = uint64(uintptr(unsafe.Pointer(ts))), 1, flags
	return s
}

// PrepTimeoutRemove prepares the end of the timeout with the given user data, which completes with -ECANCELED. It
// completes with 0, or with -ENOENT where there is no such timeout, -EBUSY where it is firing.
func (s *SQE) PrepTimeoutRemove(userData uint64) *SQE {
	s.prep(OpTimeoutRemove, -1, nil, 0)
	s.e.Addr = userData
	return s
}

// PrepAsyncCancel prepares an attempt to cancel the entry with the given user data. It completes with 0 when that was
// cancelled, -ENOENT when it was not found, -EALREADY when it runs and may or may not be interrupted. The entry always
// has a completion of its own, and only that one says what became of it and gives its buffer back.
func (s *SQE) PrepAsyncCancel(userData uint64, flags uint32) *SQE {
	s.prep(OpAsyncCancel, -1, nil, 0)
	s.e.Addr, s.e.OpFlags = userData, flags
	return s
}

// PrepAsyncCancelFd prepares an attempt to cancel an entry on a descriptor (5.19), or all of them with CancelAll.
func (s *SQE) PrepAsyncCancelFd(fd int, flags uint32) *SQE {
	s.prep(OpAsyncCancel, fd, nil, 0)
	s.e.OpFlags = flags | CancelFd
	return s
}
