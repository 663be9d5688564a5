package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topic resolves a topic that a request names, from v10 on by its id. code is what each of its partitions is answered
// with where it is not known.
func (c *Coordinator) topic(byID bool, name string, id [16]byte) (realName string, realID [16]byte, partitions int32, code int16) {
	if c.topics == nil {
		return name, id, 1<<31 - 1, 0
	}
	if byID {
		name, partitions, ok := c.topics.ByID(id)
		if !ok {
			return "", id, 0, kerr.UnknownTopicID.Code
		}
		return name, id, partitions, 0
	}
	id, partitions, ok := c.topics.ByName(name)
	if !ok {
		return name, id, 0, kerr.UnknownTopicOrPartition.Code
	}
	return name, id, partitions, 0
}

// OffsetCommit commits offsets. Partitions that do not exist are refused one by one: UNKNOWN_TOPIC_OR_PARTITION, for
// an id UNKNOWN_TOPIC_ID; what is left goes to the group.
func (c *Coordinator) OffsetCommit(req *kmsg.OffsetCommitRequest, reply func(*kmsg.OffsetCommitResponse)) {
	resp, commits, cells := c.commits(req)
	if len(commits) == 0 {
		reply(resp)
		return
	}
	done := func(codes []int16) {
		for i, code := range codes {
			*cells[i] = code
		}
		reply(resp)
	}
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		sl := s.groups[req.Group]
		switch {
		case code != 0 || sl != nil:
		case req.Generation < 0:
			sl = s.find(now, req.Group, true) // an offset store without members
		case req.Version >= 9:
			code = kerr.GroupIDNotFound.Code
		default:
			code = kerr.IllegalGeneration.Code
		}
		if code != 0 {
			codes := make([]int16, len(commits))
			fill(codes, code)
			s.out = append(s.out, func() { done(codes) })
			return
		}
		who := Committer{MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation, RetentionMs: -1}
		if req.Version >= 2 && req.Version <= 4 {
			who.RetentionMs = req.RetentionTimeMillis
		}
		s.collect(sl, sl.group.CommitOffsets(now, who, commits, done))
	})
}

// commits makes the answer's shape and lists what may be committed, with the place of each one's code.
func (c *Coordinator) commits(req *kmsg.OffsetCommitRequest) (resp *kmsg.OffsetCommitResponse, commits []Commit, cells []*int16) {
	resp = kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		name, id, n, code := c.topic(req.Version >= 10, t.Topic, t.TopicID)
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p, rp := &t.Partitions[j], &rt.Partitions[j]
			rp.Partition, rp.ErrorCode = p.Partition, code
			if code == 0 && (p.Partition < 0 || p.Partition >= n) {
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			if rp.ErrorCode != 0 {
				continue
			}
			cm := Commit{Topic: name, TopicID: id, Partition: p.Partition, Offset: p.Offset, LeaderEpoch: -1}
			if req.Version >= 6 {
				cm.LeaderEpoch = p.LeaderEpoch
			}
			if p.Metadata != nil {
				cm.Metadata = *p.Metadata
			}
			commits = append(commits, cm)
			cells = append(cells, &rp.ErrorCode)
		}
	}
	return resp, commits, cells
}

// OffsetDelete deletes offsets of topics that exist. What fails for the group as a whole has an answer without topics.
func (c *Coordinator) OffsetDelete(req *kmsg.OffsetDeleteRequest, reply func(*kmsg.OffsetDeleteResponse)) {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var wanted []TopicPartition
	var cells []*int16
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic = t.Topic
		_, _, n, code := c.topic(false, t.Topic, [16]byte{})
		rt.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Partition, rp.ErrorCode = p.Partition, code
			if code == 0 && (p.Partition < 0 || p.Partition >= n) {
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			if rp.ErrorCode == 0 {
				wanted = append(wanted, TopicPartition{t.Topic, p.Partition})
				cells = append(cells, &rp.ErrorCode)
			}
		}
	}
	done := func(code int16, codes []int16) {
		for i, code := range codes {
			*cells[i] = code
		}
		if resp.ErrorCode = code; code != 0 {
			resp.Topics = nil
		}
		reply(resp)
	}
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		sl := s.groups[req.Group]
		switch {
		case req.Group == "":
			code = kerr.InvalidGroupID.Code
		case code == 0 && sl == nil:
			code = kerr.GroupIDNotFound.Code
		}
		if code != 0 {
			s.out = append(s.out, func() { done(code, nil) })
			return
		}
		s.collect(sl, sl.group.DeleteOffsets(now, wanted, done))
	})
}
