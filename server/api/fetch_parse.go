package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
)

// fetchBody is what a request says.
type fetchBody struct {
	limits    fetchLimits
	id, epoch int32 // of its session
	want      []wanted
	forget    []wanted // only topic, id and index
	topics    int      // named in either
}

// maxFetchPartitions bounds the partitions of one request, as many as a broker may have: 16 MB of them while it waits, 40 MB
// while it is answered, where Kafka's frame limit of 100 MiB would let through 15 times as much.
const maxFetchPartitions = 200_000

// parseFetch reads the request's body. It keeps nothing of the frame.
//
//	int32 replica (to 14) | int32 max wait | int32 min bytes | int32 max bytes | int8 isolation | int32 session id (7+) |
//	int32 session epoch (7+) | [topic | [int32 partition | int32 leader epoch (9+) | int64 offset | int32 last epoch (12+) |
//	int64 log start offset (5+) | int32 max bytes | tags] | tags] | [topic | [int32 partition] | tags] (7+) |
//	string rack (11+) | tags
func (b *Broker) parseFetch(in *reader) (fetchBody, error) {
	f := fetchBody{epoch: -1}
	f.limits.replica = -1
	if in.version <= 14 {
		f.limits.replica = in.Int32()
	}
	f.limits.maxWait = time.Duration(in.Int32()) * time.Millisecond
	f.limits.minBytes = in.Int32()
	f.limits.maxBytes = in.Int32()
	f.limits.isolation = in.Int8()
	if in.version >= 7 {
		f.id, f.epoch = in.Int32(), in.Int32()
	}
	for n := in.arrayLen(); n > 0 && in.Ok() && !f.tooMany(); n-- {
		f.want = b.parseFetchTopic(in, f.want)
		f.topics++
	}
	if in.version >= 7 {
		for n := in.arrayLen(); n > 0 && in.Ok() && !f.tooMany(); n-- {
			f.forget = b.parseForgotten(in, f.forget)
			f.topics++
		}
	}
	if in.version >= 11 {
		in.string()
	}
	f.parseTags(in)
	return f, in.end("Fetch", f.tooMany())
}

func (f *fetchBody) tooMany() bool {
	return len(f.want) > maxFetchPartitions || len(f.forget) > maxFetchPartitions || f.topics > maxFetchPartitions
}

// parseTopicName reads the topic's name or id.
func (b *Broker) parseTopicName(in *reader) (w wanted) {
	if in.version >= 13 {
		w.id = in.Uuid()
		return w
	}
	name := in.string()
	if t := b.Partitions.ByNameBytes(name); t != nil {
		w.topic = t.Name // saves the copy
	} else {
		w.topic = string(name)
	}
	return w
}

func (b *Broker) parseFetchTopic(in *reader, want []wanted) []wanted {
	topic, first := b.parseTopicName(in), len(want)
	var twice places
	for n := in.arrayLen(); n > 0 && in.Ok() && len(want) <= maxFetchPartitions; n-- {
		w := topic
		w.index, w.epoch, w.lastEpoch = in.Int32(), -1, -1
		if in.version >= 9 {
			w.epoch = in.Int32()
		}
		w.offset = in.Int64()
		if in.version >= 12 {
			w.lastEpoch = in.Int32()
		}
		if in.version >= 5 {
			in.Int64() // a follower's log start offset
		}
		w.maxBytes = in.Int32()
		in.tags()
		// Named twice, a partition is asked for once, as it was named last.
		if i := twice.find(w.index, first, len(want), func(i int) int32 { return want[i].index }); i >= 0 {
			want[i] = w
		} else {
			want = append(want, w)
		}
	}
	in.tags()
	return want
}

func (b *Broker) parseForgotten(in *reader, forget []wanted) []wanted {
	topic := b.parseTopicName(in)
	for n := in.arrayLen(); n > 0 && in.Ok() && len(forget) <= maxFetchPartitions; n-- {
		w := topic
		w.index = in.Int32()
		forget = append(forget, w)
	}
	in.tags()
	return forget
}

// parseTags reads the request's tags: a follower says in tag 1 who it is.
func (f *fetchBody) parseTags(in *reader) {
	if !in.flexible {
		return
	}
	for n := in.Uvarint(); n > 0 && in.Ok(); n-- {
		key := in.Uvarint()
		b := in.span(int32(in.Uvarint()))
		if key == 1 && in.version >= 15 {
			state := kbin.Reader{Src: b}
			f.limits.replica = state.Int32()
		}
	}
}
