package api

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/zurau/zurau/server/partition"
)

// errTrailing closes a connection whose request goes on behind its end.
var errCut = errors.New("request is cut off")

// parse reads the request's body in place. It may be called again when the body has moved.
//
//	transactional id | int16 acks | int32 timeout | [topic | [int32 partition | records | tags] | tags] | tags
//
// A topic is a name up to version 12 and an id from 13 on. From version 9 on lengths are compact and tags are there.
func (p *produceRequest) parse() error {
	in := reader{kbin.Reader{Src: p.r.Body}, p.r.Flexible()}
	p.transactional = in.nullableString() != nil
	p.acks = in.Int16()
	in.Int32() // timeout: nothing here waits for other brokers
	p.topics, p.parts = p.topics[:0], p.parts[:0]
	for n := in.arrayLen(); n > 0 && in.Ok(); n-- {
		p.parseTopic(&in)
	}
	in.tags()
	if !in.Ok() {
		return fmt.Errorf("Produce version %d of %d bytes: %w", p.r.Version, len(p.r.Body), errCut)
	}
	return nil
}

func (p *produceRequest) parseTopic(in *reader) {
	t := produceTopic{first: len(p.parts)}
	if p.r.Version >= 13 {
		t.id = in.Uuid()
		t.topic = p.b.Partitions.ByID(t.id)
	} else {
		t.name = in.string()
		t.topic = p.b.Partitions.ByNameBytes(t.name)
	}
	for n := in.arrayLen(); n > 0 && in.Ok(); n-- {
		part := producePart{req: p, index: in.Int32()}
		part.records, part.null = in.nullableBytes()
		in.tags()
		p.parts = append(p.parts, part)
	}
	in.tags()
	t.n = len(p.parts) - t.first
	p.topics = append(p.topics, t)
}

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

// lookup finds the topic of a request that names it, or gives its id.
func (b *Broker) lookup(name []byte, id [16]byte, byID bool) *partition.Topic {
	if byID {
		return b.Partitions.ByID(id)
	}
	return b.Partitions.ByNameBytes(name)
}
