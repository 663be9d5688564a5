package netio

import (
	"bytes"
	"testing"
)

// keeper is a sink that keeps frames, refuses now and then, and counts memory.
type keeper struct {
	limit   int
	refuse  func() bool
	frames  [][]byte
	memory  int
	maximum int
}

func (k *keeper) maxFrame() int { return k.limit }

func (k *keeper) frame(b []byte) bool {
	if k.refuse != nil && k.refuse() {
		return false
	}
	k.frames = append(k.frames, append([]byte(nil), b...))
	return true
}

func (k *keeper) reserve(n int) bool {
	if n > 0 && k.refuse != nil && k.refuse() {
		return false
	}
	k.memory += n
	k.maximum = max(k.maximum, k.memory)
	return true
}

// FuzzSplitter feeds a stream in pieces to a sink that refuses at times: the frames are those of the stream cut in one
// go, memory stays in proportion to the bytes that came, and nothing is left behind.
func FuzzSplitter(f *testing.F) {
	f.Add(append(frame([]byte("one")), frame([]byte("two"))...), []byte{1, 2, 3}, uint8(3))
	f.Add(append(frame(make([]byte, 5000)), 0, 0, 0), []byte{200, 1, 7}, uint8(0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{2}, uint8(1))
	f.Add([]byte{0, 0, 0, 0}, []byte{1}, uint8(1))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 1, 2, 3}, []byte{4}, uint8(1))
	f.Fuzz(func(t *testing.T, stream, cuts []byte, refusals uint8) {
		const limit = 1 << 20
		want, wantErr := cutWhole(stream, limit)
		calls := 0
		k := &keeper{limit: limit, refuse: func() bool {
			calls++
			return refusals > 0 && calls%(int(refusals)+1) == 0
		}}
		s := splitter{bufs: new(buffers)}
		err := feedInPieces(&s, k, stream, cuts)
		if (err != nil) != wantErr {
			t.Fatalf("error %v, want one: %v", err, wantErr)
		}
		if len(want) != len(k.frames) {
			t.Fatalf("%d frames, want %d", len(k.frames), len(want))
		}
		for i := range want {
			if !bytes.Equal(want[i], k.frames[i]) {
				t.Fatalf("frame %d differs", i)
			}
		}
		// Twice the bytes, once more while a buffer is exchanged, and rounding.
		if k.maximum > 4*len(stream)+4096 {
			t.Fatalf("%d bytes reserved for a stream of %d", k.maximum, len(stream))
		}
		if s.drop(k); k.memory != 0 {
			t.Fatalf("%d bytes not given back", k.memory)
		}
	})
}

// cutWhole is the specification: the stream's whole frames, and whether a size in it is out of range.
func cutWhole(b []byte, limit int) (frames [][]byte, bad bool) {
	for len(b) >= prefixSize {
		total, err := frameSize(b, limit)
		if err != nil {
			return frames, true
		}
		if total > len(b) {
			break
		}
		frames = append(frames, b[prefixSize:total])
		b = b[total:]
	}
	return frames, false
}

// feedInPieces feeds pieces as long as cuts says, and direct reads where a frame is partial and the cut is odd.
func feedInPieces(s *splitter, k *keeper, stream, cuts []byte) error {
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(cuts) > 0 {
			n = min(n, 1+int(cuts[i%len(cuts)]))
		}
		if n%2 == 1 && s.missing() > 0 {
			if spare := s.spare(k); spare != nil {
				n = copy(spare, stream[:n])
				s.took(n)
				stream = stream[n:]
			}
			n = 0
		}
		rest, err := s.feed(stream[:n], k)
		if err != nil {
			return err
		}
		stream = stream[n-len(rest):]
	}
	for range 4 { // what was refused last
		if _, err := s.feed(nil, k); err != nil {
			return err
		}
	}
	return nil
}
