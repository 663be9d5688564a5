package main

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/benchmarks/suite"
)

// A ring is giouring's as a Ring of the suite.
type ring struct {
	ring    *giouring.Ring
	waiting int
	done    []suite.Completion
}

// setups are the flags of a ring, from those that cost least per request on to those that every kernel with rings knows.
var setups = []uint32{giouring.SetupSingleIssuer | giouring.SetupDeferTaskrun, giouring.SetupCoopTaskrun, 0}

func newRing(entries int) (suite.Ring, error) {
	var failed error
	for _, flags := range setups {
		r := giouring.NewRing()
		err := r.QueueInit(uint32(entries), flags)
		if err == nil {
			return &ring{ring: r}, nil
		}
		failed = errors.Join(failed, fmt.Errorf("a ring of %d entries, flags %#x: %w", entries, flags, err))
	}
	return nil, failed
}

// entry returns a free entry: the suite keeps no more in flight than it asked for. It comes as its last use left it, per-write flags included.
func (r *ring) entry() *giouring.SubmissionQueueEntry {
	e := r.ring.GetSQE()
	*e = giouring.SubmissionQueueEntry{}
	r.waiting++
	return e
}

func (r *ring) Read(fd int, b []byte, position int64, id uint64) {
	e := r.entry()
	e.PrepareRead(fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uint32(len(b)), uint64(position))
	e.SetData64(id)
}

func (r *ring) Write(fd int, b []byte, position int64, id uint64) {
	e := r.entry()
	e.PrepareWrite(fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uint32(len(b)), uint64(position))
	e.SetData64(id)
}

func (r *ring) Waiting() int { return r.waiting }

func (r *ring) Submit(d time.Duration) error {
	var err error
	if d == 0 {
		_, err = r.ring.SubmitAndWait(1)
	} else {
		ts := syscall.NsecToTimespec(int64(d))
		_, err = r.ring.SubmitAndWaitTimeout(1, &ts, nil)
		runtime.KeepAlive(&ts)
	}
	if errors.Is(err, unix.ETIME) || errors.Is(err, unix.EINTR) {
		return nil // as much as there was is submitted, and what has come is reaped
	}
	return err
}

func (r *ring) Reap() []suite.Completion {
	r.done = r.done[:0]
	for {
		c, err := r.ring.PeekCQE()
		if err != nil || c == nil {
			return r.done
		}
		r.done = append(r.done, suite.Completion{ID: c.UserData, Result: c.Res})
		r.ring.CQESeen(c)
		r.waiting--
	}
}

func (r *ring) Close() error {
	for r.waiting > 0 {
		if err := r.Submit(0); err != nil {
			return err // the ring, and the memory of what is in flight, stay
		}
		r.Reap()
	}
	r.ring.QueueExit()
	return nil
}
