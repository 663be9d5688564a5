package engine

import "sync"

// A pool is the goroutines that write for logs: a log is in one writer's hands, or in the queue once, or idle. Logs take
// turns, so that one that never rests does not starve the others.
type pool struct {
	write func(*Log)
	max   int

	mu      sync.Mutex
	wake    sync.Cond
	queue   []*Log // a ring would save the copies of a shift; the queue is short
	head    int
	idle    int
	running int
	closed  bool
	done    sync.WaitGroup
}

func newPool(max int, write func(*Log)) *pool {
	p := &pool{write: write, max: max}
	p.wake.L = &p.mu
	return p
}

// push queues a log.
func (p *pool) push(l *Log) {
	p.mu.Lock()
	if p.head > 64 && p.head*2 > len(p.queue) {
		n := copy(p.queue, p.queue[p.head:])
		clear(p.queue[n:])
		p.queue, p.head = p.queue[:n], 0
	}
	p.queue = append(p.queue, l)
	switch {
	case p.idle > 0:
		p.idle-- // on behalf of the one that wakes, so that two pushes wake two
		p.wake.Signal()
	case p.running < p.max:
		p.running++
		p.done.Add(1)
		go p.run()
	}
	p.mu.Unlock()
}

func (p *pool) run() {
	defer p.done.Done()
	p.mu.Lock()
	for {
		for p.head == len(p.queue) {
			p.queue, p.head = p.queue[:0], 0
			if p.closed {
				p.mu.Unlock()
				return
			}
			p.idle++
			p.wake.Wait()
		}
		l := p.queue[p.head]
		p.queue[p.head] = nil
		p.head++
		p.mu.Unlock()
		p.write(l)
		p.mu.Lock()
	}
}

// close lets the writers go when the queue is empty, and waits for them.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.idle = 0
	p.wake.Broadcast()
	p.mu.Unlock()
	p.done.Wait()
}
