package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch fetches committed offsets, from v8 on of several groups. A group or an offset that is not there is no
// error: the offset is -1. Before the group is loaded there is an error always: -1 would make a consumer start over.
//
// With RequireStable the answer waits for commits in flight, and an offset that a transaction may still replace is
// UNSTABLE_OFFSET_COMMIT.
func (c *Coordinator) OffsetFetch(req *kmsg.OffsetFetchRequest, reply func(*kmsg.OffsetFetchResponse)) {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = req.Version
	groups := req.Groups
	if req.Version < 8 {
		groups = []kmsg.OffsetFetchRequestGroup{oldFetch(req)}
	}
	answers := make([]kmsg.OffsetFetchResponseGroup, len(groups))
	ready := gather(len(groups), func() {
		if req.Version < 8 {
			oldFetchAnswer(resp, &groups[0], &answers[0])
		} else {
			resp.Groups = answers
		}
		reply(resp)
	})
	for i := range groups {
		c.fetchGroup(req, &groups[i], &answers[i], ready)
	}
}

func (c *Coordinator) fetchGroup(req *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup, into *kmsg.OffsetFetchResponseGroup, ready func()) {
	*into = kmsg.NewOffsetFetchResponseGroup()
	into.Group = g.Group
	s := c.shards[c.PartitionFor(g.Group)]
	f := fetch{s: s, group: g.Group, byID: req.Version >= 10, stable: req.RequireStable}
	s.run(func(now Instant) {
		if into.ErrorCode = s.code(); into.ErrorCode != 0 {
			s.out = append(s.out, ready)
			return
		}
		sl := s.groups[g.Group]
		if sl == nil || !req.RequireStable {
			into.Topics = f.topics(sl, g.Topics)
			s.out = append(s.out, ready)
			return
		}
		s.collect(sl, sl.group.Settled(func() {
			s.run(func(Instant) {
				if into.ErrorCode = s.code(); into.ErrorCode == 0 {
					into.Topics = f.topics(s.groups[g.Group], g.Topics)
				}
				s.out = append(s.out, ready)
			})
		}))
	})
}

// fetch reads the offsets of one group for one request. Under the shard's lock.
type fetch struct {
	s      *shard
	group  string
	byID   bool // v10: topics have ids, not names
	stable bool
}

// topics answers for the wanted topics; null is all.
func (f fetch) topics(sl *slot, wanted []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	if wanted == nil {
		return f.all(sl)
	}
	out := make([]kmsg.OffsetFetchResponseGroupTopic, len(wanted))
	for i := range wanted {
		w, t := &wanted[i], &out[i]
		t.Topic, t.TopicID = w.Topic, w.TopicID
		name, code := w.Topic, int16(0)
		if f.byID {
			name, _, _, code = f.s.c.topic(true, "", w.TopicID)
		}
		t.Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(w.Partitions))
		for j, p := range w.Partitions {
			o := Offset{Offset: -1, LeaderEpoch: -1, Partition: p}
			if sl != nil && code == 0 {
				o = sl.group.FetchOffset(name, p)
			}
			t.Partitions[j] = f.answer(name, o)
			if code != 0 {
				t.Partitions[j].ErrorCode = code
			}
		}
	}
	return out
}

// all answers with every offset that the group has. By id, topics that are gone have no name to be asked for.
func (f fetch) all(sl *slot) []kmsg.OffsetFetchResponseGroupTopic {
	out := []kmsg.OffsetFetchResponseGroupTopic{}
	if sl == nil {
		return out
	}
	last := ""
	for _, o := range sl.group.FetchOffsets() {
		if f.s.c.stale(o.Topic, o.TopicID) {
			continue
		}
		if len(out) == 0 || last != o.Topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			t.Topic = o.Topic
			if f.byID {
				_, id, _, code := f.s.c.topic(false, o.Topic, o.TopicID)
				if code != 0 {
					continue
				}
				t.TopicID = id
			}
			out, last = append(out, t), o.Topic
		}
		t := &out[len(out)-1]
		t.Partitions = append(t.Partitions, f.answer(o.Topic, o))
	}
	return out
}

func (f fetch) answer(topic string, o Offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	metadata := ""
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, -1, -1, &metadata
	switch {
	case f.stable && f.s.open.holds(f.group, topic, o.Partition):
		p.ErrorCode = kerr.UnstableOffsetCommit.Code
	case o.Found && !f.s.c.stale(topic, o.TopicID):
		p.Offset, p.LeaderEpoch, metadata = o.Offset, o.LeaderEpoch, o.Metadata
	}
	return p
}

// oldFetch turns a request before v8 into one of one group. Before v2 there is no way to ask for all.
func oldFetch(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics == nil && req.Version >= 2 {
		return g
	}
	g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i, t := range req.Topics {
		g.Topics[i].Topic, g.Topics[i].Partitions = t.Topic, t.Partitions
	}
	return g
}

// oldFetchAnswer turns the answer for one group into one before v8. Before v2 the group's error has no place of its
// own: each partition carries it.
func oldFetchAnswer(resp *kmsg.OffsetFetchResponse, asked *kmsg.OffsetFetchRequestGroup, g *kmsg.OffsetFetchResponseGroup) {
	resp.ErrorCode = g.ErrorCode
	if g.ErrorCode != 0 && resp.Version < 2 {
		for _, t := range asked.Topics {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetFetchResponseTopicPartition()
				metadata := ""
				rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata, rp.ErrorCode = p, -1, -1, &metadata, g.ErrorCode
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(g.Topics))
	for i, t := range g.Topics {
		rt := &resp.Topics[i]
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, p.Offset, p.LeaderEpoch
			rp.Metadata, rp.ErrorCode = p.Metadata, p.ErrorCode
		}
	}
}
