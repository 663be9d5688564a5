package fs

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/zurau/zurau/uring"

	"golang.org/x/sys/unix"
)

// ringQueue is a Queue on an io_uring: one system call submits all that was pushed and waits.
//
// Wake meets Wait without a lock; no interleaving sleeps through it:
//
//	Wait: sleeping = true, then looks at woken, then enters the kernel, where a read of an eventfd is in flight
//	Wake: woken = true, then looks at sleeping, and only then writes to the eventfd
//
// So Wake is one store and one load while the owner is awake.
type ringQueue struct {
	ring  *uring.Ring
	slots []ringOp // by the user data of their entries
	free  []uint32 // indices of unused slots
	ready []Completion
	cqes  []uring.CQE

	event    *file  // an eventfd, counted as a file is: a late Wake must not write to a number that is used again
	count    []byte // where the kernel puts its value
	reading  bool   // a read of it is in flight
	owned    bool   // the first Wait was there
	sleeping atomic.Bool
	woken    atomic.Bool
}

// ringOp is an operation from its push to its completion. It holds the buffer, so that it is not collected meanwhile,
// and is counted as a user of the file, so that its descriptor is not closed.
type ringOp struct {
	f       *file
	p       []byte
	at      int64
	tag     uint64
	durable bool
	sync    bool
	again   int
}

// wakeUp is the user data of the eventfd's read; operations have the index of their slot.
const wakeUp = 1<<64 - 1

// NewQueue returns a queue on a ring of its own with up to depth operations in flight. The goroutine that first calls
// Wait owns it from then on; a goroutine that is not locked to its thread cannot.
func (host) NewQueue(depth int) (Queue, error) {
	depth = max(depth, 1)
	ring, err := uring.New(uring.Options{Entries: uint32(depth) + 1}) // one for the eventfd
	if errors.Is(err, uring.ErrUnsupported) {
		return nil, fmt.Errorf("queue of writes: %w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return nil, fmt.Errorf("queue of writes: %w", err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("queue of writes: eventfd: %w", err), ring.Close())
	}
	q := &ringQueue{ring: ring, slots: make([]ringOp, depth), event: &file{fd: fd, name: "eventfd"}, count: make([]byte, 8)}
	for i := range depth {
		q.free = append(q.free, uint32(i))
	}
	return q, nil
}

func (q *ringQueue) Push(f File, p []byte, at int64, durable bool, tag uint64) bool {
	return q.add(ringOp{f: f.(*file), p: p, at: at, durable: durable, tag: tag})
}

func (q *ringQueue) PushSync(f File, tag uint64) bool {
	return q.add(ringOp{f: f.(*file), sync: true, tag: tag})
}

func (q *ringQueue) add(op ringOp) bool {
	if len(q.free) == 0 || len(q.ready) >= len(q.slots) {
		return false
	}
	if err := op.start(); err != nil {
		q.ready = append(q.ready, Completion{Tag: op.tag, Err: err})
		return true
	}
	slot := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	q.slots[slot] = op
	q.prepare(slot)
	return true
}

// prepare fills an entry. There is always one: as many as slots, and the eventfd's.
func (q *ringQueue) prepare(slot uint32) {
	op, sqe := &q.slots[slot], q.ring.GetSQE()
	if op.sync {
		sqe.PrepFsync(op.f.fd, uring.FsyncDatasync)
	} else {
		sqe.PrepWrite(op.f.fd, op.p, uint64(op.at))
		if op.durable {
			sqe.SetRWFlags(unix.RWF_DSYNC)
		}
	}
	sqe.SetUserData(uint64(slot))
}

// start begins the use of the file, unless the operation fails already.
func (op *ringOp) start() error {
	if lost := op.f.lost.Load(); op.sync && lost != nil {
		return *lost
	}
	if op.at < 0 {
		return op.fail(unix.EINVAL) // the ring would take -1 as the descriptor's own position
	}
	return op.fail(op.f.enter())
}

func (op *ringOp) fail(err error) error {
	if op.sync {
		return op.f.fail("fdatasync", err)
	}
	return op.f.fail("write", err)
}

// Wait implements Queue. Its error is final: the ring lost track of what is in flight, or cannot submit. The buffers
// of what is in flight stay the kernel's.
func (q *ringQueue) Wait(dst []Completion) ([]Completion, error) {
	for start := len(dst); ; {
		if err := q.enter(len(q.ready) == 0); err != nil {
			return dst, fmt.Errorf("queue of writes: %w", err)
		}
		woken := q.woken.Swap(false)
		dst = append(dst, q.ready...)
		q.ready = q.ready[:0]
		dst = q.reap(dst)
		if woken || len(dst) > start {
			return dst, nil
		}
	}
}

// enter submits, and sleeps until there is a completion unless there is reason not to.
func (q *ringQueue) enter(sleep bool) error {
	if !q.owned {
		q.owned = true
		_ = q.ring.RegisterRingFd() // 5.18; without it each call looks the descriptor up
	}
	if sleep && !q.reading {
		q.ring.GetSQE().PrepRead(q.event.fd, q.count, 0).SetUserData(wakeUp)
		q.reading = true
	}
	q.sleeping.Store(sleep)
	if !sleep || q.woken.Load() {
		q.sleeping.Store(false)
		_, err := q.ring.Submit()
		return err
	}
	_, err := q.ring.SubmitAndWait(1)
	q.sleeping.Store(false)
	return err
}

// reap takes all completions first; what is to be repeated is prepared again only then.
func (q *ringQueue) reap(dst []Completion) []Completion {
	q.cqes = q.ring.Reap(q.cqes[:0])
	for _, c := range q.cqes {
		if c.UserData == wakeUp {
			q.reading = false
			continue
		}
		slot := uint32(c.UserData)
		op := &q.slots[slot]
		err := op.result(c)
		if (err == unix.EINTR || err == unix.EAGAIN) && op.again < maxAgain {
			op.again++
			q.prepare(slot)
			continue
		}
		dst = append(dst, Completion{Tag: op.tag, Err: op.finish(err)})
		*op = ringOp{}
		q.free = append(q.free, slot)
	}
	return dst
}

// finish ends the use of the file. A failed flush is final for it, as in Datasync.
func (op *ringOp) finish(err error) error {
	if err = op.fail(err); op.sync && err != nil {
		op.f.lose(err)
	}
	if left := op.f.leave(); err == nil {
		err = op.fail(left)
	}
	return err
}

// result is the operation's error: a write counts only whole.
func (op *ringOp) result(c uring.CQE) error {
	err := c.Err()
	switch {
	case op.sync:
		return err
	case err == nil && int(c.Res) < len(op.p):
		return io.ErrShortWrite
	}
	return err
}

func (q *ringQueue) Wake() {
	q.woken.Store(true)
	if !q.sleeping.CompareAndSwap(true, false) || q.event.enter() != nil {
		return
	}
	defer q.event.leave()
	// It can only fail by overflow of a counter of 64 bits, and then the reader is awake anyway.
	_, _ = unix.Write(q.event.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// Close waits for what is in flight; nothing is cancelled, since a cancelled write may be half there. It returns the
// first error of the operations whose completions nobody waited for.
func (q *ringQueue) Close() error {
	var first error
	var done []Completion
	for len(q.free) < len(q.slots) {
		var err error
		if done, err = q.Wait(done[:0]); err != nil {
			first = errors.Join(first, err)
			break
		}
		for _, c := range done {
			if first == nil {
				first = c.Err
			}
		}
	}
	return errors.Join(first, q.ring.Close(), q.event.Close())
}
