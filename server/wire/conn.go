package wire

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/netio"
)

// A Conn is a client's connection: what of its requests runs, and what waits for its turn.
type Conn struct {
	nc    *netio.Conn
	table *Table
	stats *Stats // nil: nothing is counted
	log   *slog.Logger

	clientID *string // of the request before; whoever starts a request has it to himself

	mu      sync.Mutex
	waiting []waiting // in order; netio bounds their number and bytes
	first   *Request  // the one that others wait for: it has not started as a whole, or must be answered first
	running int       // requests that overlap and are not answered
	pumping bool      // somebody is in pump and will look again
	ended   bool      // nothing starts any more: the connection is closed, or will be after an answer
	closed  bool
	onClose map[*Request]func() // of requests that are not answered
}

// waiting is a frame whose turn has not come.
type waiting struct {
	frame []byte
	slot  *netio.Slot
}

// Server is the netio.Handler that serves a table.
type Server struct {
	Table *Table
	Log   *slog.Logger
	// Stats, where set, counts what is served.
	Stats *Stats
	// Setup, where set, is called for each new connection.
	Setup func(*netio.Conn)
}

// Opened implements netio.Handler.
func (s *Server) Opened(c *netio.Conn) {
	c.SetContext(&Conn{nc: c, table: s.Table, stats: s.Stats, log: s.Log})
	if s.Setup != nil {
		s.Setup(c)
	}
}

// Closed implements netio.Handler. Requests that wait do not start; those that run are answered into the void, or end as
// they said (Request.OnClose).
func (s *Server) Closed(nc *netio.Conn, _ error) {
	c := nc.Context().(*Conn)
	c.end()
	c.mu.Lock()
	todo := c.onClose
	c.onClose, c.closed = nil, true
	c.mu.Unlock()
	for _, f := range todo {
		f()
	}
}

// end keeps requests that have not started from ever doing so.
func (c *Conn) end() {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting, c.ended = nil, true
	c.mu.Unlock()
	for i := range waiting {
		waiting[i].slot.Skip()
	}
}

// Frame implements netio.Handler.
func (s *Server) Frame(nc *netio.Conn, frame []byte, slot *netio.Slot) {
	c := nc.Context().(*Conn)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		slot.Skip()
		return
	}
	if len(c.waiting) > 0 || c.pumping || !c.admits(frame) {
		c.waiting = append(c.waiting, waiting{bytes.Clone(frame), slot})
		c.mu.Unlock()
		c.pump()
		return
	}
	r := c.begin(frame, slot)
	c.mu.Unlock()
	c.start(r, frame)
}

// overlaps reports whether a frame's request may run beside others.
func (c *Conn) overlaps(frame []byte) bool {
	h, err := peek(frame)
	if err != nil {
		return false
	}
	e := c.table.byKey[h.key]
	return e != nil && e.Overlaps && h.version >= e.Min && h.version <= e.Max
}

// admits reports whether a request may start. c is locked.
func (c *Conn) admits(frame []byte) bool {
	return c.first == nil && (c.running == 0 || c.overlaps(frame))
}

// begin makes the request of a frame that starts. c is locked.
func (c *Conn) begin(frame []byte, slot *netio.Slot) *Request {
	r := &Request{conn: c, slot: slot, overlaps: c.overlaps(frame)}
	if r.overlaps {
		c.running++
	}
	c.first = r
	return r
}

// start parses a request and hands it to its handler.
func (c *Conn) start(r *Request, frame []byte) {
	if err := c.parse(r, frame); err != nil {
		r.Abort(err)
		return
	}
	if r.entry == nil {
		r.replyTooNew()
		return
	}
	apart := r.entry.Blocks || !r.overlaps && len(r.Body) > inlineBody
	if apart || !r.overlaps {
		r.Keep()
	}
	if apart {
		go c.serve(r)
		return
	}
	c.serve(r)
}

// serve runs the handler. One that panics loses its connection, not the process.
func (c *Conn) serve(r *Request) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "client", c.nc.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
			c.nc.Close()
		}
	}()
	overlaps := r.overlaps // r may be answered, and gone, when Serve returns
	if err := r.entry.Serve(r); err != nil {
		r.Abort(err)
		return
	}
	if overlaps && !r.held {
		c.started(r)
	}
}

// parse reads the header and finds the handler: none for an ApiVersions request in a version that is too new.
func (c *Conn) parse(r *Request, frame []byte) error {
	h, err := peek(frame)
	if err != nil {
		return err
	}
	r.Key, r.Version, r.correlation = h.key, h.version, h.correlation
	e := c.table.byKey[h.key]
	if e == nil {
		return fmt.Errorf("API key %d is not served", h.key)
	}
	if h.version < e.Min || h.version > e.Max {
		if h.key == apiVersions && h.version >= 0 {
			return nil
		}
		return fmt.Errorf("API key %d is served in versions %d to %d, not %d", h.key, e.Min, e.Max, h.version)
	}
	r.Body, err = h.rest(frame, h.version >= e.flexible, c.clientID)
	r.ClientID, r.entry = h.clientID, e
	if c.stats != nil {
		r.stats, r.began = c.stats.byKey[h.key], time.Now()
		r.stats.In.Add(int64(len(frame)) + 4)
	}
	c.clientID = h.clientID
	if !e.Overlaps && len(r.Body) > maxBody {
		return fmt.Errorf("%s of %d bytes, and at most %d are taken", kmsg.NameForKey(r.Key), len(r.Body), maxBody)
	}
	return err
}

// started ends the start of a request that overlaps.
func (c *Conn) started(r *Request) {
	c.mu.Lock()
	if c.first == r {
		c.first = nil
	}
	c.mu.Unlock()
	c.pump()
}

// finished ends a request that was answered. What may start then does so elsewhere: who answers may be a writer of the
// engine, or hold locks.
func (c *Conn) finished(r *Request) {
	c.mu.Lock()
	if r.overlaps {
		c.running--
	}
	if c.first == r {
		c.first = nil
	}
	if c.onClose != nil {
		delete(c.onClose, r)
	}
	next := !c.pumping && len(c.waiting) > 0 && c.admits(c.waiting[0].frame)
	c.mu.Unlock()
	if next {
		go c.pump()
	}
}

// pump starts the requests whose turn has come.
func (c *Conn) pump() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pumping {
		return
	}
	c.pumping = true
	for len(c.waiting) > 0 && c.admits(c.waiting[0].frame) {
		w := c.waiting[0]
		c.waiting[0] = waiting{}
		c.waiting = c.waiting[1:]
		r := c.begin(w.frame, w.slot)
		r.kept = true // the frame is a copy of ours
		c.mu.Unlock()
		c.start(r, w.frame)
		c.mu.Lock()
	}
	c.pumping = false
}
