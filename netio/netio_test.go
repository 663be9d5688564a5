package netio

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zurau/zurau/tests/raw"
)

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		benchServer()
		return
	}
	goleak.VerifyTestMain(m, raw.Leaks()...)
}

// handler is a Handler made of functions. A nil onFrame echoes.
type handler struct {
	onFrame        func(c *Conn, b []byte, s *Slot)
	onOpen         func(c *Conn)
	onClosed       func(c *Conn, err error)
	opened, closed atomic.Int64
}

func (h *handler) Opened(c *Conn) {
	h.opened.Add(1)
	if h.onOpen != nil {
		h.onOpen(c)
	}
}

func (h *handler) Frame(c *Conn, b []byte, s *Slot) {
	if h.onFrame != nil {
		h.onFrame(c, b, s)
		return
	}
	s.Complete(Response{Head: frame(b)})
}

func (h *handler) Closed(c *Conn, err error) {
	h.closed.Add(1)
	if h.onClosed != nil {
		h.onClosed(c, err)
	}
}

// frame is payload with its size before it.
func frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// serve starts a server on a free port that the test shuts down.
func serve(t testing.TB, o Options, h Handler) (*Server, string) {
	t.Helper()
	if o.Listeners == nil {
		o.Listeners = []Listener{{Name: "PLAIN", Addr: "127.0.0.1:0"}}
	}
	s, err := Start(o, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
	})
	return s, s.Addr()[0].String()
}

func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	// A test that would hang fails instead.
	_ = nc.SetDeadline(time.Now().Add(60 * time.Second))
	return nc.(*net.TCPConn)
}

// readFrame reads an answer's payload.
func readFrame(t testing.TB, r io.Reader) []byte {
	t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		t.Fatal("answer's size: ", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal("answer: ", err)
	}
	return b
}

func TestFramesAreAnswered(t *testing.T) {
	h := &handler{}
	_, addr := serve(t, Options{}, h)
	nc := dial(t, addr)
	for _, size := range []int{1, 100, 4000, 70_000, 300_000, 3_000_000} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i * 7)
		}
		go func() { _, _ = nc.Write(frame(b)) }()
		if got := readFrame(t, nc); string(got) != string(b) {
			t.Fatalf("%d bytes came back as %d others", size, len(got))
		}
	}
}

func TestASmallRequestAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("slots are not used again under the race detector")
	}
	answer := frame(make([]byte, 36))
	_, addr := serve(t, Options{Loops: 1}, &handler{onFrame: func(_ *Conn, _ []byte, s *Slot) {
		s.Complete(Response{Head: answer})
	}})
	nc := dial(t, addr)
	request, buf := number(1), make([]byte, len(answer))
	n := testing.AllocsPerRun(2000, func() {
		_, _ = nc.Write(request)
		_, _ = io.ReadFull(nc, buf)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
