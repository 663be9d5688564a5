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

// A Ring is a binding of io_uring(7). It is called by the goroutine that made it, which is locked to its thread.
type Ring interface {
	// Read and Write prepare a request, whose completion has its id. The memory is the kernel's until then.
	Read(fd int, b []byte, position int64, id uint64)
	Write(fd int, b []byte, position int64, id uint64)
	// Waiting is the number of requests that are prepared or in flight.
	Waiting() int
	// Submit submits what is prepared and waits for a completion, for d at most where that is not 0.
	Submit(d time.Duration) error
	// Reap returns what has completed, valid until the next call.
	Reap() []Completion
	// Close waits for what is in flight.
	Close() error
}

// A Completion is the end of a request: bytes, or the negative of an errno(3).
type Completion struct {
	ID     uint64
	Result int32
}

// ownRing is the Ring of this project's uring.
type ownRing struct {
	*uring.Ring
	cqes []uring.CQE
	done []Completion
}

func newOwnRing(entries int) (Ring, error) {
	r, err := uring.New(uring.Options{Entries: uint32(min(entries, uring.MaxEntries))})
	if err != nil {
		return nil, err
	}
	if entries > r.Entries() {
		return nil, errors.Join(fmt.Errorf("iodepth %d: a ring has %d entries at most", entries, r.Entries()), r.Close())
	}
	return &ownRing{Ring: r}, nil
}

func (r *ownRing) Read(fd int, b []byte, position int64, id uint64) {
	e := r.GetSQE()
	e.PrepRead(fd, b, uint64(position))
	e.SetUserData(id)
}

func (r *ownRing) Write(fd int, b []byte, position int64, id uint64) {
	e := r.GetSQE()
	e.PrepWrite(fd, b, uint64(position))
	e.SetUserData(id)
}

func (r *ownRing) Waiting() int { return r.InFlight() + r.SQReady() }

func (r *ownRing) Submit(d time.Duration) error {
	if d == 0 {
		_, err := r.SubmitAndWait(1)
		return err
	}
	if _, err := r.SubmitAndWaitTimeout(1, d); err != nil && !errors.Is(err, unix.ETIME) {
		return err
	}
	return nil
}

func (r *ownRing) Reap() []Completion {
	r.cqes, r.done = r.Ring.Reap(r.cqes[:0]), r.done[:0]
	for _, c := range r.cqes {
		r.done = append(r.done, Completion{c.UserData, c.Res})
	}
	return r.done
}

// A ringStream keeps a clone's requests in flight in one ring. It lives on the goroutine of its stream, which is locked to a thread.
type ringStream struct {
	blocks *blocks
	meter  *load.Meter
	number int
	gap    time.Duration // between two requests, 0: as fast as it goes

	open  func(entries int) (Ring, error)
	ring  Ring // made by the first do: its thread owns it
	slots []ringSlot
	free  []int
	due   time.Time // of the next request
	spent bool      // the budget is
}

// A ringSlot is a request with its buffer, which is the kernel's while the request is in flight.
type ringSlot struct {
	memory     *uring.Buffer
	due, start time.Time
}

func newRing(j *job.Job, b *blocks, m *load.Meter, number int, open func(int) (Ring, error)) (*ringStream, error) {
	if j.Sync == job.Fdatasync || j.Sync == job.Fsync {
		return nil, fmt.Errorf("%w: without fio, %s needs an ioengine of plain calls such as psync", ErrNotHere, j.Sync)
	}
	if open == nil {
		open = newOwnRing
	}
	return &ringStream{blocks: b, meter: m, number: number, gap: gap(j, float64(j.Clones)), open: open}, nil
}

func (r *ringStream) begin(due time.Time) (err error) {
	runtime.LockOSThread()
	depth := r.blocks.job.Depth
	if r.ring, err = r.open(depth); err != nil {
		return err
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
	if r.ring.Waiting() == 0 {
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
	for _, c := range r.ring.Reap() {
		if c.Result < 0 {
			return 0, unix.Errno(-c.Result)
		}
		s := &r.slots[c.ID]
		r.meter.Done(r.number, s.due, s.start, now, int64(c.Result))
		r.free = append(r.free, int(c.ID))
	}
	return 0, nil
}

// wait submits and waits for a completion, or until the next request is due and could be sent.
func (r *ringStream) wait() error {
	if r.gap == 0 || len(r.free) == 0 || r.spent {
		return r.ring.Submit(0)
	}
	return r.ring.Submit(max(time.Until(r.due), time.Microsecond))
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
		if at.reads {
			r.ring.Read(int(at.file.Fd()), s.memory.Bytes(), at.at, uint64(i))
		} else {
			r.ring.Write(int(at.file.Fd()), s.memory.Bytes(), at.at, uint64(i))
		}
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
	for err == nil && r.ring.Waiting() > 0 {
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
