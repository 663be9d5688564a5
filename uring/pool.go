package uring

import (
	"errors"
	"fmt"
	"sync"
)

// ErrPoolEmpty says that all buffers that a Pool may have are out. It is back-pressure: wait until one comes back.
var ErrPoolEmpty = errors.New("uring: all buffers of the pool are in use")

// Pool keeps buffers of one size, at most a fixed number of them. They are made when first needed and kept. It is safe
// for use by any goroutine. A buffer that the kernel owns is not Put: only its completion ends that.
type Pool struct {
	size, limit int

	mu struct {
		sync.Mutex
		idle   []*Buffer
		out    map[*Buffer]struct{} // who is out, so that a second Put or a foreign buffer is found
		closed bool
	}
}

// NewPool returns a pool of at most limit buffers of size bytes. It allocates none yet.
func NewPool(size, limit int) *Pool {
	if size <= 0 || limit <= 0 {
		panic(fmt.Sprintf("uring: pool of %d buffers of %d bytes", limit, size))
	}
	p := &Pool{size: size, limit: limit}
	p.mu.out = make(map[*Buffer]struct{}, limit)
	return p
}

// Get returns a buffer with whatever was in it before: the most recently used one, which is warm. It returns
// ErrPoolEmpty at the limit, and Alloc's error where there is no memory.
func (p *Pool) Get() (*Buffer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return nil, ErrClosed
	}
	if n := len(p.mu.idle); n > 0 {
		b := p.mu.idle[n-1]
		p.mu.idle = p.mu.idle[:n-1]
		p.mu.out[b] = struct{}{}
		return b, nil
	}
	if len(p.mu.out) == p.limit {
		return nil, ErrPoolEmpty
	}
	b, err := Alloc(p.size)
	if err != nil {
		return nil, err
	}
	p.mu.out[b] = struct{}{}
	return b, nil
}

// Put gives a buffer back. It panics for one that is not out: put twice, or from elsewhere.
func (p *Pool) Put(b *Buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.mu.out[b]; !ok {
		panic("uring: buffer put into a pool that it is not out of")
	}
	delete(p.mu.out, b)
	if p.mu.closed {
		b.Free()
		return
	}
	p.mu.idle = append(p.mu.idle, b)
}

// Out returns how many buffers are in use.
func (p *Pool) Out() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.out)
}

// Close frees the idle buffers now, and those in use when they are put back.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.closed = true
	for _, b := range p.mu.idle {
		b.Free()
	}
	p.mu.idle = nil
}
