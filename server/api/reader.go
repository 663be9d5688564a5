package api

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/zurau/zurau/server/wire"
)

// reader reads the fields of a request whose lengths are compact in flexible versions. What it returns is part of the
// frame.
type reader struct {
	kbin.Reader
	version  int16
	flexible bool
}

func readerOf(r *wire.Request) *reader {
	return &reader{kbin.Reader{Src: r.Body}, r.Version, r.Flexible()}
}

// end returns an error, which closes the connection, unless everything was there, and not too much of it.
func (r *reader) end(api string, tooMany bool) error {
	switch {
	case tooMany:
		return fmt.Errorf("version %d of %s: %w", r.version, api, errTooMany)
	case !r.Ok():
		return fmt.Errorf("version %d of %s: %w", r.version, api, errCut)
	}
	return nil
}

// errCut closes a connection whose request ends before its fields do, or has a length that cannot be.
var errCut = errors.New("request is cut off")

// errTooMany closes a connection whose request names more than it can mean.
var errTooMany = errors.New("request names too many topics or partitions")

// fail says that what was read cannot be.
func (r *reader) fail() { r.Span(-1) }

// arrayLen returns the number of elements, each of which has a byte at least. Null is not allowed here.
func (r *reader) arrayLen() (n int32) {
	if r.flexible {
		n = r.CompactArrayLen()
	} else {
		n = r.ArrayLen()
	}
	if n < 0 {
		r.fail()
	}
	return n
}

func (r *reader) string() []byte {
	if r.flexible {
		return r.span(int32(r.Uvarint()) - 1)
	}
	return r.span(int32(r.Int16()))
}

// span returns n bytes. A negative length is not allowed here.
func (r *reader) span(n int32) []byte { return r.Span(int(n)) }

// nullableString returns nil for null.
func (r *reader) nullableString() []byte {
	n := int32(0)
	if r.flexible {
		n = int32(r.Uvarint()) - 1
	} else {
		n = int32(r.Int16())
	}
	if n == -1 {
		return nil
	}
	return r.span(n)
}

func (r *reader) nullableBytes() (b []byte, null bool) {
	n := int32(0)
	if r.flexible {
		n = int32(r.Uvarint()) - 1
	} else {
		n = r.Int32()
	}
	if n == -1 {
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

// places finds what a request names twice in one list: partitions of a topic. Ordinary requests name them in ascending
// order, which takes no memory; a list in any other order must not take time by its square.
type places map[int32]int

// find returns where number n of a list was named before, or -1, and notes that it will be at next. named returns the
// number at a place, of which those from first on are the list's.
func (p *places) find(n int32, first, next int, named func(int) int32) int {
	if *p == nil {
		if next == first || named(next-1) < n {
			return -1
		}
		*p = make(places, 2*(next-first))
		for i := first; i < next; i++ {
			(*p)[named(i)] = i
		}
	}
	if i, ok := (*p)[n]; ok {
		return i
	}
	(*p)[n] = next
	return -1
}
