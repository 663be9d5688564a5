package fs

import (
	"bytes"
	"fmt"
	"os"
	"slices"
)

// flight is an operation between its push and its completion.
type flight struct {
	f       *crashFile
	p       []byte
	pushed  []byte // p as it was: what may be on the disk meanwhile, and proof that the owner left it alone
	at      int64
	durable bool
	sync    bool
	covers  []*update // of a sync: what had completed when it was pushed
	tag     uint64
	orphan  bool // its queue is broken: nobody will know its end
}

func (fl *flight) String() string {
	if fl.sync {
		return "a datasync"
	}
	return fmt.Sprintf("a write of %d bytes at %d", len(fl.pushed), fl.at)
}

// overlap returns a write in flight that shares a block with a range.
func (d *inode) overlap(at int64, n int) *flight {
	for _, fl := range d.flights {
		if !fl.sync && n > 0 && len(fl.pushed) > 0 &&
			at/BlockSize <= (fl.at+int64(len(fl.pushed))-1)/BlockSize && fl.at/BlockSize <= (at+int64(n)-1)/BlockSize {
			return fl
		}
	}
	return nil
}

// crashQueue is a Queue whose writes happen in Wait: a random number of those in flight, in random order.
type crashQueue struct {
	disk    *Crash
	depth   int
	flights []*flight // the disk's lock guards it
	wake    chan struct{}
}

// NewQueue implements FS.
func (c *Crash) NewQueue(depth int) (Queue, error) {
	err := c.before(OpQueue, "queue")
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return nil, &os.SyscallError{Syscall: "io_uring_setup", Err: err}
	}
	if c.mu.faults.NoQueue {
		return nil, ErrUnsupported
	}
	return &crashQueue{disk: c, depth: max(depth, 1), wake: make(chan struct{}, 1)}, nil
}

func (q *crashQueue) Push(f File, p []byte, at int64, durable bool, tag uint64) bool {
	c, file := q.disk, f.(*crashFile)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(q.flights) >= q.depth {
		return false
	}
	fl := &flight{f: file, p: p, pushed: bytes.Clone(p), at: at, durable: durable, tag: tag}
	if other := file.data.overlap(at, len(p)); other != nil {
		c.violate("%s of %s was pushed while %s is in flight in the same block", fl, file.name, other)
	}
	q.add(fl)
	return true
}

func (q *crashQueue) PushSync(f File, tag uint64) bool {
	c, file := q.disk, f.(*crashFile)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(q.flights) >= q.depth {
		return false
	}
	q.add(&flight{f: file, sync: true, covers: slices.Clone(file.data.pending), tag: tag})
	return true
}

func (q *crashQueue) add(fl *flight) {
	q.flights = append(q.flights, fl)
	fl.f.data.flights = append(fl.f.data.flights, fl)
}

// Wait completes at least one operation where one is in flight. It fails where a hook says so, and then for good.
func (q *crashQueue) Wait(dst []Completion) ([]Completion, error) {
	if err := q.disk.before(OpWait, "queue"); err != nil {
		q.abandon()
		return dst, &os.SyscallError{Syscall: "io_uring_enter", Err: err}
	}
	picked := q.pick(false)
	if len(picked) == 0 {
		<-q.wake
		return dst, nil
	}
	select {
	case <-q.wake:
	default:
	}
	for _, fl := range picked {
		dst = append(dst, Completion{Tag: fl.tag, Err: q.complete(fl)})
	}
	return dst, nil
}

// abandon leaves what is in flight to itself: it may land or not.
func (q *crashQueue) abandon() {
	q.disk.mu.Lock()
	defer q.disk.mu.Unlock()
	for _, fl := range q.flights {
		fl.orphan = true
	}
	q.flights = nil
}

// pick chooses what completes now.
func (q *crashQueue) pick(all bool) []*flight {
	q.disk.mu.Lock()
	defer q.disk.mu.Unlock()
	picked := slices.Clone(q.flights)
	rng := q.disk.mu.rng
	rng.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	if !all && len(picked) > 0 {
		picked = picked[:1+rng.IntN(len(picked))]
	}
	return picked
}

// complete executes one operation. While the hook runs it is still in flight.
func (q *crashQueue) complete(fl *flight) error {
	c, op := q.disk, OpWrite
	switch {
	case fl.sync:
		op = OpDatasync
	case fl.durable:
		op = OpWriteDurable
	}
	fault := c.before(op, fl.f.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(o *flight) bool { return o == fl }
	q.flights = slices.DeleteFunc(q.flights, same)
	fl.f.data.flights = slices.DeleteFunc(fl.f.data.flights, same)
	if fl.sync {
		return fl.f.fail("fdatasync", c.datasync(fl.f, fl.covers, fault))
	}
	if !bytes.Equal(fl.p, fl.pushed) {
		c.violate("buffer of %s to %s changed in flight", fl, fl.f.name)
	}
	return fl.f.fail("write", c.write(fl.f, fl.p, fl.at, fl.durable, fault))
}

func (q *crashQueue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *crashQueue) Close() error {
	for _, fl := range q.pick(true) {
		if err := q.complete(fl); err != nil {
			return &os.SyscallError{Syscall: "queue close", Err: err}
		}
	}
	return nil
}
