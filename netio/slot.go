package netio

import "sync"

// Part is a piece of an answer: bytes, or a range of a file.
type Part struct {
	Bytes    []byte // these bytes, where not nil
	Fd       int    // else Size bytes of descriptor Fd from Position
	Position int64
	Size     int
}

// Response is an answer. It belongs to netio until Release is called.
type Response struct {
	// Head is the answer's bytes up to the first part, with the four bytes of size at its start.
	Head []byte
	// Parts follow Head, in order.
	Parts []Part
	// Release, where not nil, is called once, when all was sent or when it was dropped because the connection closed;
	// from any goroutine, one that sends answers. It must not block.
	Release func()
}

// heap is the answer's memory in bytes, without file ranges.
func (r *Response) heap() int {
	n := len(r.Head)
	for i := range r.Parts {
		n += len(r.Parts[i].Bytes)
	}
	return n
}

type slotState uint8

const (
	free    slotState = iota // in the pool
	waiting                  // its frame is in the handler's hands
	ready                    // completed: to be sent
	skipped                  // completed: nothing to be sent
	aborted                  // completed: the connection ends here
)

// Slot is a frame's place in its connection's FIFO of answers. Exactly one of Complete, Skip and Abort is called on it,
// once, by any goroutine; after that it must not be touched.
type Slot struct {
	conn  *Conn
	next  *Slot
	state slotState // under conn.mu until it is out, then the write owner's
	bytes int       // what it counts towards the limits: first its frame, then its answer
	r     Response
}

// Conn is the slot's connection.
func (s *Slot) Conn() *Conn { return s.conn }

// Complete gives the answer.
func (s *Slot) Complete(r Response) { s.finish(ready, r) }

// Skip says that this frame gets no answer.
func (s *Slot) Skip() { s.finish(skipped, Response{}) }

// Abort closes the connection once the answers before this one have been sent.
func (s *Slot) Abort() { s.finish(aborted, Response{}) }

func (s *Slot) finish(state slotState, r Response) {
	c := s.conn
	heap := r.heap()
	c.mu.Lock()
	if s.state != waiting {
		c.mu.Unlock()
		panic("netio: slot completed twice")
	}
	s.state, s.r = state, r
	if c.closed {
		// The FIFO is gone, and its counts with it: this slot belongs to its completer alone.
		c.mu.Unlock()
		s.release(c.srv)
		return
	}
	c.srv.budget.add(heap - s.bytes)
	c.bytes += heap - s.bytes
	s.bytes = heap
	mine := !c.busy && c.head == s
	c.busy = c.busy || mine
	c.mu.Unlock()
	if mine {
		c.pump()
	}
}

// release ends the slot: its answer was sent or will never be.
func (s *Slot) release(srv *Server) {
	if s.r.Release != nil {
		s.r.Release()
	}
	srv.slots.put(s)
}

// slotPool recycles slots. In builds with the race detector it does not, so that a second completion of a slot is
// always found.
type slotPool struct{ pool sync.Pool }

func (p *slotPool) get(c *Conn, bytes int) *Slot {
	s, ok := p.pool.Get().(*Slot)
	if !ok {
		s = new(Slot)
	}
	s.conn, s.bytes, s.state = c, bytes, waiting
	return s
}

func (p *slotPool) put(s *Slot) {
	s.r, s.next, s.state = Response{}, nil, free
	if !raceEnabled {
		s.conn = nil
		p.pool.Put(s)
	}
}
