package netio

import (
	"math/bits"
	"sync"
)

// Buffers of 1 KiB to 1 MiB, in powers of two, are kept for use again; larger ones are left to the garbage collector.
const (
	smallestBuffer = 10
	largestBuffer  = 20
)

// buffers is a pool of byte slices by size class.
type buffers struct {
	class [largestBuffer - smallestBuffer + 1]sync.Pool
	boxes sync.Pool // *[]byte without a slice in it, so that putting a slice back allocates nothing
}

// round is the capacity of the buffer that get returns for n bytes.
func (p *buffers) round(n int) int {
	switch {
	case n <= 1<<smallestBuffer:
		return 1 << smallestBuffer
	case n <= 1<<largestBuffer:
		return 1 << bits.Len(uint(n-1))
	}
	return (n + 4095) &^ 4095
}

// get returns an empty slice with capacity round(n).
func (p *buffers) get(n int) []byte {
	n = p.round(n)
	if n <= 1<<largestBuffer {
		if box, ok := p.class[bits.Len(uint(n))-1-smallestBuffer].Get().(*[]byte); ok {
			b := *box
			*box = nil
			p.boxes.Put(box)
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

// put takes back a slice that get returned. Nothing may refer to it any more.
func (p *buffers) put(b []byte) {
	n := cap(b)
	if n < 1<<smallestBuffer || n > 1<<largestBuffer || n&(n-1) != 0 {
		return
	}
	box, ok := p.boxes.Get().(*[]byte)
	if !ok {
		box = new([]byte)
	}
	*box = b
	p.class[bits.Len(uint(n))-1-smallestBuffer].Put(box)
}
