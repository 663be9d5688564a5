package uring

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Close ends the ring. Entries that were prepared and not submitted are dropped. What is in flight is asked to cancel,
// and Close returns when all of it has completed, so that the kernel owns no buffer any more; a write that a disk
// holds on to is waited for. The completions are discarded: reap first where they matter (InFlight, SubmitAndWait).
// The owner calls it. A second call returns ErrClosed.
func (r *Ring) Close() error {
	if r.closed {
		return ErrClosed
	}
	err := errors.Join(r.drain(), r.UnregisterRingFd()) // a registered descriptor would keep the ring alive
	r.closed = true
	r.sqes, r.times, r.spilled, r.arg, r.wait = nil, nil, nil, nil, nil
	return errors.Join(err, r.rings.unmap(), r.freeSide(), unix.Close(r.fd))
}

// drain cancels and reaps until nothing is in flight.
func (r *Ring) drain() error {
	r.retract()
	for wait := 10 * time.Millisecond; r.discard() > 0; wait = min(2*wait, time.Second) {
		// Cancel again in each round: the end of one entry may have started another, of a chain or behind a drain.
		r.prepCancelAll()
		_, err := r.SubmitAndWaitTimeout(r.inFlight+r.SQReady(), wait)
		switch {
		case err == nil, errors.Is(err, unix.ETIME), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY):
		default: // ErrDropped, say: there is no way to know what is still to come
			return err
		}
	}
	return nil
}

// discard reaps and returns what is still in flight.
func (r *Ring) discard() int {
	for r.ready() {
		r.Advance(r.CQReady())
	}
	return r.inFlight
}

// retract takes back the entries that the kernel has not taken.
func (r *Ring) retract() {
	r.nextSQE = *r.sqHead
	*r.sqTail = r.nextSQE
}

// prepCancelAll prepares the cancellation of everything in flight.
func (r *Ring) prepCancelAll() {
	if r.cancelAny {
		r.GetSQE().PrepAsyncCancel(0, CancelAny|CancelAll)
		return
	}
	for userData := range r.waiters {
		sqe := r.GetSQE()
		if sqe == nil {
			return // the next round has room again
		}
		if r.waiters[userData].timer {
			sqe.PrepTimeoutRemove(userData)
		} else {
			sqe.PrepAsyncCancel(userData, 0)
		}
	}
}

// waiters are the entries in flight by user data, kept only on kernels that cannot cancel everything at once.
type waiters map[uint64]waiter

type waiter struct {
	count int
	timer bool // timeouts had their own way to be cancelled before 5.5's AsyncCancel learned it
}

func (w waiters) add(e *Entry) {
	if w == nil {
		return
	}
	x := w[e.UserData]
	w[e.UserData] = waiter{x.count + 1, x.timer || e.OpCode == OpTimeout}
}

func (w waiters) remove(userData uint64) {
	x, ok := w[userData]
	if !ok {
		return
	}
	if x.count--; x.count == 0 {
		delete(w, userData)
	} else {
		w[userData] = x
	}
}
