package netio

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// maxIovec is how many pieces leave in one call.
const maxIovec = 64

// fileChunk is how much of a file one sendfile sends at most, so that progress is seen, in bytes.
const fileChunk = 1 << 20

// inlineTurn is how many bytes whoever completes an answer sends at most, in bytes, before a goroutine goes on: 1 MiB
// is a fifth of a millisecond or so in which an event loop does nothing else.
const inlineTurn = 1 << 20

// outgoing is the answers that are being sent: taken off the FIFO, not yet on the wire. It belongs to the owner of the
// write side.
type outgoing struct {
	head, tail *Slot
	part       int // of head: 0 is Response.Head, i is Parts[i-1]
	done       int // bytes of that part that have been sent

	gone         *Slot // sent, to be released once no lock is held
	slots, bytes int   // what they counted
	turn         int   // bytes sent by the present owner without waiting
	quiet        int   // bytes sent since the connection was last touched
}

func (o *outgoing) empty() bool { return o.head == nil }

func (o *outgoing) push(s *Slot) {
	if s.next = nil; o.tail == nil {
		o.head = s
	} else {
		o.tail.next = s
	}
	o.tail = s
}

// piece returns the bytes of s's i-th piece, or the file range; ok is false behind the last one.
func (s *Slot) piece(i int) (b []byte, f *Part, ok bool) {
	if i == 0 {
		return s.r.Head, nil, true
	}
	if i > len(s.r.Parts) {
		return nil, nil, false
	}
	p := &s.r.Parts[i-1]
	if p.Bytes != nil || p.Size <= 0 {
		return p.Bytes, nil, true
	}
	return nil, p, true
}

// gather collects the bytes up to the next file range, which it returns too if it comes right behind them. It also
// takes out what is wholly sent.
func (o *outgoing) gather(iov [][]byte) ([][]byte, *Part) {
	skip := o.done
	s, i := o.head, o.part
	for s != nil && len(iov) < maxIovec {
		b, f, ok := s.piece(i)
		switch {
		case !ok:
			s, i = s.next, 0
			continue
		case f != nil:
			return iov, f
		case len(b) > skip:
			iov = append(iov, b[skip:])
		}
		skip = 0
		i++
	}
	return iov, nil
}

// sent moves on by n bytes and ends every answer that is complete.
func (o *outgoing) sent(n int) {
	o.done += n
	o.quiet += n
	o.turn += n
	for s := o.head; s != nil; s = o.head {
		b, f, ok := s.piece(o.part)
		if !ok {
			o.pop()
			continue
		}
		size := len(b)
		if f != nil {
			size = f.Size
		}
		if o.done < size {
			return
		}
		o.done -= size
		o.part++
	}
}

func (o *outgoing) pop() {
	s := o.head
	if o.head = s.next; o.head == nil {
		o.tail = nil
	}
	o.part = 0
	o.slots++
	o.bytes += s.bytes
	s.next, o.gone = o.gone, s
}

// takeGone returns what has been sent since it was called last, to be released.
func (o *outgoing) takeGone() (gone *Slot, slots, bytes int) {
	gone, slots, bytes = o.gone, o.slots, o.bytes
	o.gone, o.slots, o.bytes = nil, 0, 0
	return gone, slots, bytes
}

// drop takes out everything unsent, to be released.
func (o *outgoing) drop() *Slot {
	for o.head != nil {
		o.pop()
	}
	o.done = 0
	gone, _, _ := o.takeGone()
	return gone
}

// releaseAll ends the slots of a list.
func releaseAll(s *Slot, srv *Server) {
	for s != nil {
		next := s.next
		s.release(srv)
		s = next
	}
}

// step sends what fd takes without waiting. Its error is nil when all is sent, EAGAIN when the socket is full,
// errHandOver when the next thing is a file range that inline sending is not for.
func (c *Conn) step(fd int, inline bool) error {
	o := &c.out
	o.sent(0) // answers without bytes
	for !o.empty() {
		if raceEnabled {
			// Whoever could close fd under us gets his chance.
			for range 50 {
				runtime.Gosched()
			}
		}
		var room [maxIovec][]byte
		iov, f := o.gather(room[:0])
		var n int
		var err error
		switch {
		case inline && o.turn >= inlineTurn:
			return errHandOver
		case len(iov) > 0:
			flags := unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
			if f != nil {
				flags |= unix.MSG_MORE
			}
			n, err = send(fd, iov, flags)
		case inline && !c.inlineFile(f):
			return errHandOver
		default:
			n, err = c.sendFile(fd, f, inline)
		}
		if n > 0 {
			o.sent(n)
			c.progress()
		}
		if err != nil && err != unix.EINTR {
			return err
		}
	}
	return nil
}

// send is one sendmsg of all buffers.
func send(fd int, iov [][]byte, flags int) (int, error) {
	if len(iov) == 1 {
		return unix.SendmsgN(fd, iov[0], nil, nil, flags)
	}
	return unix.SendmsgBuffers(fd, iov, nil, nil, flags)
}

// progress counts 64 KiB of an answer taken as life, so that only a reader that is as good as dead is idle.
func (c *Conn) progress() {
	if c.out.slots > 0 || c.out.quiet >= 64<<10 {
		c.out.quiet = 0
		c.touch()
	}
}

// inlineFile says whether the rest of a file range is small and in memory.
func (c *Conn) inlineFile(f *Part) bool {
	n := f.Size - c.out.done
	return n <= c.srv.opts.InlineFile && c.srv.nowheres.inMemory(f.Fd, f.Position+int64(c.out.done), n)
}

// sendFile sends a chunk of a file range. A goroutine takes its turn for that, since it may wait for the disk: pages that are in the
// page cache may still be on their way there.
func (c *Conn) sendFile(fd int, f *Part, inline bool) (int, error) {
	at, n := f.Position+int64(c.out.done), min(f.Size-c.out.done, fileChunk)
	if !inline {
		defer c.srv.disks.enter(f.Fd)()
		if !cached(f.Fd, at, n) {
			readAhead(f.Fd, at, n)
		}
	}
	n, err := unix.Sendfile(fd, f.Fd, &at, n)
	if n == 0 && err == nil {
		return 0, ErrFileRange
	}
	return max(n, 0), err
}
