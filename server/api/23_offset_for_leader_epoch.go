package api

// OffsetForLeaderEpoch (key 23), versions 2 to 4.
//
// Behaviours that matter (KIP-101, KIP-279, KIP-320):
//   - the answer is the largest leader epoch that is at most the one asked for, and where its records end; for the current
//     one that is the log end offset
//   - an epoch after the current one, and -1, have epoch -1 and offset -1, and no error
//   - a current leader epoch that is not the partition's is FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) offsetForLeaderEpoch(r *wire.Request) error {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		topic := b.Partitions.ByName(t.Topic)
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, -1, -1
			at, code := partitionAt(topic, p.Partition, p.CurrentLeaderEpoch)
			if rp.ErrorCode = code; code == 0 {
				rp.LeaderEpoch, rp.EndOffset = at.Log.EndOffsetForEpoch(p.LeaderEpoch)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
	return nil
}
