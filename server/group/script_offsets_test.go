package group

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The commands about offsets. Partitions are told as topic/partition, with =offset where one is committed.

func cutPartition(s string) (topic string, partition int32, rest string) {
	s, rest, _ = strings.Cut(s, "=")
	topic, p, _ := strings.Cut(s, "/")
	fmt.Sscan(p, &partition)
	return topic, partition, rest
}

func (s *script) commit() {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID = int16(s.num("v", 9)), s.str("group", "g"), s.str("id", "")
	req.Generation, req.InstanceID, req.RetentionTimeMillis = int32(s.num("gen", -1)), s.opt("instance"), int64(s.num("retention", -1))
	for _, o := range s.list("offsets") {
		topic, partition, offset := cutPartition(o)
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.LeaderEpoch = partition, int32(s.num("epoch", -1))
		fmt.Sscan(offset, &p.Offset)
		meta := strings.Repeat("m", s.num("metadata", 1))
		p.Metadata = &meta
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.OffsetCommitRequestTopicPartition{p}
		if req.Version >= 10 {
			fmt.Sscan(topic, &t.TopicID[0])
			t.Topic = ""
		}
		req.Topics = append(req.Topics, t)
	}
	name := s.str("m", "answer")
	s.c.OffsetCommit(req, func(r *kmsg.OffsetCommitResponse) {
		text := "committed"
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				text += " " + errName(p.ErrorCode)
			}
		}
		s.out = append(s.out, name+": "+text)
	})
}

func (s *script) fetch() {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.RequireStable = int16(s.num("v", 7)), s.str("group", "g"), s.d.HasArg("stable")
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	for _, o := range s.list("of") {
		topic, partition, _ := cutPartition(o)
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = topic, []int32{partition}
		if req.Version >= 10 {
			fmt.Sscan(topic, &gt.TopicID[0])
		}
		g.Topics = append(g.Topics, gt)
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{partition}})
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	name := s.str("m", "answer")
	s.c.OffsetFetch(req, func(r *kmsg.OffsetFetchResponse) { s.out = append(s.out, name+": "+fetchText(r)) })
}

func fetchText(r *kmsg.OffsetFetchResponse) string {
	text := "fetched"
	line := func(topic string, partition int32, offset int64, epoch int32, meta string, code int16) {
		text += fmt.Sprintf(" %s/%d=%d", topic, partition, offset)
		if offset >= 0 {
			text += fmt.Sprintf("(epoch %d, %q)", epoch, meta)
		}
		if code != 0 {
			text += " " + errName(code)
		}
	}
	if r.ErrorCode != 0 {
		text += " " + errName(r.ErrorCode)
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			line(t.Topic, p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata, p.ErrorCode)
		}
	}
	for _, g := range r.Groups {
		if g.ErrorCode != 0 {
			text += " " + errName(g.ErrorCode)
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				line(fmt.Sprintf("%s(%d)", t.Topic, t.TopicID[0]), p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata, p.ErrorCode)
			}
		}
	}
	return text
}

func (s *script) forget() {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = s.str("group", "g")
	for _, o := range s.list("of") {
		topic, partition, _ := cutPartition(o)
		req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}})
	}
	s.c.OffsetDelete(req, func(r *kmsg.OffsetDeleteResponse) {
		text := errName(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				text += " " + errName(p.ErrorCode)
			}
		}
		s.say("%s", text)
	})
}
