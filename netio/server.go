package netio

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Server is a set of listeners, their connections and the event loops that these run on.
type Server struct {
	opts    Options
	handler Handler
	loops   *loops

	budget   *budget
	bufs     buffers
	slots    slotPool
	disks    disks
	nowheres nowheres
	tick     atomic.Uint32 // see watch
	stats    counters

	listeners []*listener
	acceptors sync.WaitGroup
	readers   sync.WaitGroup  // goroutine transports
	writers   sync.WaitGroup  // goroutines that send
	open      sync.WaitGroup  // connections that have been admitted and not told of their end
	accepting context.Context // ends when the listeners are closed
	stop      context.CancelFunc
	rate      *rate.Limiter // of connections

	mu struct {
		sync.Mutex
		stopping    bool
		limits      Limits
		conns       map[*Conn]struct{}
		perIP       map[netip.Addr]int
		perListener map[string]int
	}
	shutdown sync.Once
}

// Start listens on all addresses and serves them. When one cannot be listened on, none is.
func Start(opts Options, h Handler) (*Server, error) {
	s := &Server{opts: opts.withDefaults(), handler: h, rate: rate.NewLimiter(rate.Inf, 0)}
	s.accepting, s.stop = context.WithCancel(context.Background())
	s.mu.conns = map[*Conn]struct{}{}
	s.mu.perIP = map[netip.Addr]int{}
	s.mu.perListener = map[string]int{}
	s.SetLimits(s.opts.Limits)
	s.budget = newBudget(s.opts.Memory)
	s.disks.places = s.opts.DiskReads
	if err := s.listen(); err != nil {
		return nil, err
	}
	var err error
	if s.loops, err = startLoops(s); err != nil {
		s.closeListeners()
		return nil, err
	}
	for _, l := range s.listeners {
		s.acceptors.Add(1)
		go s.accept(l)
	}
	s.acceptors.Add(1)
	go s.watch()
	return s, nil
}

// Addr is where the server listens, in the order of Options.Listeners.
func (s *Server) Addr() []net.Addr {
	var a []net.Addr
	for _, l := range s.listeners {
		a = append(a, l.ln.Addr())
	}
	return a
}

// Shutdown stops accepting connections and frames, lets the answers of the frames that were accepted go, closes the
// connections, and returns once every Handler.Closed has returned. When ctx ends first, it closes them as they are
// and returns ctx's error. Only the first call does anything.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	s.shutdown.Do(func() { err = s.end(ctx) })
	return err
}

func (s *Server) end(ctx context.Context) error {
	s.mu.Lock()
	s.mu.stopping = true
	s.mu.Unlock()
	s.closeListeners()
	s.acceptors.Wait()
	for _, c := range s.all() {
		c.drain()
	}
	var err error
	done := make(chan struct{})
	go func() { s.open.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("shut down with %d connections open: %w", len(s.all()), ctx.Err())
		for _, c := range s.all() {
			c.close(fmt.Errorf("%w and cannot wait", ErrShutdown))
		}
		<-done
	}
	s.readers.Wait()
	s.writers.Wait()
	s.loops.stop()
	return err
}

// drain ends the connection once nothing is pending; it hands out no more frames.
func (c *Conn) drain() {
	c.mu.Lock()
	c.draining = true
	idle := c.slots == 0 && !c.busy
	c.mu.Unlock()
	if idle {
		c.close(ErrShutdown)
	}
}

func (c *Conn) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots > 0 && !c.closed
}

func (s *Server) all() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.mu.conns))
	for c := range s.mu.conns {
		all = append(all, c)
	}
	return all
}
