package netio

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// errHandOver says that what comes next is for a goroutine.
var errHandOver = errors.New("to be sent by a goroutine")

// pump sends what is ready. The caller owns the write side; pump gives it up, or hands it on, before it returns.
func (c *Conn) pump() {
	c.out.turn = 0
	for c.refill() {
		switch err := c.sendNow(); err {
		case nil:
		case unix.EAGAIN, errHandOver:
			if c.handOver() {
				return
			}
		default:
			c.close(err)
		}
	}
}

// refill settles the counts of what was sent and takes the answers that are ready off the FIFO. When there is nothing
// left to send it gives up the write side and returns false.
func (c *Conn) refill() bool {
	o := &c.out
	gone, slots, bytes := o.takeGone()
	c.mu.Lock()
	if !c.closed {
		c.settle(slots, bytes)
	}
	var abort bool
	for s := c.head; s != nil && s.state != waiting && !c.closed && !abort; s = c.head {
		if s.state == aborted {
			// The answers before it go first; it stays at the head until they have gone.
			if abort = o.empty(); !abort {
				break
			}
		}
		if c.head = s.next; c.head == nil {
			c.tail = nil
		}
		o.push(s)
	}
	end := c.ending(abort)
	more := !c.closed && end == nil && !o.empty()
	var dropped *Slot
	if c.closed || abort {
		dropped = o.drop()
	}
	c.busy = more
	c.mu.Unlock()
	releaseAll(gone, c.srv)
	releaseAll(dropped, c.srv)
	if end != nil {
		c.close(end)
	}
	return more
}

// settle takes sent answers out of the counts, and wakes the reader that waits for that. Under mu.
func (c *Conn) settle(slots, bytes int) {
	c.slots -= slots
	c.bytes -= bytes
	c.srv.budget.add(-bytes)
	if c.wake != nil && c.slots <= c.srv.opts.MaxPending/2 && c.bytes <= c.srv.opts.MaxPendingBytes/2 {
		close(c.wake)
		c.wake = nil
	}
}

// ending is the reason for which the connection ends now, all being sent, or nil. Under mu.
func (c *Conn) ending(abort bool) error {
	switch {
	case c.closed:
		return nil
	case abort:
		return ErrAborted
	case c.slots > 0:
		return nil
	case c.eof:
		return io.EOF
	case c.draining:
		return ErrShutdown
	}
	return nil
}

// sendNow sends without waiting, on whichever descriptor there is.
func (c *Conn) sendNow() error {
	c.fdmu.Lock()
	fd, sock := c.fd, c.sock
	if fd >= 0 {
		// Under fdmu gnet cannot close fd: loopGone takes it first.
		defer c.fdmu.Unlock()
		return c.step(fd, true)
	}
	c.fdmu.Unlock()
	switch {
	case c.wire != nil:
		return errHandOver
	case sock == nil:
		return net.ErrClosed
	}
	return sock.now(func(fd int) error { return c.step(fd, true) })
}

// handOver passes the write side to a goroutine that may wait. False: it could not, and the connection is closing.
func (c *Conn) handOver() bool {
	if c.wire == nil {
		if err := c.needSock(); err != nil {
			c.close(err)
			return false
		}
	}
	c.srv.writers.Add(1)
	go c.push()
	return true
}

// push sends what is ready, waiting for the peer and the disk, until nothing is.
func (c *Conn) push() {
	defer c.srv.writers.Done()
	for {
		var err error
		if c.wire != nil {
			err = c.copyOut(c.wire)
		} else {
			err = c.sock.wait(func(fd int) error { return c.step(fd, false) })
		}
		if err != nil {
			c.close(err)
		}
		if !c.refill() {
			return
		}
	}
}
