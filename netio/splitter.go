package netio

import (
	"encoding/binary"
	"fmt"
)

// prefixSize is the size of a frame's length prefix in bytes.
const prefixSize = 4

// trustSize is how much memory an announced size gets at once from a peer that has sent a frame of that size before.
const trustSize = 1 << 20

// sink is where a splitter's frames go.
type sink interface {
	// maxFrame is the limit for the next frame.
	maxFrame() int
	// frame takes a frame's payload, or refuses it: then it is offered again by the next call of feed.
	frame(payload []byte) bool
	// reserve asks for n more bytes of memory (n < 0 gives back). False: not now.
	reserve(n int) bool
}

// splitter cuts a stream into frames. Frames that lie whole in the bytes that it is fed are passed on where they lie;
// what is left of a frame that is not yet whole is kept in a buffer, which grows as the bytes arrive.
type splitter struct {
	part    []byte // prefix and payload so far of the frame that is arriving; empty: none
	want    int    // its whole size with the prefix; 0: the prefix is not whole
	biggest int    // the largest frame seen so far, up to trustSize
	bufs    *buffers
}

// feed passes on the frames in in. It returns what it did not take: all is taken unless the sink refused a frame or
// memory. An error is final.
func (s *splitter) feed(in []byte, to sink) (rest []byte, err error) {
	for {
		if len(s.part) > 0 {
			var ok bool
			if in, ok, err = s.fill(in, to); err != nil || !ok {
				return in, err
			}
			if !to.frame(s.part[prefixSize:]) {
				return in, nil
			}
			s.drop(to)
			continue
		}
		if len(in) == 0 {
			return nil, nil
		}
		total, err := frameSize(in, to.maxFrame())
		if err != nil {
			return in, err
		}
		if total == 0 || total > len(in) {
			if !s.keep(in, total, to) {
				return in, nil
			}
			return nil, nil
		}
		if !to.frame(in[prefixSize:total]) {
			return in, nil
		}
		in = in[total:]
	}
}

// frameSize is the whole size of the frame at the start of b, prefix included; 0 where the prefix is not whole.
func frameSize(b []byte, limit int) (int, error) {
	if len(b) < prefixSize {
		return 0, nil
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n <= 0 || n > limit {
		return 0, fmt.Errorf("%w: %d, limit %d", ErrFrameSize, n, limit)
	}
	return prefixSize + n, nil
}

// keep starts a partial frame with in.
func (s *splitter) keep(in []byte, total int, to sink) bool {
	if s.want = total; !s.room(len(in), to) {
		s.want = 0
		return false
	}
	s.part = append(s.part, in...)
	return true
}

// fill moves bytes of in to the partial frame. ok: it is whole.
func (s *splitter) fill(in []byte, to sink) (rest []byte, ok bool, err error) {
	if s.want == 0 {
		n := min(prefixSize-len(s.part), len(in))
		s.part, in = append(s.part, in[:n]...), in[n:]
		if s.want, err = frameSize(s.part, to.maxFrame()); err != nil || s.want == 0 {
			return in, false, err
		}
	}
	n := min(s.want-len(s.part), len(in))
	if n > 0 {
		if !s.room(n, to) {
			return in, false, nil
		}
		s.part, in = append(s.part, in[:n]...), in[n:]
	}
	return in, len(s.part) == s.want, nil
}

// room makes place for n more bytes: twice what there is, so that memory follows the bytes, but at once the whole of a
// frame that is no larger than what this peer has sent before.
func (s *splitter) room(n int, to sink) bool {
	need := len(s.part) + n
	if need <= cap(s.part) {
		return true
	}
	size := max(need, 2*cap(s.part))
	if s.want > 0 {
		if s.want <= s.biggest {
			size = s.want
		}
		size = min(max(size, need), s.want)
	}
	size = s.bufs.round(size)
	if !to.reserve(size - cap(s.part)) {
		return false
	}
	grown := append(s.bufs.get(size), s.part...)
	s.bufs.put(s.part)
	s.part = grown
	return true
}

// missing is how many bytes the partial frame lacks; 0 where there is none, or where its size is unknown.
func (s *splitter) missing() int {
	if s.want == 0 {
		return 0
	}
	return s.want - len(s.part)
}

// spare is room behind the partial frame into which its next bytes may be read directly; took says how many were.
// Nil where memory is refused.
func (s *splitter) spare(to sink) []byte {
	if len(s.part) == cap(s.part) && !s.room(1, to) {
		return nil
	}
	return s.part[len(s.part):min(cap(s.part), s.want)]
}

func (s *splitter) took(n int) { s.part = s.part[:len(s.part)+n] }

// drop forgets the partial frame and gives its memory back.
func (s *splitter) drop(to sink) {
	if cap(s.part) == 0 {
		return
	}
	s.biggest = min(max(s.biggest, s.want), trustSize)
	to.reserve(-cap(s.part))
	s.bufs.put(s.part)
	s.part, s.want = nil, 0
}
