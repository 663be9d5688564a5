package api

import "github.com/twmb/franz-go/pkg/kbin"

// reader reads the fields of a request whose lengths are compact in flexible versions. What it returns is part of the
// frame.
type reader struct {
	kbin.Reader
	flexible bool
}

func (r *reader) length() int32 {
	if r.flexible {
		return int32(r.Uvarint()) - 1
	}
	return r.Int32()
}

// arrayLen returns the number of elements, each of which has a byte at least.
func (r *reader) arrayLen() int32 {
	if r.flexible {
		return r.CompactArrayLen()
	}
	return r.ArrayLen()
}

func (r *reader) string() []byte {
	if r.flexible {
		return r.span(int32(r.Uvarint()) - 1)
	}
	return r.span(int32(r.Int16()))
}

// span returns n bytes. A negative length is not allowed here.
func (r *reader) span(n int32) []byte {
	if n < 0 {
		r.Src = nil
		r.Int8() // marks the reader as failed
		return nil
	}
	return r.Span(int(n))
}

// nullableString returns nil for null.
func (r *reader) nullableString() []byte {
	n := int32(0)
	if r.flexible {
		n = int32(r.Uvarint()) - 1
	} else {
		n = int32(r.Int16())
	}
	if n < 0 {
		return nil
	}
	if b := r.span(n); b != nil {
		return b
	}
	return []byte{}
}

func (r *reader) nullableBytes() (b []byte, null bool) {
	n := r.length()
	if n < 0 {
		return nil, true
	}
	return r.span(n), false
}

// tags passes over tagged fields.
func (r *reader) tags() {
	if !r.flexible {
		return
	}
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		r.Uvarint()
		r.span(int32(r.Uvarint()))
	}
}
