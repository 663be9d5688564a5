package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/server/wire"
)

// answer makes the answer of what was found. f is locked, and done afterwards.
//
//	int32 throttle | int16 code (7+) | int32 session id (7+) | [topic | [int32 partition | int16 code | int64 high watermark |
//	int64 last stable offset | int64 log start offset (5+) | [int64 producer | int64 first offset] or null |
//	int32 preferred replica (11+) | bytes records | tags] | tags] | tags
func (f *fetchRequest) answer() netio.Response {
	f.leave()
	h := wire.GetHead()
	w := writer{f.r.AppendHeader(h.B), f.r.Flexible()}
	w.int32(0)
	if f.r.Version >= 7 {
		w.int16(f.code())
		w.int32(f.session.number())
	}
	shown := f.shown()
	w.arrayLen(f.topics(shown))
	var cuts []cut
	for i := 0; i < len(shown); {
		n := f.sameTopic(shown[i:])
		first := &f.want[shown[i]]
		if f.r.Version >= 13 {
			w.b = append(w.b, first.id[:]...)
		} else {
			w.string(first.topic)
		}
		w.arrayLen(n)
		for _, k := range shown[i : i+n] {
			cuts = f.answerPartition(&w, k, cuts)
		}
		w.tags()
		i += n
	}
	w.tags()
	h.B = w.b
	f.session.release(f)
	return f.pieces(h, cuts)
}

// code is the answer's own: Kafka's for an isolation level that there is none of.
func (f *fetchRequest) code() int16 {
	if f.limits.isolation < 0 || f.limits.isolation > 1 {
		return f.denied
	}
	return 0
}

// A cut is a place in the answer where a range of a file belongs.
type cut struct{ at, part int }

// pieces takes the answer apart where records belong, which go with it.
func (f *fetchRequest) pieces(h *wire.Head, cuts []cut) netio.Response {
	resp := netio.Response{Head: h.B, Release: h.Release}
	if len(cuts) == 0 {
		f.drop()
	} else {
		got := f.got
		f.got = nil
		resp.Head = h.B[:cuts[0].at]
		resp.Parts = make([]netio.Part, 0, 2*len(cuts))
		for i, c := range cuts {
			r := &got[c.part].r
			if r.Mem != nil {
				resp.Parts = append(resp.Parts, netio.Part{Bytes: r.Mem})
			} else {
				resp.Parts = append(resp.Parts, netio.Part{Fd: r.File.Fd(), Position: r.Position, Size: r.Size})
			}
			end := len(h.B)
			if i+1 < len(cuts) {
				end = cuts[i+1].at
			}
			if end > c.at {
				resp.Parts = append(resp.Parts, netio.Part{Bytes: h.B[c.at:end]})
			}
		}
		resp.Release = func() {
			releaseAll(got)
			h.Release()
		}
	}
	return resp
}

// shown lists the partitions that the answer has: all, or those with news for the session.
func (f *fetchRequest) shown() []int {
	list := make([]int, 0, len(f.want))
	for i := range f.want {
		if f.session.tell(&f.want[i], &f.got[i]) || f.full {
			list = append(list, i)
		}
	}
	return list
}

// topics counts the runs of partitions of one topic.
func (f *fetchRequest) topics(shown []int) (n int) {
	for i := 0; i < len(shown); n++ {
		i += f.sameTopic(shown[i:])
	}
	return n
}

// sameTopic returns how many partitions from the first on are of its topic.
func (f *fetchRequest) sameTopic(shown []int) int {
	first := &f.want[shown[0]]
	n := 1
	for n < len(shown) && f.want[shown[n]].topic == first.topic && f.want[shown[n]].id == first.id {
		n++
	}
	return n
}

func (f *fetchRequest) answerPartition(w *writer, k int, cuts []cut) []cut {
	g := &f.got[k]
	w.int32(f.want[k].index)
	w.int16(g.code)
	f.r.Failed(g.code)
	w.int64(g.high)
	w.int64(g.stable)
	if f.r.Version >= 5 {
		w.int64(g.start)
	}
	f.abortedTransactions(w, g)
	if f.r.Version >= 11 {
		w.int32(-1)
	}
	w.bytesLen(g.r.Size)
	if g.r.Size > 0 {
		cuts = append(cuts, cut{len(w.b), k})
	}
	f.partitionTags(w, g)
	return cuts
}

// abortedTransactions writes the list of aborted transactions, or null.
func (f *fetchRequest) abortedTransactions(w *writer, g *fetched) {
	if g.aborted == nil && !g.early {
		w.nullArray()
		return
	}
	w.arrayLen(len(g.aborted))
	for _, t := range g.aborted {
		w.int64(t.ProducerID)
		w.int64(t.FirstOffset)
		w.tags()
	}
}

// partitionTags writes the diverging epoch (tag 0) and the leader (tag 1) where there are any.
func (f *fetchRequest) partitionTags(w *writer, g *fetched) {
	leader := g.leader != nil && f.r.Version >= 16 && (g.code == kerr.FencedLeaderEpoch.Code || g.code == kerr.NotLeaderForPartition.Code)
	switch {
	case !w.flexible:
	case g.diverging:
		w.b = append(w.b, 1, 0, 13)
		w.int32(g.divEpoch)
		w.int64(g.divOffset)
		w.tags()
	case leader:
		w.b = append(w.b, 1, 1, 9)
		w.int32(g.leader.Leader())
		w.int32(g.leader.LeaderEpoch())
		w.tags()
	default:
		w.tags()
	}
}

// refuse answers with a code for the request as a whole.
func (f *fetchRequest) refuse(code int16) {
	h := wire.GetHead()
	w := writer{f.r.AppendHeader(h.B), f.r.Flexible()}
	w.int32(0)
	w.int16(code)
	w.int32(0)
	w.arrayLen(0)
	w.tags()
	h.B = w.b
	f.r.Send(netio.Response{Head: h.B, Release: h.Release})
}
