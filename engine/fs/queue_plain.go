package fs

import (
	"errors"
	"sync"
)

// plainWriters is how many writes of a plain queue are in the kernel at once, each with a thread of its own. A device
// merges the cache flushes of that many, and more threads than that wait for the same processors.
const plainWriters = 4

// NewPlainQueue returns a queue that needs no ring: a few goroutines with pwritev2 and fdatasync. It works for files of
// any FS. It differs from the host's queue in speed only, and in that a short write is continued.
func NewPlainQueue(depth int) Queue {
	depth = max(depth, 1)
	q := &plainQueue{depth: depth, work: make(chan plainOp, depth), signal: make(chan struct{}, 1)}
	for range min(depth, plainWriters) {
		q.writers.Add(1)
		go q.write()
	}
	return q
}

// plainQueue hands what was pushed to its writers in Wait, and collects what they have done.
type plainQueue struct {
	depth  int
	pushed []plainOp // by the owner
	flying int       // pushed or handed over, and not returned by Wait

	work    chan plainOp // never full: it has room for depth
	writers sync.WaitGroup
	signal  chan struct{} // there is something in mu

	mu struct {
		sync.Mutex
		done  []Completion
		woken bool
	}
}

// plainOp is a write, or a datasync.
type plainOp struct {
	f       File
	p       []byte
	at      int64
	tag     uint64
	durable bool
	sync    bool
	fault   error // it failed when it was pushed
}

func (q *plainQueue) Push(f File, p []byte, at int64, durable bool, tag uint64) bool {
	return q.add(plainOp{f: f, p: p, at: at, durable: durable, tag: tag})
}

func (q *plainQueue) PushSync(f File, tag uint64) bool {
	return q.add(plainOp{f: f, sync: true, tag: tag})
}

func (q *plainQueue) add(op plainOp) bool {
	if q.flying >= q.depth {
		return false
	}
	if f, ok := op.f.(*file); ok {
		op.fault = f.enter() // until its completion the file stays open, as in a ring
	}
	q.flying++
	q.pushed = append(q.pushed, op)
	return true
}

// write is one writer.
func (q *plainQueue) write() {
	defer q.writers.Done()
	for op := range q.work {
		err := op.run()
		q.mu.Lock()
		q.mu.done = append(q.mu.done, Completion{Tag: op.tag, Err: err})
		q.mu.Unlock()
		q.notify()
	}
}

func (op *plainOp) run() error {
	f, ours := op.f.(*file)
	switch {
	case op.fault != nil:
		return f.fail("write", op.fault)
	case ours && op.sync:
		return errors.Join(f.flush(), f.leave())
	case ours:
		return errors.Join(f.writeAll(op.p, op.at, op.durable), f.leave())
	case op.sync:
		return op.f.Datasync()
	}
	return op.f.Write(op.p, op.at, op.durable)
}

func (q *plainQueue) notify() {
	select {
	case q.signal <- struct{}{}:
	default: // there is a signal that nobody took yet
	}
}

// Wait implements Queue. It never fails.
func (q *plainQueue) Wait(dst []Completion) ([]Completion, error) {
	for _, op := range q.pushed {
		q.work <- op
	}
	clear(q.pushed) // no references to buffers that go back to their pools
	q.pushed = q.pushed[:0]
	for start := len(dst); ; <-q.signal {
		q.mu.Lock()
		dst = append(dst, q.mu.done...)
		q.mu.done = q.mu.done[:0]
		woken := q.mu.woken
		q.mu.woken = false
		q.mu.Unlock()
		q.flying -= len(dst) - start
		if woken || len(dst) > start {
			return dst, nil
		}
	}
}

func (q *plainQueue) Wake() {
	q.mu.Lock()
	q.mu.woken = true
	q.mu.Unlock()
	q.notify()
}

// Close waits for what is in flight, and returns the first error of what nobody waited for.
func (q *plainQueue) Close() error {
	var first error
	var done []Completion
	for q.flying > 0 {
		done, _ = q.Wait(done[:0])
		for _, c := range done {
			if first == nil {
				first = c.Err
			}
		}
	}
	close(q.work)
	q.writers.Wait()
	return first
}
