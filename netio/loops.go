package netio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// directRead is from how many missing bytes on a frame is read straight to where it belongs, past gnet's buffer; and
// directTurn how many bytes a connection may read so before it is the others' turn.
const (
	directRead = 16 << 10
	directTurn = 1 << 20
)

// loops is gnet's side: an engine without listeners, whose loops take connections that were accepted elsewhere.
type loops struct {
	gnet.BuiltinEventEngine
	srv    *Server
	client *gnet.Client
	loop   []gnet.EventLoop
	count  []atomic.Int64 // connections assigned to each
}

// startLoops starts the event loops and learns their handles, which gnet gives out through connections only: one end
// of a socket pair is put on each, and taken off again.
func startLoops(srv *Server) (*loops, error) {
	l := &loops{srv: srv, count: make([]atomic.Int64, srv.opts.Loops)}
	var err error
	l.client, err = gnet.NewClient(l,
		gnet.WithNumEventLoop(srv.opts.Loops),
		gnet.WithReadBufferCap(srv.opts.ReadBuffer),
		gnet.WithWriteBufferCap(1<<10), // never used: all writing is ours
		gnet.WithLogger(gnetLogger{srv.opts.Logger}))
	if err != nil {
		return nil, fmt.Errorf("event loops: %w", err)
	}
	if err := l.client.Start(); err != nil {
		return nil, fmt.Errorf("start %d event loops: %w", srv.opts.Loops, err)
	}
	var probes []gnet.Conn
	for range srv.opts.Loops {
		var p gnet.Conn
		if p, err = l.probe(); err != nil {
			break
		}
		probes = append(probes, p)
		l.loop = append(l.loop, p.EventLoop())
	}
	for _, p := range probes {
		_ = p.Close()
	}
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("event loops: %w", err)
	}
	return l, nil
}

// probe puts one end of a socket pair on the loop with the fewest connections: the next one that has none.
func (l *loops) probe() (gnet.Conn, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	far, near := os.NewFile(uintptr(pair[0]), "pair"), os.NewFile(uintptr(pair[1]), "pair")
	defer far.Close()
	defer near.Close()
	nc, err := net.FileConn(near)
	if err != nil {
		return nil, err
	}
	return l.client.EnrollContext(nc, nil)
}

func (l *loops) stop() { _ = l.client.Stop() }

// enroll gives an accepted connection to the loop that has the fewest. It waits for the loop.
func (l *loops) enroll(c *Conn, nc net.Conn) error {
	n := 0
	for i := range l.count {
		if l.count[i].Load() < l.count[n].Load() {
			n = i
		}
	}
	l.count[n].Add(1)
	c.loop = n
	done, err := l.loop[n].Enroll(gnet.NewContext(context.Background(), c), nc)
	if err != nil {
		nc.Close()
		return err
	}
	if r := <-done; r.Err != nil {
		nc.Close()
		return r.Err
	}
	return nil
}

// OnOpen runs on the loop when the connection was put on it.
func (l *loops) OnOpen(gc gnet.Conn) ([]byte, gnet.Action) {
	c, ok := gc.Context().(*Conn)
	if !ok {
		return nil, gnet.None // a probe
	}
	c.fdmu.Lock()
	c.fd = gc.Fd()
	dead := c.dead
	c.fdmu.Unlock()
	c.open()
	if dead {
		return nil, gnet.Close
	}
	return nil, gnet.None
}

// OnTraffic runs on the loop when bytes have come. They are all taken, so gnet's own buffer stays empty and frames lie
// in the loop's buffer in one piece.
func (l *loops) OnTraffic(gc gnet.Conn) gnet.Action {
	c, ok := gc.Context().(*Conn)
	if !ok {
		return gnet.None
	}
	if c.deaf {
		_, _ = gc.Discard(-1)
		return gnet.None
	}
	in, err := gc.Peek(-1)
	if err != nil {
		c.close(err)
		return gnet.Close
	}
	rest, err := c.feed(in)
	if err == nil && !c.over {
		_, _ = gc.Discard(-1)
		err = c.readDirect()
		rest = nil
	}
	switch {
	case err != nil:
		c.close(err)
		return gnet.Close
	case c.over:
		action := c.leaveLoop(rest)
		_, _ = gc.Discard(-1)
		return action
	}
	return gnet.None
}

// readDirect reads the rest of a large frame to where it belongs. The end of the stream is left for gnet to find.
func (c *Conn) readDirect() error {
	for turn := 0; turn < directTurn && c.split.missing() >= directRead; {
		spare := c.split.spare(c)
		if spare == nil {
			return nil
		}
		n, err := unix.Read(c.fd, spare)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || n == 0:
			return nil
		case err != nil:
			return os.NewSyscallError("read", err)
		}
		c.split.took(n)
		turn += n
		if c.split.missing() == 0 {
			_, err := c.feed(nil)
			return err
		}
		if n < len(spare) {
			return nil
		}
	}
	return nil
}

// leaveLoop moves the connection, with the bytes that were read and not taken, to a goroutine, since gnet cannot stop
// reading; or ends it where it is closing anyway.
func (c *Conn) leaveLoop(rest []byte) gnet.Action {
	c.mu.Lock()
	stay := c.closed || c.draining
	closed := c.closed
	c.mu.Unlock()
	if stay {
		if closed {
			return gnet.Close
		}
		c.deaf = true
		return gnet.None
	}
	if err := c.needSock(); err != nil {
		c.close(err)
		return gnet.Close
	}
	c.srv.opts.Logger.Debug("connection left its event loop", "remote", c.remote)
	c.srv.stats.moved.Add(1)
	c.moved = true
	c.srv.readers.Add(1)
	go c.readAll(c.sock, append([]byte(nil), rest...))
	return gnet.Close
}

// OnClose runs on the loop before gnet closes its descriptor: from here on nobody may use it.
func (l *loops) OnClose(gc gnet.Conn, err error) gnet.Action {
	c, ok := gc.Context().(*Conn)
	if !ok {
		return gnet.None
	}
	l.count[c.loop].Add(-1)
	if err == nil || errors.Is(err, io.EOF) {
		err = io.EOF
		if c.pending() {
			_ = c.needSock() // without it what is pending is lost, and closes the connection
		}
	}
	c.fdmu.Lock()
	c.fd = -1
	c.fdmu.Unlock()
	if !c.moved {
		c.readerGone(err)
	}
	return gnet.None
}

// gnetLogger writes what gnet has to say, which is about defects, to ours.
type gnetLogger struct{ l *slog.Logger }

func (g gnetLogger) Debugf(string, ...any)             {}
func (g gnetLogger) Infof(string, ...any)              {}
func (g gnetLogger) Warnf(format string, args ...any)  { g.l.Warn(fmt.Sprintf(format, args...)) }
func (g gnetLogger) Errorf(format string, args ...any) { g.l.Error(fmt.Sprintf(format, args...)) }
func (g gnetLogger) Fatalf(format string, args ...any) { g.l.Error(fmt.Sprintf(format, args...)) }
