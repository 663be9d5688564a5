package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/tests/raw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, raw.Leaks()...) }

// A rig is a server of a table, and a log of what it said.
type rig struct {
	t   *testing.T
	net *netio.Server
	log *raw.Log
}

func newRig(t *testing.T, handlers ...Handler) *rig {
	return newRigWith(t, netio.Options{}, handlers...)
}

func newRigWith(t *testing.T, o netio.Options, handlers ...Handler) *rig {
	t.Helper()
	return newRigServing(t, o, &Server{Table: NewTable(handlers...)})
}

func newRigServing(t *testing.T, o netio.Options, h *Server) *rig {
	t.Helper()
	r := &rig{t: t, log: new(raw.Log)}
	log := r.log.Logger()
	o.Loops, o.Logger = 1, log
	o.Listeners = []netio.Listener{{Name: "PLAINTEXT", Addr: "127.0.0.1:0"}}
	h.Log = log
	s, err := netio.Start(o, h)
	if err != nil {
		t.Fatal(err)
	}
	r.net = s
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return r
}

// A client is a connection that says what it likes.
type client struct {
	t *testing.T
	net.Conn
}

func (r *rig) dial() client {
	r.t.Helper()
	return client{r.t, raw.Dial(r.t, r.net.Addr()[0].String())}
}

// header is a request's start up to the client id, which is null.
func frameHeader(key, version int16, correlation int32) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(b, 0xff, 0xff)
}

func (c client) send(frames ...[]byte) {
	c.t.Helper()
	var b []byte
	for _, f := range frames {
		b = append(b, raw.Sized(f)...)
	}
	if err := raw.Write(c, b); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next answer, correlation id and what follows.
func (c client) receive() (int32, []byte) {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:]
}

func (c client) read() ([]byte, error) { return raw.Frame(c) }

// wantClosed checks that the server closes the connection, and says nothing before.
func (c client) wantClosed(what string) {
	c.t.Helper()
	raw.WantClosed(c.t, what, c)
}

// ask sends an ApiVersions request of version 0, and checks that it is answered: the connection lives.
func (c client) wantAlive(what string) {
	c.t.Helper()
	c.send(frameHeader(18, 0, 77))
	if id, _ := c.receive(); id != 77 {
		c.t.Fatalf("%s: the next request got the answer of %d", what, id)
	}
}

// answering is a handler that answers at once with an empty structure.
func answering(key int16) Handler {
	max := kmsg.RequestForKey(key).MaxVersion()
	return Handler{Key: key, Max: max, Serve: func(r *Request) error {
		req := kmsg.RequestForKey(r.Key)
		if err := r.Decode(req); err != nil {
			return err
		}
		r.Reply(req.ResponseKind())
		return nil
	}}
}

// gated is a handler whose requests are answered by the test.
func gated(key int16, overlaps bool) (Handler, <-chan *Request) {
	c := make(chan *Request, 1000)
	return Handler{Key: key, Max: 3, Overlaps: overlaps, Serve: func(r *Request) error {
		c <- r
		return nil
	}}, c
}

// answer answers with nothing but a header.
func answer(r *Request) {
	h := GetHead()
	h.B = r.AppendHeader(h.B)
	r.Send(netio.Response{Head: h.B, Release: h.Release})
}
