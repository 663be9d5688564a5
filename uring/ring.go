package uring

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Errors of a Ring. Errnos of the kernel are wrapped: errors.Is(err, unix.ENOMEM) works.
var (
	// ErrUnsupported says that this kernel, sandbox or sysctl gives no usable io_uring. Probe says why at length.
	ErrUnsupported = errors.New("io_uring is not available")
	// ErrClosed is returned by a ring that was closed.
	ErrClosed = errors.New("uring: ring is closed")
	// ErrDropped says that the kernel had no memory for a completion and dropped it. What is in flight on this ring
	// will never be known: the ring has to be closed, and its writes taken as failed.
	ErrDropped = errors.New("uring: the kernel dropped completions")
	// ErrIdle is returned instead of waiting forever for more completions than can come.
	ErrIdle = errors.New("uring: waiting for completions with nothing in flight")
)

// Options describe a ring. The zero value works.
type Options struct {
	// Entries is the size of the submission queue, rounded up to a power of two. Default 128, limit MaxEntries.
	Entries uint32
	// CQEntries is the size of the completion queue, rounded up likewise. Default twice Entries. Completions beyond it
	// are not lost but slow.
	CQEntries uint32
	// Without names set-up flags to do without, as an older kernel would: for tests and comparisons.
	Without SetupFlags
}

// Ring is one io_uring: a submission and a completion queue shared with the kernel. It has one owner, see the package
// comment. The zero value is not usable.
type Ring struct {
	rings
	fd       int
	flags    SetupFlags
	features Features

	bound      bool   // the owner is known: enabled, or never disabled
	closed     bool   // by Close
	enterFd    uint32 // the descriptor, or its registered index
	enterFlags uint32 // enterRegisteredRing, or nothing

	sqes      []SQE   // one handle for each entry, by index
	nextSQE   uint32  // tail as GetSQE sees it; *sqTail follows in Submit
	submitted uint32  // all entries before it were taken by the kernel and are counted in inFlight
	inFlight  int     // entries whose last completion was not reaped
	spilled   []CQE   // completions saved from a full queue, older than all that are in it
	cancelAny bool    // the kernel can cancel everything at once (5.19)
	waiters   waiters // what Close must cancel one by one, where cancelAny is false

	// Off the Go heap: what the kernel reads while an entry is submitted or a call runs.
	side  *Buffer
	arg   *getEventsArg
	wait  *timespec
	times []timespec // one for each entry, by index
}

// New makes a ring. It may be called on any thread: the first thread that submits, waits or registers the ring's
// descriptor becomes its owner. Where the kernel refuses, the error wraps ErrUnsupported.
func New(o Options) (*Ring, error) {
	if o.Entries == 0 {
		o.Entries = DefaultEntries
	}
	if o.Entries > MaxEntries || o.CQEntries > MaxCQEntries {
		return nil, fmt.Errorf("uring: %d entries and %d completions: limits are %d and %d",
			o.Entries, o.CQEntries, MaxEntries, MaxCQEntries)
	}
	if o.CQEntries != 0 {
		o.CQEntries = max(o.CQEntries, roundUp(o.Entries)) // the kernel refuses less
	}
	fd, p, err := setup(o.Entries, o.CQEntries, o.Without)
	if err != nil {
		return nil, err
	}
	r := &Ring{fd: fd, flags: p.flags, features: p.features, enterFd: uint32(fd)}
	if err := r.init(&p); err != nil {
		return nil, errors.Join(err, r.rings.unmap(), r.freeSide(), unix.Close(fd))
	}
	return r, nil
}

// init maps the queues and makes the handles and side memory.
func (r *Ring) init(p *params) (err error) {
	if missing := featRequired &^ p.features; missing != 0 {
		return fmt.Errorf("uring: kernel lacks %v: %w", missing, ErrUnsupported)
	}
	if r.rings, err = mapRings(r.fd, p); err != nil {
		return err
	}
	const head = int(unsafe.Sizeof(getEventsArg{}) + unsafe.Sizeof(timespec{}))
	if r.side, err = Alloc(head + int(p.sqEntries)*int(unsafe.Sizeof(timespec{}))); err != nil {
		return err
	}
	b := r.side.Bytes()
	r.arg = (*getEventsArg)(unsafe.Pointer(&b[0]))
	r.wait = (*timespec)(unsafe.Pointer(&b[unsafe.Sizeof(getEventsArg{})]))
	r.times = unsafe.Slice((*timespec)(unsafe.Pointer(&b[head])), p.sqEntries)
	r.sqes = make([]SQE, p.sqEntries)
	for i := range r.sqes {
		r.sqes[i] = SQE{e: &r.entries[i], ring: r, slot: uint32(i)}
	}
	// CANCEL_ANY has no bit of its own. COOP_TASKRUN came with the same kernel (5.19) and is found by set-up.
	r.cancelAny = p.flags&(SetupCoopTaskrun|SetupDeferTaskrun) != 0
	if !r.cancelAny {
		r.waiters = make(waiters)
	}
	r.bound = p.flags&SetupRDisabled == 0
	return nil
}

func (r *Ring) freeSide() error {
	if r.side != nil {
		r.side.Free()
		r.side = nil
	}
	return nil
}

// Fd returns the ring's descriptor. It polls readable when completions are there.
func (r *Ring) Fd() int { return r.fd }

// Flags returns the set-up flags that the kernel accepted.
func (r *Ring) Flags() SetupFlags { return r.flags }

// Features returns what the kernel said about itself.
func (r *Ring) Features() Features { return r.features }

// Entries and CQEntries return the real sizes of the queues.
func (r *Ring) Entries() int   { return len(r.entries) }
func (r *Ring) CQEntries() int { return len(r.cqes) }

// InFlight returns how many submitted entries have not had their last completion reaped.
func (r *Ring) InFlight() int { return r.inFlight }

// bind makes the calling thread the owner of a ring that has none.
func (r *Ring) bind() error {
	if r.closed {
		return ErrClosed
	}
	if r.bound {
		return nil
	}
	if _, err := r.register(registerEnableRings, nil, 0); err != nil {
		return fmt.Errorf("uring: enable ring: %w", err)
	}
	r.bound = true
	return nil
}

// setTimespec writes a duration for the kernel.
func (t *timespec) set(d time.Duration) {
	d = max(d, 0)
	t.sec, t.nsec = int64(d/time.Second), int64(d%time.Second)
}

// roundUp returns the power of two that is n or the next above it.
func roundUp(n uint32) uint32 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len32(n-1)
}
