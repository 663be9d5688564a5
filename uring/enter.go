package uring

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noTimeout waits as long as it takes.
const noTimeout time.Duration = -1

// maxStarved bounds how often a submission is tried again that the kernel has no memory for, with a pause of
// starvedPause before each. After that the caller has to decide: its entries are still prepared.
const (
	maxStarved   = 100
	starvedPause = time.Millisecond
)

// Submit gives all prepared entries to the kernel and returns how many it took. It does not wait for completions,
// but buffered writes may block in it.
func (r *Ring) Submit() (int, error) { return r.submit(0, noTimeout) }

// SubmitAndWait submits, then waits until at least n completions can be reaped. It returns how many entries were
// submitted. It returns ErrIdle when nothing is in flight that could complete.
func (r *Ring) SubmitAndWait(n int) (int, error) { return r.submit(n, noTimeout) }

// SubmitAndWaitTimeout is SubmitAndWait that gives up after d with unix.ETIME. The entries are submitted all the same.
func (r *Ring) SubmitAndWaitTimeout(n int, d time.Duration) (int, error) {
	return r.submit(n, max(d, 0))
}

// submit is the one loop around io_uring_enter.
func (r *Ring) submit(want int, timeout time.Duration) (taken int, err error) {
	if err := r.bind(); err != nil {
		return 0, err
	}
	r.publish()
	var deadline time.Time
	if timeout >= 0 && want > 0 {
		deadline = time.Now().Add(timeout)
	}
	for starved := 0; ; {
		pending, waitFor, err := r.plan(want)
		if err != nil || pending == 0 && r.CQReady() >= want {
			return taken, err
		}
		n, errno := r.enterOnce(pending, waitFor, deadline)
		taken += n
		switch errno {
		case 0, unix.EINTR, unix.ETIME:
			if r.cameTooLate(want, deadline) {
				return taken, unix.ETIME
			}
		case unix.EBUSY, unix.EAGAIN:
			if r.spill() {
				continue
			}
			if starved++; starved > maxStarved {
				return taken, fmt.Errorf("uring: submit %d entries: %w", pending, errno)
			}
			r.pause()
		case unix.EBADR:
			return taken, ErrDropped
		default:
			return taken, enterFailed(errno, pending)
		}
		if atomic.LoadUint32(r.cqDropped) != 0 {
			return taken, ErrDropped
		}
	}
}

// plan returns how many entries the next call submits, and for how many completions in the queue it waits: enough for
// want, but no more than can come, or the kernel would wait forever. 0 is not to wait. Without DEFER_TASKRUN completions
// arrive at any time, so all is reckoned from one look at the queue.
func (r *Ring) plan(want int) (pending, waitFor int, err error) {
	queued := r.cqQueued()
	ready := len(r.spilled) + queued
	pending = r.SQReady()
	if want <= ready {
		return pending, 0, nil
	}
	due := r.due(ready)
	if due == 0 && pending == 0 && !r.kernelHolds() {
		return 0, 0, ErrIdle
	}
	return pending, min(queued+min(want-ready, due), len(r.cqes)), nil
}

// cameTooLate reports whether the time is up and completions are missing still. The kernel says ETIME only where its
// queue is empty, and 0 where it holds too few. It never waits for more than fit, so a full queue is emptied here.
func (r *Ring) cameTooLate(want int, deadline time.Time) bool {
	if r.CQReady() >= want {
		return false
	}
	if r.cqQueued() == len(r.cqes) {
		r.spill()
	}
	return !deadline.IsZero() && r.SQReady() == 0 && !time.Now().Before(deadline)
}

// enterOnce makes one call of io_uring_enter and accounts for what the kernel took. The wait is in the same call as the
// submission, so that a commit costs one system call.
func (r *Ring) enterOnce(pending, waitFor int, deadline time.Time) (int, unix.Errno) {
	flags := r.enterFlags
	var arg unsafe.Pointer
	var argSize uintptr
	if waitFor > 0 || r.kernelHolds() {
		flags |= enterGetEvents
	}
	if waitFor > 0 && !deadline.IsZero() {
		flags |= enterExtArg
		r.wait.set(time.Until(deadline))
		*r.arg = getEventsArg{ts: uint64(uintptr(unsafe.Pointer(r.wait)))}
		arg, argSize = unsafe.Pointer(r.arg), unsafe.Sizeof(*r.arg)
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.enterFd), uintptr(pending), uintptr(waitFor),
		uintptr(flags), uintptr(arg), argSize)
	return r.account(), errno
}

// publish shows all prepared entries to the kernel, and checks what would break the count of what is in flight or the
// meaning of a chain.
func (r *Ring) publish() {
	for i := atomic.LoadUint32(r.sqTail); i != r.nextSQE; i++ {
		f := r.entries[i&r.sqMask].Flags
		linked := f&(IOLink|IOHardlink) != 0
		if linked && i+1 == r.nextSQE {
			panic("uring: a chain has to end within its submission: the last entry has IOLink set")
		}
		r.checkSkip(i, f, linked)
	}
	atomic.StoreUint32(r.sqTail, r.nextSQE)
}

// checkSkip panics where CQESkipSuccess is not used on all entries of a chain but the last, or where a chain with it could
// have two completions all the same: after a hard link, or by a link timeout.
func (r *Ring) checkSkip(i uint32, f Flags, linked bool) {
	skips := f&CQESkipSuccess != 0
	if skips && (!linked || r.features&FeatCQESkip == 0 || r.flags&SetupSubmitAll == 0) {
		panic("uring: CQESkipSuccess on an entry without IOLink, or on a kernel before 5.18")
	}
	if !linked {
		return
	}
	next := &r.entries[(i+1)&r.sqMask]
	nextSkips := next.Flags&CQESkipSuccess != 0
	nextEnds := next.Flags&(IOLink|IOHardlink) == 0
	if nextEnds && nextSkips || !nextEnds && nextSkips != skips {
		panic("uring: CQESkipSuccess has to be on all entries of a chain but the last, or on none")
	}
	if skips && (f&IOHardlink != 0 || next.OpCode == OpLinkTimeout) {
		panic("uring: CQESkipSuccess in a chain with a hard link or a link timeout")
	}
}

// account counts the entries that the kernel took since the last call. The ring has no SQPOLL thread, so it takes
// entries only within io_uring_enter, and their memory is unchanged until the owner asks for the slot again.
func (r *Ring) account() int {
	head := atomic.LoadUint32(r.sqHead)
	n := int(head - r.submitted)
	for ; r.submitted != head; r.submitted++ {
		e := &r.entries[r.submitted&r.sqMask]
		if e.Flags&CQESkipSuccess == 0 {
			r.inFlight++
			r.waiters.add(e)
		}
	}
	if n > 0 && head != atomic.LoadUint32(r.sqTail) {
		r.breakSplitChain(head)
	}
	return n
}

// breakSplitChain makes the rest of a chain fail whose first part alone was taken, because the kernel ran out of memory
// in between: submitted later, the rest would run on its own, and an fsync would no longer wait for its write. The first
// entry of the rest is turned into one that completes with -EINVAL, and those after it with -ECANCELED.
func (r *Ring) breakSplitChain(head uint32) {
	if r.entries[(head-1)&r.sqMask].Flags&(IOLink|IOHardlink) == 0 {
		return
	}
	for i := head; ; i++ {
		e := &r.entries[i&r.sqMask]
		e.OpCode = opInvalid
		if e.Flags&(IOLink|IOHardlink) == 0 {
			return
		}
	}
}

// due returns how many completions are still to come at least: one for each entry that is in flight or prepared, without
// the ready oldest ones that are waiting to be reaped.
func (r *Ring) due(ready int) int {
	n := r.inFlight
	for i := r.submitted; i != r.nextSQE; i++ {
		if r.entries[i&r.sqMask].Flags&CQESkipSuccess == 0 {
			n++
		}
	}
	for i := range ready {
		if !r.at(i).More() {
			n--
		}
	}
	return n
}

// kernelHolds reports whether completions wait in the kernel that only a call brings into the queue.
func (r *Ring) kernelHolds() bool {
	return atomic.LoadUint32(r.sqFlags)&(sqCQOverflow|sqTaskrun) != 0
}

// pause gives the kernel a moment to free memory: by waiting for a completion where one is due.
func (r *Ring) pause() {
	if r.inFlight == 0 {
		time.Sleep(starvedPause)
		return
	}
	r.enterOnce(0, r.cqQueued()+1, time.Now().Add(starvedPause))
}

// enterFailed turns an errno of io_uring_enter that is not handled into an error, or a panic where it is a bug.
func enterFailed(errno unix.Errno, pending int) error {
	switch errno {
	case unix.EEXIST:
		panic("uring: used by a thread that is not the ring's owner")
	case unix.EBADF, unix.EBADFD, unix.EFAULT, unix.EINVAL, unix.ENXIO, unix.EOPNOTSUPP:
		panic(fmt.Sprintf("uring: io_uring_enter of %d entries: %v", pending, errno))
	}
	return fmt.Errorf("uring: io_uring_enter of %d entries: %w", pending, errno)
}
