package uring

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// CQReady returns how many completions can be reaped without entering the kernel.
func (r *Ring) CQReady() int {
	if r.closed {
		return 0
	}
	return len(r.spilled) + r.cqQueued()
}

// cqQueued returns how many completions lie in the queue itself.
func (r *Ring) cqQueued() int {
	return int(atomic.LoadUint32(r.cqTail) - atomic.LoadUint32(r.cqHead))
}

// PeekCQE returns the oldest completion and leaves it there: Advance(1) takes it. ok is false when there is none. It
// enters the kernel only when the queue is empty and the kernel says that it holds completions back.
func (r *Ring) PeekCQE() (c CQE, ok bool) {
	if !r.ready() {
		return CQE{}, false
	}
	return r.at(0), true
}

// Advance takes the n oldest completions. It panics when there are fewer.
func (r *Ring) Advance(n int) {
	if n < 0 || n > r.CQReady() {
		panic("uring: Advance beyond the completions that are there")
	}
	for i := range n {
		r.done(r.at(i))
	}
	fromSpill := min(n, len(r.spilled))
	r.spilled = r.spilled[:copy(r.spilled, r.spilled[fromSpill:])]
	if rest := uint32(n - fromSpill); rest > 0 {
		atomic.StoreUint32(r.cqHead, *r.cqHead+rest)
	}
}

// Reap takes all completions that are there and appends them to dst, oldest first. Collect first and act afterwards:
// acting submits again, and the queue should be free by then.
func (r *Ring) Reap(dst []CQE) []CQE {
	for r.ready() {
		n := r.CQReady()
		for i := range n {
			dst = append(dst, r.at(i))
		}
		r.Advance(n)
	}
	return dst
}

// ready reports whether completions can be reaped, after asking the kernel where it holds some back.
func (r *Ring) ready() bool {
	if r.closed {
		return false
	}
	if r.CQReady() == 0 && r.bound && r.kernelHolds() {
		switch _, errno := r.enterOnce(0, 0, time.Time{}); errno {
		case 0, unix.EINTR, unix.EAGAIN, unix.EBUSY, unix.EBADR: // comes again in the next Submit or wait
		default:
			enterFailed(errno, 0) // panics for what is a bug
		}
	}
	return r.CQReady() > 0
}

// at returns completion i of those that are there, counted from the oldest.
func (r *Ring) at(i int) CQE {
	if i < len(r.spilled) {
		return r.spilled[i]
	}
	return r.cqes[(atomic.LoadUint32(r.cqHead)+uint32(i-len(r.spilled)))&r.cqMask]
}

// done ends an entry's time in flight with its last completion.
func (r *Ring) done(c CQE) {
	if c.More() {
		return
	}
	r.inFlight--
	r.waiters.remove(c.UserData)
}

// spill moves what is in the completion queue into Go memory, so that the kernel can go on. It reports whether there
// was anything to move.
func (r *Ring) spill() bool {
	n := r.cqQueued()
	if n == 0 {
		return false
	}
	head := atomic.LoadUint32(r.cqHead)
	for i := range uint32(n) {
		r.spilled = append(r.spilled, r.cqes[(head+i)&r.cqMask])
	}
	atomic.StoreUint32(r.cqHead, head+uint32(n))
	return true
}
