package raw

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience is how long a call waits for the other side: a test that hangs says where.
const patience = 30 * time.Second

// correlation is in every request that Send makes.
const correlation = 7

// Dial connects, until the test ends.
func Dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Send sends a request.
func Send(t testing.TB, c net.Conn, req kmsg.Request) {
	t.Helper()
	if err := Write(c, Request(req)); err != nil {
		t.Fatal(err)
	}
}

// Request returns the frame of a request, with its size.
func Request(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, correlation)
}

// Receive returns the next answer, which is that to req.
func Receive[T kmsg.Response](t testing.TB, c net.Conn, req kmsg.Request) T {
	t.Helper()
	b, err := Frame(c)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	b = b[4:]
	if req.IsFlexible() && req.Key() != 18 { // the header of an ApiVersions answer never is
		b = b[1:]
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(b); err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(T)
}

// Ask sends a request and returns its answer.
func Ask[T kmsg.Response](t testing.TB, c net.Conn, req kmsg.Request) T {
	t.Helper()
	Send(t, c, req)
	return Receive[T](t, c, req)
}

// Write sends bytes.
func Write(c net.Conn, b []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

// Sized puts a frame's size before it.
func Sized(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

// Frame returns the next frame, without its size.
func Frame(c net.Conn) ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// Closed reports whether an error of reading or writing says that the other side has closed the connection.
func Closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// WantClosed checks that the other side closes the connection, and says nothing before.
func WantClosed(t testing.TB, what string, c net.Conn) {
	t.Helper()
	if b, err := Frame(c); err == nil || !Closed(err) {
		t.Errorf("%s: want a closed connection, got %x, %v", what, b, err)
	}
}
