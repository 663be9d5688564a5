package netio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAFrameSizeOutOfRangeClosesAtOnce(t *testing.T) {
	closed := make(chan error, 1)
	srv, addr := serve(t, Options{MaxFrame: 512 << 10}, &handler{onClosed: func(_ *Conn, err error) { closed <- err }})
	for _, b := range [][]byte{
		{0, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff},
		{0x80, 0, 0, 0},
		{0x7f, 0xff, 0xff, 0xff},
		{0, 8, 0, 1},
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
	} {
		nc := dial(t, addr)
		_, _ = nc.Write(b)
		if n, err := nc.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%x: the connection is open", b)
		}
		if err := <-closed; !errors.Is(err, ErrFrameSize) {
			t.Errorf("%x: closed for %v", b, err)
		}
	}
	settled(t, srv)
	if got := srv.Stats().Closed[BySize]; got != 7 {
		t.Errorf("%d counted", got)
	}
}

func TestTheHandlerRaisesTheFrameLimit(t *testing.T) {
	h := &handler{onFrame: func(c *Conn, b []byte, s *Slot) {
		c.SetMaxFrame(1 << 20)
		s.Complete(Response{Head: frame(b[:1])})
	}}
	_, addr := serve(t, Options{MaxFrame: 1000}, h)
	nc := dial(t, addr)
	// Both in one go: the limit holds from the next frame on, not from the next read.
	_, _ = nc.Write(append(frame(make([]byte, 1000)), frame(make([]byte, 1<<20))...))
	readFrame(t, nc)
	readFrame(t, nc)
}

func TestMemoryFollowsTheBytesThatArriveNotTheAnnouncedSize(t *testing.T) {
	srv, addr := serve(t, Options{}, &handler{})
	for range 20 {
		nc := dial(t, addr)
		_, _ = nc.Write(append([]byte{6, 0, 0, 0}, make([]byte, 100)...)) // announces 96 MiB
	}
	eventually(t, func() bool { return srv.Stats().Memory >= 20*104 }, never)
	if m := srv.Stats().Memory; m > 20<<10 {
		t.Errorf("%d bytes for 20 frames of 104 bytes so far", m)
	}
}

func TestAFrameSentByteByByteDoesNotKeepAConnectionAlive(t *testing.T) {
	closed := make(chan error, 1)
	srv, addr := serve(t, Options{IdleTimeout: 200 * time.Millisecond}, &handler{onClosed: func(_ *Conn, err error) { closed <- err }})
	nc := dial(t, addr)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for _, b := range frame(make([]byte, 1<<20)) {
			if _, err := nc.Write([]byte{b}); err != nil {
				return
			}
			<-tick.C
		}
	}()
	if err := <-closed; !errors.Is(err, ErrIdle) {
		t.Fatalf("closed for %v", err)
	}
	settled(t, srv)
}

func TestAReaderThatIsDeadIsIdleHoweverMuchItWasGiven(t *testing.T) {
	closed := make(chan error, 1)
	released := make(chan struct{}, 1)
	f, _ := randomFile(t, 64<<20)
	srv, addr := serve(t, Options{IdleTimeout: 100 * time.Millisecond}, &handler{
		onClosed: func(_ *Conn, err error) { closed <- err },
		onFrame: func(_ *Conn, b []byte, s *Slot) {
			s.Complete(Response{
				Head:    []byte{4, 0, 0, 0},
				Parts:   []Part{{Fd: int(f.Fd()), Size: 64 << 20}},
				Release: func() { released <- struct{}{} },
			})
		},
	})
	_, _ = dial(t, addr).Write(number(1))
	if err := <-closed; !errors.Is(err, ErrIdle) {
		t.Errorf("closed for %v", err)
	}
	<-released
	settled(t, srv)
}

// Clients come, send a frame and a half, and go; some were moved, some have answers outstanding.
func TestDescriptorsDoNotGrow(t *testing.T) {
	srv, addr := serve(t, Options{MaxPending: 4}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		answer := frame(b)
		go s.Complete(Response{Head: answer})
	}})
	var base int
	for round := range 4 {
		for i := range 100 {
			nc := dial(t, addr)
			for j := range i % 10 {
				_, _ = nc.Write(number(j))
			}
			_, _ = nc.Write(number(3)[:6])
			nc.Close()
		}
		settled(t, srv)
		if round == 0 {
			base = descriptors(t)
			continue
		}
		eventually(t, func() bool { return descriptors(t) <= base }, func() string {
			return fmt.Sprintf("round %d: %d descriptors, %d after the first", round, descriptors(t), base)
		})
	}
}

func descriptors(t *testing.T) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func TestConnectionsOverTheLimitsAreClosed(t *testing.T) {
	here := netip.MustParseAddr("127.0.0.1")
	for name, l := range map[string]Limits{
		"in all":             {Connections: 3},
		"per listener":       {PerListener: map[string]int{"PLAIN": 3, "other": -1}},
		"per ip":             {PerIP: 3},
		"an ip's own, lower": {PerIP: 9, ByIP: map[netip.Addr]int{here: 3}},
		"an ip's own":        {PerIP: -1, ByIP: map[netip.Addr]int{here: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			srv, addr := serve(t, Options{Limits: l}, &handler{})
			var good []*net.TCPConn
			for range 3 {
				nc := dial(t, addr)
				_, _ = nc.Write(number(1))
				readFrame(t, nc)
				good = append(good, nc)
			}
			nc := dial(t, addr)
			if _, err := nc.Read(make([]byte, 1)); err == nil {
				t.Fatal("one too many was served")
			}
			if srv.Stats().Closed[ByLimit] != 1 {
				t.Error("not counted")
			}
			// A place that comes free is given to the next one.
			good[0].Close()
			eventually(t, func() bool { return srv.Stats().Connections < 3 }, never)
			nc = dial(t, addr)
			_, _ = nc.Write(number(2))
			readFrame(t, nc)
		})
	}
}

// On the listening socket: a receive buffer that is set on a connection comes after its window was told.
func TestSocketBuffersAreThoseOfTheListener(t *testing.T) {
	srv, _ := serve(t, Options{SocketSend: 50_000, SocketReceive: 40_000}, &handler{})
	raw, err := srv.listeners[0].ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{unix.SO_SNDBUF: 100_000, unix.SO_RCVBUF: 80_000} { // the kernel doubles them: socket(7)
		if err := raw.Control(func(fd uintptr) {
			if got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option); err != nil || got != want {
				t.Errorf("option %d is %d, want %d: %v", option, got, want, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Those that were let in stay, and count.
func TestLimitsChangeForTheNextConnection(t *testing.T) {
	srv, addr := serve(t, Options{}, &handler{})
	served := func() bool {
		nc := dial(t, addr)
		_, _ = nc.Write(number(1))
		_, err := nc.Read(make([]byte, 1))
		return err == nil
	}
	if first, second := served(), served(); !first || !second {
		t.Fatal("without a limit")
	}
	for i, c := range []struct {
		limits Limits
		want   bool
	}{
		{Limits{PerIP: 2}, false}, {Limits{PerIP: 3}, true}, {Limits{Connections: 3}, false}, {Limits{Connections: -1}, false},
		{Limits{PerListener: map[string]int{"PLAIN": 3}}, false}, {Limits{}, true},
	} {
		srv.SetLimits(c.limits)
		if served() != c.want {
			t.Errorf("%d: with %+v: served is %v", i, c.limits, !c.want)
		}
	}
}

func TestConnectionsBeyondARateWait(t *testing.T) {
	srv, addr := serve(t, Options{Limits: Limits{PerSecond: 4}}, &handler{})
	began := time.Now()
	for range 7 {
		nc := dial(t, addr)
		_, _ = nc.Write(number(1))
		readFrame(t, nc)
	}
	// Four at once, and three more with a quarter of a second before each: a floor, which no load breaks.
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("seven connections, four a second, in %v", took)
	}
	if srv.Stats().Closed[ByLimit] != 0 {
		t.Error("one was refused")
	}
	srv.SetLimits(Limits{})
	nc := dial(t, addr)
	_, _ = nc.Write(number(1))
	readFrame(t, nc)
}

func TestAClientThatNeverReadsCostsLittleAndOthersAreServed(t *testing.T) {
	const answer = 10_000
	live := sync.Map{} // answers in memory
	h := &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		head := make([]byte, answer)
		binary.BigEndian.PutUint32(head, answer-4)
		live.Store(s, nil)
		s.Complete(Response{Head: head, Release: func() { live.Delete(s) }})
	}}
	srv, addr := serve(t, Options{MaxPending: 100, MaxPendingBytes: 1 << 20}, h)
	nc := dial(t, addr)
	_ = nc.SetReadBuffer(64 << 10)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 10_000 {
			if _, err := nc.Write(number(i)); err != nil {
				return
			}
		}
	}()
	eventually(t, func() bool { return srv.Stats().Moved == 1 }, never)
	other := dial(t, addr)
	for i := range 1000 {
		_, _ = other.Write(number(i))
		readFrame(t, other)
	}
	if m := srv.Stats().Memory; m > 3<<20 {
		t.Errorf("%d bytes held", m)
	}
	// And it gets its answers if it reads after all.
	for range 10_000 {
		readFrame(t, nc)
	}
	<-written
	nc.Close()
	other.Close()
	settled(t, srv)
	eventually(t, func() bool {
		n := 0
		live.Range(func(any, any) bool { n++; return true })
		return n == 0
	}, never)
}

func TestFramesWaitForTheMemoryBudgetAndAllArrive(t *testing.T) {
	srv, addr := serve(t, Options{Memory: 300 << 10}, &handler{})
	b := frame(make([]byte, 200<<10))
	half := len(b) / 2
	var conns []*net.TCPConn
	for range 8 {
		nc := dial(t, addr)
		conns = append(conns, nc)
		_, _ = nc.Write(b[:half])
	}
	// All the budget belongs to frames that are half there: one has to be let through, then the next.
	eventually(t, func() bool { return srv.Stats().Moved > 0 }, never)
	var wg sync.WaitGroup
	for _, nc := range conns {
		wg.Go(func() {
			defer nc.Close()
			_, _ = nc.Write(b[half:])
			if _, err := io.ReadFull(nc, make([]byte, len(b))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	settled(t, srv)
}

// Requests that wait for something that hangs have all of the budget, and their connections have sent more. Whoever wants something else is served.
func TestRequestsThatHangLeaveTheMemoryOfOneToEachOther(t *testing.T) {
	var mu sync.Mutex
	var hang []*Slot
	h := &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		if b[0] == 'H' {
			mu.Lock()
			defer mu.Unlock()
			hang = append(hang, s)
			return
		}
		s.Complete(Response{Head: frame([]byte("served"))})
	}}
	srv, addr := serve(t, Options{Memory: 300 << 10, MaxPending: 100}, h)
	large := frame(bytes.Repeat([]byte("H"), 200<<10))
	const behind = 1000 // the end of a frame, which arrives together with the next one's beginning
	var conns []*net.TCPConn
	for range 6 {
		nc := dial(t, addr)
		conns = append(conns, nc)
		_, _ = nc.Write(large[:len(large)-behind])
	}
	eventually(t, func() bool { return srv.Stats().Moved >= 4 }, never)
	var sending sync.WaitGroup
	for _, nc := range conns {
		sending.Go(func() {
			_, _ = nc.Write(slices.Concat(large[len(large)-behind:], large, large)) // until the server is gone
		})
	}
	eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(hang) >= 6 }, never)
	for range 5 {
		nc := dial(t, addr)
		b := frame(bytes.Repeat([]byte("S"), 100<<10))
		_, _ = nc.Write(b)
		if got := readFrame(t, nc); string(got) != "served" {
			t.Errorf("answered %q", got)
		}
	}
	mu.Lock()
	if n := len(hang); n > 6+2 {
		t.Errorf("%d requests are in work: more than one of each connection beyond the budget", n)
	}
	mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = srv.Shutdown(ctx)
	sending.Wait()
}

func TestTheSecondListenerOnAPortFails(t *testing.T) {
	srv, addr := serve(t, Options{}, &handler{})
	if _, err := Start(Options{Listeners: []Listener{{Addr: "127.0.0.1:0"}, {Name: "B", Addr: addr}}}, &handler{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Fatal("two servers on one port: ", err)
	}
	_ = srv.Shutdown(t.Context())
	again, err := Start(Options{Listeners: []Listener{{Name: "B", Addr: addr}}}, &handler{})
	if err != nil {
		t.Fatal("a restart cannot bind: ", err)
	}
	_ = again.Shutdown(t.Context())
}
