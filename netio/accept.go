package netio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type listener struct {
	Listener
	ln net.Listener
}

// listen opens every listener. The keep-alive finds peers that are gone without a word within two minutes or so.
func (s *Server) listen() error {
	lc := net.ListenConfig{Control: s.setBuffers, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}}
	lc.SetMultipathTCP(false)
	for _, o := range s.opts.Listeners {
		ln, err := lc.Listen(context.Background(), "tcp", o.Addr)
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("listener %q: %w", o.Name, err)
		}
		s.listeners = append(s.listeners, &listener{Listener: o, ln: ln})
	}
	return nil
}

// setBuffers sets the buffers of a listening socket, which its connections inherit. A receive buffer that is set on a connection
// is set too late: the peer has been told of a larger window, and what it sends beyond the buffer is dropped, with the
// acknowledgements in it. Two peers that both send can so keep each other waiting for minutes.
func (s *Server) setBuffers(_, _ string, raw syscall.RawConn) error {
	var err error
	cerr := raw.Control(func(fd uintptr) {
		if n := s.opts.SocketSend; n > 0 {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, n)
		}
		if n := s.opts.SocketReceive; n > 0 && err == nil {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, n)
		}
	})
	return errors.Join(cerr, err)
}

func (s *Server) closeListeners() {
	s.stop()
	for _, l := range s.listeners {
		_ = l.ln.Close()
	}
}

// accept takes connections until the listener is closed. Where the process or the machine is out of something, it
// waits and tries again: what there is goes on being served.
func (s *Server) accept(l *listener) {
	defer s.acceptors.Done()
	var pause time.Duration
	for {
		if s.rate.Wait(s.accepting) != nil {
			return
		}
		nc, err := l.ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(l, nc)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, unix.ECONNABORTED):
			continue
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.opts.Logger.Error("accept failed", "listener", l.Name, "error", err, "again in", pause)
		select {
		case <-time.After(pause):
		case <-s.accepting.Done():
			return
		}
	}
}

// admit makes a connection of nc, or closes it where there are too many.
func (s *Server) admit(l *listener, nc net.Conn) {
	c := &Conn{srv: s, listener: l, fd: -1, reading: true, remote: nc.RemoteAddr(), local: nc.LocalAddr()}
	c.split.bufs = &s.bufs
	c.limit.Store(int64(s.opts.MaxFrame))
	c.seen.Store(s.tick.Load())
	if a, ok := c.remote.(*net.TCPAddr); ok {
		c.ip = a.AddrPort().Addr().Unmap()
	}
	if !s.remember(c) {
		nc.Close()
		return
	}
	s.tune(nc)
	if l.Wrap != nil {
		w := l.Wrap(nc)
		c.fdmu.Lock()
		if c.raw, c.wire = nc, w; c.dead {
			nc.Close()
		}
		c.fdmu.Unlock()
		s.readers.Add(1)
		go func() {
			c.open()
			c.readAll(c.wire, nil)
		}()
		return
	}
	s.acceptors.Add(1)
	go func() {
		defer s.acceptors.Done()
		if err := s.loops.enroll(c, nc); err != nil || !c.enrolled() {
			c.readerGone(fmt.Errorf("event loop refused the connection: %w", errors.Join(err, unix.ENOSPC)))
		}
	}()
}

// enrolled says whether the loop has taken the connection (and perhaps ended it already).
func (c *Conn) enrolled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened
}

// open tells the handler of the connection.
func (c *Conn) open() {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
	c.srv.handler.Opened(c)
}

func (s *Server) tune(nc net.Conn) {
	t, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	unpace(t)
}

// unpace takes the pacing off a connection within the machine. BBR, which is the default of some hosts, spaces segments by
// timers to what it believes the path takes: between two processes of one machine there is no path, and the timers cost
// more than the bytes. Reno has none, every kernel has it, and any user may ask for it. An error leaves it as it was.
func unpace(t *net.TCPConn) {
	here, okHere := t.LocalAddr().(*net.TCPAddr)
	there, okThere := t.RemoteAddr().(*net.TCPAddr)
	if !okHere || !okThere || !there.IP.IsLoopback() && !there.IP.Equal(here.IP) {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	})
}

// remember counts a connection in, unless it is one too many.
func (s *Server) remember(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.stopping:
		return false
	case s.full(c):
		s.stats.closed[ByLimit].Add(1)
		return false
	}
	s.mu.conns[c] = struct{}{}
	s.mu.perIP[c.ip]++
	s.mu.perListener[c.listener.Name]++
	s.stats.accepted.Add(1)
	s.stats.now.Add(1)
	s.open.Add(1)
	return true
}

// forget counts it out.
func (s *Server) forget(c *Conn, why Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.conns, c)
	s.mu.perListener[c.listener.Name]--
	if s.mu.perIP[c.ip]--; s.mu.perIP[c.ip] == 0 {
		delete(s.mu.perIP, c.ip)
	}
	s.stats.closed[why].Add(1) // first: who sees one connection less may ask why
	s.stats.now.Add(-1)
}
