package netio

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// Buffers of the goroutine transport in bytes: small while little comes, so that an idle connection costs little.
const (
	smallRead = 4 << 10
	largeRead = 64 << 10
)

// readAll is the goroutine transport's reader: first the bytes that an event loop had read, then what comes. It stops
// reading while too much is pending.
func (c *Conn) readAll(r io.Reader, pre []byte) {
	defer c.srv.readers.Done()
	err := c.feedAll(pre)
	size := smallRead
	for err == nil {
		if c.split.missing() >= smallRead {
			err = c.readPart(r)
			continue
		}
		buf := c.srv.bufs.get(size)[:size]
		var n int
		n, err = r.Read(buf)
		if n > 0 {
			if e := c.feedAll(buf[:n]); e != nil {
				err = e
			}
		}
		c.srv.bufs.put(buf)
		// A full buffer says that there is more; a small one is enough again when little came.
		if n == size {
			size = largeRead
		} else if n < smallRead {
			size = smallRead
		}
	}
	c.readerGone(err)
}

// readPart reads the next bytes of a large frame to where they belong.
func (c *Conn) readPart(r io.Reader) error {
	spare := c.split.spare(c)
	if spare == nil {
		return c.await()
	}
	n, err := r.Read(spare)
	c.split.took(n)
	if n > 0 && c.split.missing() == 0 {
		if e := c.feedAll(nil); e != nil {
			return e
		}
	}
	return err
}

// feedAll hands out frames until all of in is taken, waiting for answers to drain whenever it must.
func (c *Conn) feedAll(in []byte) error {
	for {
		rest, err := c.feed(in)
		if err != nil {
			return err
		}
		if !c.over {
			if len(c.split.part) == 0 {
				c.settleDebt()
			}
			return nil
		}
		in = rest
		if err := c.await(); err != nil {
			return err
		}
	}
}

// await waits until reading may go on. Its error is the connection's end.
func (c *Conn) await() error {
	for {
		c.mu.Lock()
		if err := c.err; c.closed {
			c.mu.Unlock()
			return err
		}
		stop := make(chan struct{})
		c.wake = stop
		full := c.full() || c.draining
		c.mu.Unlock()
		if full {
			c.settleDebt()
			<-stop
			continue
		}
		c.debt = c.srv.budget.wait(c, stop)
		return nil
	}
}

// settleDebt lets another connection overdraw the budget.
func (c *Conn) settleDebt() {
	if c.debt {
		c.debt = false
		c.srv.budget.settle(c)
	}
}

// copyOut sends what is out through w, waiting for it: file ranges are read into memory, a buffer at a time.
func (c *Conn) copyOut(w io.Writer) error {
	o := &c.out
	o.sent(0)
	for !o.empty() {
		var room [maxIovec][]byte
		iov, f := o.gather(room[:0])
		var n int
		var err error
		switch {
		case len(iov) == 1:
			n, err = w.Write(iov[0])
		case len(iov) > 1:
			n, err = c.writeJoined(w, iov)
		default:
			n, err = c.writeFile(w, f)
		}
		o.sent(n)
		c.progress()
		if err != nil {
			return err
		}
	}
	return nil
}

// writeJoined writes small pieces together: each Write of a TLS connection makes a record.
func (c *Conn) writeJoined(w io.Writer, iov [][]byte) (int, error) {
	buf := c.srv.bufs.get(largeRead)
	defer c.srv.bufs.put(buf)
	for _, b := range iov {
		if len(b) > cap(buf)-len(buf) {
			break
		}
		buf = append(buf, b...)
	}
	if len(buf) == 0 {
		return w.Write(iov[0])
	}
	return w.Write(buf)
}

// writeFile copies a piece of a file range.
func (c *Conn) writeFile(w io.Writer, f *Part) (int, error) {
	buf := c.srv.bufs.get(largeRead)
	defer c.srv.bufs.put(buf)
	n := min(f.Size-c.out.done, largeRead)
	n, err := c.readFile(f, buf[:n])
	if err != nil {
		return 0, err
	}
	return w.Write(buf[:n])
}

func (c *Conn) readFile(f *Part, b []byte) (int, error) {
	at := f.Position + int64(c.out.done)
	defer c.srv.disks.enter(f.Fd)()
	for {
		n, err := unix.Pread(f.Fd, b, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n == 0:
			return 0, ErrFileRange
		}
		return n, err
	}
}
