package netio

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Handler is what a Server serves. Calls for one connection never overlap: Opened, then Frame for each frame in the
// order of arrival, then Closed. They come from an event loop or the connection's goroutine and must not block.
type Handler interface {
	Opened(c *Conn)
	// Frame gets a frame's payload, which is valid during the call only, and the slot for its answer.
	Frame(c *Conn, payload []byte, s *Slot)
	// Closed comes once, after the last Frame. Slots that are not completed yet must still be.
	Closed(c *Conn, err error)
}

// Conn is a connection. Its methods may be called from any goroutine, unless they say otherwise.
//
// Lock order: fdmu and mu are never held together; the budget's lock comes last.
type Conn struct {
	srv      *Server
	listener *listener
	ip       netip.Addr
	remote   net.Addr
	local    net.Addr
	context  any

	limit atomic.Int64  // of the next frame's payload
	seen  atomic.Uint32 // the server's tick of the last whole frame or answer

	// The reader's own: the event loop's, then the goroutine's that the connection was moved to.
	split splitter
	held  int  // frames handed out since the reader took the write side; 0: it has not
	over  bool // reading has to stop: too much is pending, or memory is refused
	debt  bool // it may overdraw the budget
	deaf  bool // the server shuts down: what comes is thrown away
	moved bool // to a goroutine: gnet closing its side says nothing
	loop  int  // number of the event loop

	// fdmu guards descriptors against being closed (and the numbers used again) while somebody writes to them.
	fdmu sync.Mutex
	fd   int      // gnet's descriptor; -1 once gnet has closed its side, or where it never had one
	sock *sock    // duplicate of the descriptor, made when first needed
	dead bool     // shut down: no more duplicates
	raw  net.Conn // what wire is wrapped around
	wire net.Conn // what Listener.Wrap made; then neither fd nor sock is used

	mu         sync.Mutex
	head, tail *Slot
	slots      int  // slots not sent, those that are out included
	bytes      int  // what they count together
	busy       bool // somebody owns the write side
	reading    bool // a reader lives: it will call Handler.Closed
	closed     bool // nothing more is sent, the FIFO is empty
	eof        bool // the peer sends no more: close when nothing is pending
	draining   bool // the same, because the server shuts down
	opened     bool // Handler.Opened was called
	told       bool // Handler.Closed was called, or is about to be
	err        error
	wake       chan struct{} // where the goroutine reader waits for the FIFO to drain; nil: it does not

	out outgoing // the write owner's
}

// Listener is the name of the listener that accepted the connection.
func (c *Conn) Listener() string { return c.listener.Name }

// RemoteAddr is the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// LocalAddr is the address that the peer connected to.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// Context is what SetContext was given last. Both belong to the handler's calls: Opened, Frame and Closed.
func (c *Conn) Context() any { return c.context }

// SetContext keeps v with the connection. See Context.
func (c *Conn) SetContext(v any) { c.context = v }

// SetMaxFrame sets the limit of a frame's payload in bytes, from the next frame on.
func (c *Conn) SetMaxFrame(n int) { c.limit.Store(int64(n)) }

// Close closes the connection at once: answers that have not been sent are dropped.
func (c *Conn) Close() { c.close(ErrClosed) }

// NetConn is what Listener.Wrap made of the connection (a *tls.Conn, say), or nil.
func (c *Conn) NetConn() net.Conn { return c.wire }

func (c *Conn) touch() {
	if t := c.srv.tick.Load(); c.seen.Load() != t {
		c.seen.Store(t)
	}
}

// close ends the connection for the reason err; the first reason counts. Whoever reads calls Handler.Closed when it
// notices; where nobody reads any more, close does.
func (c *Conn) close(err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed, c.err = true, err
	dropped := c.head
	c.srv.budget.add(-c.bytes)
	c.head, c.tail, c.slots, c.bytes = nil, nil, 0, 0
	if c.wake != nil {
		close(c.wake)
		c.wake = nil
	}
	tell := !c.reading && !c.told
	c.told = c.told || tell
	// Slots that still wait are their completers' from here on; the ready ones are ours.
	var mine *Slot
	for s := dropped; s != nil; {
		next := s.next
		s.next = nil
		if s.state != waiting {
			s.next, mine = mine, s
		}
		s = next
	}
	c.mu.Unlock()
	releaseAll(mine, c.srv)
	c.cut()
	if tell {
		c.tell()
	}
}

// cut shuts the socket down, which ends whoever reads or waits to write.
func (c *Conn) cut() {
	c.fdmu.Lock()
	defer c.fdmu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	if c.fd >= 0 {
		shutdown(c.fd)
	}
	if c.sock != nil {
		c.sock.close()
	}
	if c.wire != nil {
		c.cutWire()
	}
}

// cutWire closes what Listener.Wrap made. An orderly end says goodbye (TLS: close_notify), which may wait for the peer,
// so a goroutine does it; any other cuts the connection below it first. Under fdmu.
func (c *Conn) cutWire() {
	if c.err != io.EOF && c.err != ErrAborted && c.err != ErrShutdown {
		_ = c.raw.Close()
	}
	c.srv.writers.Add(1)
	go func() {
		defer c.srv.writers.Done()
		_ = c.wire.Close() // its error is that the peer did not wait for the goodbye
	}()
}

// readerGone is called when the reader has ended, with its reason (io.EOF: the peer sends no more).
// What is pending may still be sent to a peer that has closed only its write side.
func (c *Conn) readerGone(err error) {
	c.split.drop(c)
	c.settleDebt()
	c.mu.Lock()
	c.reading = false
	if !c.closed && c.slots > 0 && errors.Is(err, io.EOF) {
		c.eof = true
		c.mu.Unlock()
		return
	}
	if !c.closed {
		c.mu.Unlock()
		c.close(err)
		return
	}
	tell := !c.told
	c.told = true
	c.mu.Unlock()
	c.cut()
	if tell {
		c.tell()
	}
}

// tell reports the end of the connection, once.
func (c *Conn) tell() {
	c.srv.forget(c, reasonOf(c.err))
	if c.opened {
		c.srv.handler.Closed(c, c.err)
	}
	c.srv.open.Done()
}
