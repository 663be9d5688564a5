package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/server/wire"
)

// answer sends the answer of a produce request.
//
//	[topic | [int32 partition | int16 code | int64 base offset | int64 append time | int64 log start offset (5+) |
//	          [int32 index | string message] (8+) | string message (8+) | tags (10+: the leader)] | tags] | int32 throttle | tags
func (p *produceRequest) answer() {
	h := wire.GetHead()
	w := writer{p.r.AppendHeader(h.B), p.r.Flexible()}
	w.arrayLen(len(p.topics))
	for i := range p.topics {
		t := &p.topics[i]
		if p.r.Version >= 13 {
			w.b = append(w.b, t.id[:]...)
		} else {
			w.string(t.name)
		}
		w.arrayLen(t.n)
		for j := t.first; j < t.first+t.n; j++ {
			p.parts[j].answer(&w, p.r.Version)
		}
		w.tags()
	}
	w.int32(0)
	w.tags()
	h.B = w.b
	p.r.Send(netio.Response{Head: h.B, Release: h.Release})
}

func (part *producePart) answer(w *writer, version int16) {
	w.int32(part.index)
	w.int16(part.code)
	part.req.r.Failed(part.code)
	a := &part.result
	if part.code != 0 {
		a.BaseOffset, a.LogAppendTimeMs = -1, -1
	}
	w.int64(a.BaseOffset)
	w.int64(a.LogAppendTimeMs)
	if version >= 5 {
		w.int64(a.LogStartOffset)
	}
	if version >= 8 {
		w.arrayLen(len(part.faults))
		for _, f := range part.faults {
			w.int32(int32(f.Index))
			w.nullableString(f.Message)
			w.tags()
		}
		w.nullableString(part.message)
	}
	if version < 10 || part.code != kerr.NotLeaderForPartition.Code {
		w.tags()
		return
	}
	w.b = append(w.b, 1, 0, 9) // the leader, tag 0
	w.int32(part.away.Leader())
	w.int32(part.away.LeaderEpoch())
	w.tags()
}
