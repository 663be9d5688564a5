package suite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/uring"
)

// A ringStream keeps a clone's requests in flight in one ring. It lives on the goroutine of its stream, which is locked to a thread.
type ringStream struct {
	blocks *blocks
	meter  *load.Meter
	number int
	gap    time.Duration // between two requests, 0: as fast as it goes

	ring  *uring.Ring // made by the first do: its thread owns it
	slots []ringSlot
	free  []int
	cqes  []uring.CQE
	due   time.Time // of the next request
	spent bool      // the budget is
}

// A ringSlot is a request with its buffer, which is the kernel's while the request is in flight.
type ringSlot struct {
	memory     *uring.Buffer
	due, start time.Time
}

func newRing(j *job.Job, b *blocks, m *load.Meter, number int) (*ringStream, error) {
	if j.Sync == job.Fdatasync || j.Sync == job.Fsync {
		return nil, fmt.Errorf("%w: without fio, %s needs an ioengine of plain calls such as psync", ErrNotHere, j.Sync)
	}
	return &ringStream{blocks: b, meter: m, number: number, gap: gap(j, float64(j.Clones))}, nil
}

func (r *ringStream) begin(due time.Time) (err error) {
	runtime.LockOSThread()
	depth := r.blocks.job.Depth
	r.ring, err = uring.New(uring.Options{Entries: uint32(min(depth, uring.MaxEntries))})
	if err != nil {
		return err
	}
	if depth > r.ring.Entries() {
		return fmt.Errorf("iodepth %d: a ring has %d entries at most", depth, r.ring.Entries())
	}
	for i := range depth {
		memory, err := uring.Alloc(int(r.blocks.job.BlockSize))
		if err != nil {
			return err
		}
		r.slots = append(r.slots, ringSlot{memory: memory})
		r.free = append(r.free, i)
	}
	r.due = due
	return nil
}

// do submits what is due and has a free slot, and takes what has completed.
func (r *ringStream) do(_ <-chan struct{}, due time.Time) (int64, error) {
	if r.ring == nil {
		if err := r.begin(due); err != nil {
			return 0, err
		}
	}
	if err := r.prepare(); err != nil {
		return 0, err
	}
	if r.ring.InFlight()+r.ring.SQReady() == 0 {
		if r.spent {
			return 0, load.ErrDone
		}
		// Nothing is due yet: the ring's own timeout is for waiting beside requests.
		time.Sleep(min(time.Until(r.due), 10*time.Millisecond))
		return 0, nil
	}
	if err := r.wait(); err != nil {
		return 0, err
	}
	now := time.Now()
	r.cqes = r.ring.Reap(r.cqes[:0])
	for _, c := range r.cqes {
		if err := c.Err(); err != nil {
			return 0, err
		}
		s := &r.slots[c.UserData]
		r.meter.Done(r.number, s.due, s.start, now, int64(c.Res))
		r.free = append(r.free, int(c.UserData))
	}
	return 0, nil
}

// wait submits and waits for a completion, or until the next request is due and could be sent.
func (r *ringStream) wait() error {
	if r.gap == 0 || len(r.free) == 0 || r.spent {
		_, err := r.ring.SubmitAndWait(1)
		return err
	}
	_, err := r.ring.SubmitAndWaitTimeout(1, max(time.Until(r.due), time.Microsecond))
	if timedOut(err) {
		return nil
	}
	return err
}

// prepare fills entries for the requests that are due.
func (r *ringStream) prepare() error {
	for len(r.free) > 0 && !r.spent {
		now := time.Now()
		if r.gap == 0 {
			r.due = now
		} else if r.due.After(now) {
			return nil
		}
		if r.meter.Over(r.due) {
			r.spent = true
			return nil
		}
		at, err := r.blocks.take()
		if errors.Is(err, load.ErrDone) {
			r.spent = true
			return nil
		}
		i := r.free[len(r.free)-1]
		r.free = r.free[:len(r.free)-1]
		s := &r.slots[i]
		s.due, s.start = r.due, now
		e := r.ring.GetSQE()
		if at.reads {
			e.PrepRead(int(at.file.Fd()), s.memory.Bytes(), uint64(at.at))
		} else {
			e.PrepWrite(int(at.file.Fd()), s.memory.Bytes(), uint64(at.at))
		}
		e.SetUserData(uint64(i))
		r.due = r.due.Add(r.next())
	}
	return nil
}

// next is the time to the request behind the one that is prepared.
func (r *ringStream) next() time.Duration {
	if r.blocks.job.Poisson {
		return time.Duration(rand.ExpFloat64() * float64(r.gap))
	}
	return r.gap
}

// end waits for what is in flight, which counts where it was due in time.
func (r *ringStream) end() (err error) {
	if r.ring == nil {
		return nil
	}
	for until := time.Now(); r.gap > 0 && !r.spent && r.due.Before(until) && !r.meter.Over(r.due); r.due = r.due.Add(r.next()) {
		r.meter.Unsent(r.number, r.due, until)
	}
	r.spent = true
	for err == nil && r.ring.InFlight() > 0 {
		_, err = r.do(nil, time.Time{})
	}
	if err = errors.Join(err, r.ring.Close()); err == nil { // after Close nothing is in flight, whatever happened
		for _, s := range r.slots {
			s.memory.Free()
		}
	}
	runtime.UnlockOSThread()
	return err
}

// timedOut reports whether a wait only took its time.
func timedOut(err error) bool { return errors.Is(err, unix.ETIME) }
