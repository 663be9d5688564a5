package netio

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestShutdownLetsOutstandingAnswersGo(t *testing.T) {
	var slots []*Slot
	got := make(chan struct{}, 10)
	h := &handler{onFrame: func(_ *Conn, b []byte, s *Slot) { slots = append(slots, s); got <- struct{}{} }}
	srv, addr := serve(t, Options{Loops: 1}, h)
	busy, idle := dial(t, addr), dial(t, addr)
	for i := range 3 {
		_, _ = busy.Write(number(i))
		<-got
	}
	eventually(t, func() bool { return h.opened.Load() == 2 }, never) // the idle one may wait to be accepted yet
	done := make(chan error)
	go func() { done <- srv.Shutdown(context.Background()) }()
	if _, err := idle.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection with nothing pending: %v", err)
	}
	if nc, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		nc.Close()
		t.Error("a connection was accepted")
	}
	eventually(t, func() bool { return draining(srv) }, never)
	// What comes now is not answered, and is not in the way either.
	_, _ = busy.Write(append(number(3), make([]byte, 1<<20)...))
	for i := len(slots) - 1; i >= 0; i-- {
		slots[i].Complete(Response{Head: frame([]byte{byte(i)})})
	}
	for i := range 3 {
		if b := readFrame(t, busy); int(b[0]) != i {
			t.Errorf("answer %d is %d", i, b[0])
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if h.opened.Load() != 2 || h.closed.Load() != 2 {
		t.Errorf("%d opened, %d closed", h.opened.Load(), h.closed.Load())
	}
}

func draining(s *Server) bool {
	for _, c := range s.all() {
		c.mu.Lock()
		ok := c.draining
		c.mu.Unlock()
		if !ok {
			return false
		}
	}
	return true
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	got := make(chan *Slot, 1)
	closed := make(chan error, 1)
	srv, addr := serve(t, Options{}, &handler{
		onFrame:  func(_ *Conn, _ []byte, s *Slot) { got <- s },
		onClosed: func(_ *Conn, err error) { closed <- err },
	})
	nc := dial(t, addr)
	_, _ = nc.Write(number(1))
	s := <-got
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-closed; !errors.Is(err, ErrShutdown) {
		t.Error(err)
	}
	// The handler is late; nothing is left that it could harm.
	released := false
	s.Complete(Response{Head: frame(nil), Release: func() { released = true }})
	if !released || srv.Stats().Memory != 0 {
		t.Error("a late answer was not released")
	}
}

func TestAPanicOfTheHandlerCostsItsConnectionOnly(t *testing.T) {
	closed := make(chan error, 1)
	_, addr := serve(t, Options{Loops: 1}, &handler{
		onFrame: func(_ *Conn, b []byte, s *Slot) {
			if len(b) == 13 {
				panic("thirteen")
			}
			s.Complete(Response{Head: frame(b)})
		},
		onClosed: func(_ *Conn, err error) { closed <- err },
	})
	good, bad := dial(t, addr), dial(t, addr)
	_, _ = bad.Write(frame(make([]byte, 13)))
	if err := <-closed; !errors.Is(err, ErrPanic) {
		t.Error(err)
	}
	_, _ = good.Write(number(1))
	readFrame(t, good)
}

func TestCloseFromAnywhereEndsAConnection(t *testing.T) {
	conns := make(chan *Conn, 1)
	closed := make(chan error, 1)
	srv, addr := serve(t, Options{}, &handler{
		onOpen:   func(c *Conn) { c.SetContext("mine"); conns <- c },
		onClosed: func(c *Conn, err error) { closed <- err },
	})
	nc := dial(t, addr)
	c := <-conns
	if c.Listener() != "PLAIN" || c.Context() != "mine" || c.RemoteAddr().String() != nc.LocalAddr().String() ||
		c.LocalAddr().String() != addr {
		t.Errorf("%q %v %v %v", c.Listener(), c.Context(), c.RemoteAddr(), c.LocalAddr())
	}
	go c.Close()
	c.Close()
	if err := <-closed; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Error("open")
	}
	settled(t, srv)
}

// Completions, closes and new connections race for descriptor numbers: whoever writes to one that was closed
// would write into a connection that has the number now, and its client would see bytes that are not its own.
func TestNoAnswerGoesToAConnectionThatHasTheNumberOfAClosedOne(t *testing.T) {
	var late sync.WaitGroup
	srv, addr := serve(t, Options{MaxPending: 20}, &handler{onFrame: func(c *Conn, b []byte, s *Slot) {
		answer := frame(b)
		late.Go(func() {
			runtime.Gosched()
			s.Complete(Response{Head: answer})
			if answer[4+1]%16 == 0 {
				c.Close()
			}
		})
	}})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 150 {
				vanishing(t, addr, byte(w), byte(i))
			}
		})
	}
	wg.Wait()
	settled(t, srv)
	late.Wait()
}

// vanishing sends some frames that carry who, reads some of the answers and goes, one way or the other.
func vanishing(t *testing.T, addr string, who, round byte) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	for i := range 30 {
		_, _ = nc.Write(frame([]byte{who, round, byte(i), who ^ 0xff}))
	}
	for i := range int(round) % 31 {
		var b [8]byte
		if _, err := io.ReadFull(nc, b[:]); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			return
		}
		if b[4] != who || b[5] != round || b[6] != byte(i) || b[7] != who^0xff {
			t.Errorf("client %d round %d answer %d got %v", who, round, i, b)
		}
	}
	if round%3 == 0 {
		_ = nc.(*net.TCPConn).SetLinger(0)
	}
}
