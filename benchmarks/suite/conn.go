package suite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// maxAnswer bounds an answer: it is a few times what the largest job asks for.
const maxAnswer = 1 << 30

// A conn is a connection on which several streams have requests in flight. Answers come in the order of the requests.
type conn struct {
	net.Conn
	send sync.Mutex // held for a write, and for the place in the queue that goes with it
	wait chan *call
	gone chan struct{} // closed when the reading goroutine has ended
	err  error         // why, once gone is closed
}

// A call is a request on its way. One stream uses one for all its requests.
type call struct {
	answer []byte // behind the length; valid until the next request of the call
	done   chan error
}

func newCall() *call { return &call{done: make(chan error, 1)} }

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	x := &conn{Conn: c, wait: make(chan *call, 1024), gone: make(chan struct{})}
	go x.read()
	return x, nil
}

// read hands answers to those who wait for them.
func (c *conn) read() {
	defer close(c.gone)
	var head [4]byte
	for {
		if _, c.err = io.ReadFull(c, head[:]); c.err != nil {
			return
		}
		n := binary.BigEndian.Uint32(head[:])
		if n < 4 || n > maxAnswer {
			c.err = fmt.Errorf("%s: an answer of %d bytes", c.RemoteAddr(), n)
			return
		}
		var w *call
		select {
		case w = <-c.wait:
		default:
			c.err = fmt.Errorf("%s: an answer that nobody waits for", c.RemoteAddr())
			return
		}
		if cap(w.answer) < int(n) {
			w.answer = make([]byte, n)
		}
		w.answer = w.answer[:n]
		_, c.err = io.ReadFull(c, w.answer)
		w.done <- c.err
		if c.err != nil {
			return
		}
	}
}

// do sends a request with its length and waits for the answer.
func (c *conn) do(request []byte, w *call) ([]byte, error) {
	c.send.Lock()
	c.wait <- w
	_, err := c.Write(request)
	c.send.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case err = <-w.done:
	case <-c.gone:
		select {
		case err = <-w.done: // it was the last one
		default:
			err = fmt.Errorf("%s: %w", c.RemoteAddr(), c.err)
		}
	}
	return w.answer, err
}

func (c *conn) close() {
	_ = c.Close() // everything that was asked has been answered, or its error told
	<-c.gone
}

// errShort says that an answer ended early.
var errShort = errors.New("an answer that is cut off")
