package api

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// errCut closes a connection whose request ends before its fields do.
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

// addPart adds a partition to those of its topic, which begin at first. Named twice, it is appended to once, what was
// named last.
func (p *produceRequest) addPart(part producePart, first int) {
	if n := len(p.parts); n > first && p.parts[n-1].index >= part.index {
		for i := first; i < n; i++ {
			if p.parts[i].index == part.index {
				p.parts[i] = part
				return
			}
		}
	}
	p.parts = append(p.parts, part)
}

func (p *produceRequest) parseTopic(in *reader) {
	t := produceTopic{first: len(p.parts)}
	if p.r.Version >= 13 {
		t.id = in.Uuid()
		t.topic = p.b.Partitions.ByID(t.id)
	} else {
		name := in.string()
		if t.topic = p.b.Partitions.ByNameBytes(name); t.topic != nil {
			t.name = t.topic.Name
		} else {
			t.name = string(name)
		}
	}
	for n := in.arrayLen(); n > 0 && in.Ok(); n-- {
		part := producePart{req: p, index: in.Int32()}
		part.records, part.null = in.nullableBytes()
		in.tags()
		p.addPart(part, t.first)
	}
	in.tags()
	t.n = len(p.parts) - t.first
	p.topics = append(p.topics, t)
}
