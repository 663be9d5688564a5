package wire

import "sync"

// A Head is pooled memory for an answer. Release puts it back, once what is in B was sent.
type Head struct {
	B       []byte // empty, with some capacity
	Release func()
}

// maxPooledHead keeps one large answer from staying in memory for ever.
const maxPooledHead = 64 << 10

var heads sync.Pool

// GetHead returns memory for an answer.
func GetHead() *Head {
	if h, ok := heads.Get().(*Head); ok {
		h.B = h.B[:0]
		return h
	}
	h := &Head{B: make([]byte, 0, 512)}
	h.Release = func() {
		if cap(h.B) <= maxPooledHead {
			heads.Put(h)
		}
	}
	return h
}
