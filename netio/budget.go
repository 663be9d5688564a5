package netio

import (
	"sync"
	"sync/atomic"
)

// budget bounds the memory of all connections together: frames that arrive, frames in progress, answers in memory.
//
// A connection that is refused waits on a goroutine (it has left its event loop), reading nothing. When every byte of
// the budget belongs to frames that are half there, or that wait for something that hangs, nobody could go on; so one waiter at a time
// may overdraw, until the handler has its frame: not longer, since that frame, too, may wait for what hangs, and the next one with it. If that
// peer stalls, the idle time-out ends it.
type budget struct {
	limit   int64
	used    atomic.Int64
	waiters atomic.Int32
	mu      struct {
		sync.Mutex
		changed   chan struct{} // closed and replaced when memory or the overdraft comes free
		overdrawn *Conn
	}
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit}
	b.mu.changed = make(chan struct{})
	return b
}

// over says whether the budget is exhausted.
func (b *budget) over() bool { return b.used.Load() > b.limit }

// add counts n bytes that are there already, or gives back.
func (b *budget) add(n int) {
	if n == 0 {
		return
	}
	b.used.Add(int64(n))
	if n < 0 && b.waiters.Load() > 0 {
		b.wake()
	}
}

// take reserves n bytes for c if they are there.
func (b *budget) take(c *Conn, n int) bool {
	if b.used.Add(int64(n)) <= b.limit || n <= 0 || b.owns(c) {
		if n < 0 && b.waiters.Load() > 0 {
			b.wake()
		}
		return true
	}
	b.used.Add(int64(-n))
	return false
}

func (b *budget) owns(c *Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.overdrawn == c
}

// wait returns once there is room, or c may overdraw, which it reports, or stop is closed.
func (b *budget) wait(c *Conn, stop <-chan struct{}) (overdraws bool) {
	b.waiters.Add(1)
	defer b.waiters.Add(-1)
	for {
		b.mu.Lock()
		if b.mu.overdrawn == nil {
			b.mu.overdrawn = c
		}
		mine, changed := b.mu.overdrawn == c, b.mu.changed
		b.mu.Unlock()
		if mine || !b.over() {
			return mine
		}
		select {
		case <-changed:
		case <-stop:
			return false
		}
	}
}

// settle ends c's overdraft, if it has it.
func (b *budget) settle(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.overdrawn == c {
		b.mu.overdrawn = nil
		b.wakeLocked()
	}
}

func (b *budget) wake() {
	b.mu.Lock()
	b.wakeLocked()
	b.mu.Unlock()
}

func (b *budget) wakeLocked() {
	close(b.mu.changed)
	b.mu.changed = make(chan struct{})
}
