package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/uring"
)

const (
	// minRun is the memory of a run that starts with a small append: what a few hundred tiny requests need.
	minRun = 16 << 10
	// maxRun is how much of what waits goes into one write: direct writes are cheapest from 1 MiB on, and larger ones
	// only add latency (io measurements).
	maxRun = 1 << 20
	// keptBuffers bounds the memory that is kept for the next runs.
	keptBuffers = 32 << 20
)

// buffers is the off-heap, page-aligned memory of runs: the kernel reads from it while a ring owns it, and the
// garbage collector never sees it.
type buffers struct {
	mu   sync.Mutex
	free [classes][]*buffer
	kept int64
}

// A buffer has one owner at a time: a run, what is kept for readers (with whom it is shared), or the free list.
type buffer struct {
	bytes []byte // all of it
	mem   *uring.Buffer
	class int    // -1: larger than every class, never kept
	stage *stage // the memory is a slot of it, at a position in the mapping
	at    int64
	refs  atomic.Int32 // beside the owner's own: readers of what was written from it
}

// classes are 16 KiB, 64 KiB, 256 KiB and 1 MiB.
const classes = 4

func classOf(n int) (class, size int) {
	size = minRun
	for class = 0; class < classes; class++ {
		if n <= size {
			return class, size
		}
		size *= 4
	}
	const page = 4096
	return -1, (n + page - 1) / page * page
}

// get returns memory for at least n bytes. It panics where the system has none, as make does.
func (b *buffers) get(n int) *buffer {
	class, size := classOf(n)
	if class >= 0 {
		b.mu.Lock()
		if k := len(b.free[class]); k > 0 {
			m := b.free[class][k-1]
			b.free[class] = b.free[class][:k-1]
			b.kept -= int64(size)
			b.mu.Unlock()
			return m
		}
		b.mu.Unlock()
	}
	mem, err := uring.Alloc(size)
	if err != nil {
		panic(err)
	}
	return &buffer{bytes: mem.Bytes(), mem: mem, class: class}
}

func (b *buffers) put(m *buffer) {
	if m.stage != nil {
		m.stage.put(m)
		return
	}
	if m.class >= 0 {
		b.mu.Lock()
		if b.kept+int64(len(m.bytes)) <= keptBuffers {
			b.free[m.class] = append(b.free[m.class], m)
			b.kept += int64(len(m.bytes))
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
	}
	m.mem.Free()
}

// unref takes one of the holders of a buffer off, and puts it back after the last.
func (b *buffers) unref(m *buffer) {
	if m.refs.Add(-1) < 0 {
		m.refs.Store(0)
		b.put(m)
	}
}

// trim gives the kept memory back to the system.
func (b *buffers) trim() {
	b.mu.Lock()
	free := b.free
	b.free, b.kept = [classes][]*buffer{}, 0
	b.mu.Unlock()
	for _, list := range free {
		for _, m := range list {
			m.mem.Free()
		}
	}
}

// runs keeps the structs of runs.
var runs = sync.Pool{New: func() any { return new(run) }}

func (e *Engine) recycle(r *run) {
	if r.mem != nil {
		e.buffers.unref(r.mem)
	}
	clear(r.acks)
	*r = run{acks: r.acks[:0]}
	runs.Put(r)
}
