package netio

import (
	"fmt"
	"runtime/debug"
)

// gather is how many frames a reader hands out before it sends the answers that are there.
const gather = 64

// A Conn is its splitter's sink.
var _ sink = (*Conn)(nil)

func (c *Conn) maxFrame() int { return int(c.limit.Load()) }

// frame takes a slot for a frame and gives both to the handler. It refuses while too much is pending.
func (c *Conn) frame(payload []byte) bool {
	if c.held >= gather {
		c.letGo()
	}
	s := c.newSlot(len(payload))
	if s == nil && c.held > 0 {
		// The answers that would make place may be ready and only wait for us.
		c.letGo()
		s = c.newSlot(len(payload))
	}
	if s == nil {
		c.over = true
		return false
	}
	c.touch()
	c.srv.handler.Frame(c, payload, s)
	c.settleDebt()
	return true
}

// newSlot appends a slot to the FIFO, and takes the write side if nobody has it. Nil: not now, or never again.
func (c *Conn) newSlot(bytes int) *Slot {
	c.mu.Lock()
	if c.closed || c.draining || c.full() {
		c.mu.Unlock()
		return nil
	}
	s := c.srv.slots.get(c, bytes)
	if c.tail == nil {
		c.head = s
	} else {
		c.tail.next = s
	}
	c.tail = s
	c.slots++
	c.bytes += bytes
	c.srv.budget.add(bytes)
	if !c.busy {
		c.busy = true
		c.held = 1
	} else if c.held > 0 {
		c.held++
	}
	c.mu.Unlock()
	return s
}

// full says whether reading has to stop. A connection with nothing pending is never full.
func (c *Conn) full() bool {
	return c.slots >= c.srv.opts.MaxPending || c.slots > 0 &&
		(c.bytes >= c.srv.opts.MaxPendingBytes || c.srv.budget.over())
}

// letGo sends what the reader has held back and gives up the write side.
func (c *Conn) letGo() {
	if c.held > 0 {
		c.held = 0
		c.pump()
	}
}

func (c *Conn) reserve(n int) bool {
	if c.srv.budget.take(c, n) {
		return true
	}
	c.over = true
	return false
}

// feed hands out the frames in in and sends the answers that they got at once. It returns what was not taken, which is
// everything that is left where c.over is set. A handler that panics loses its connection, not the process.
func (c *Conn) feed(in []byte) (rest []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.opts.Logger.Error("handler panicked", "remote", c.remote, "panic", p, "stack", string(debug.Stack()))
			rest, err = nil, fmt.Errorf("%w: %v", ErrPanic, p)
		}
		c.letGo()
	}()
	c.over = false
	return c.split.feed(in, c)
}
