package api

// DeleteRecords (key 21), versions 0 to 2.
//
// Behaviours that matter:
//   - records below the offset are gone for readers at once; -1 is the high watermark; an offset below the log start
//     changes nothing, one above the high watermark or below -1 is OFFSET_OUT_OF_RANGE
//   - a topic that is only compacted is POLICY_VIOLATION, an internal one INVALID_TOPIC_EXCEPTION
//   - the log start may come to lie inside a batch, which is then still served as a whole
//   - a partition that a request names twice is looked at once, with the offset that came last
//   - the answer has the log start offset: that of all replicas

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) deleteRecords(r *wire.Request) error {
	req := kmsg.NewPtrDeleteRecordsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.deleted(req))
	return nil
}

func (b *Broker) deleted(req *kmsg.DeleteRecordsRequest) *kmsg.DeleteRecordsResponse {
	upTo := make(map[numbered]int64)
	for i := range req.Topics {
		for _, p := range req.Topics[i].Partitions {
			upTo[numbered{req.Topics[i].Topic, p.Partition}] = p.Offset
		}
	}
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for i := range req.Topics {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = req.Topics[i].Topic
		topic := b.Partitions.ByName(rt.Topic)
		for _, p := range req.Topics[i].Partitions {
			key := numbered{rt.Topic, p.Partition}
			offset, ok := upTo[key]
			if !ok {
				continue // answered before
			}
			delete(upTo, key)
			rp := kmsg.NewDeleteRecordsResponseTopicPartition()
			rp.Partition = p.Partition
			rp.LowWatermark, rp.ErrorCode = deleteUpTo(topic, p.Partition, offset)
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

// deleteUpTo deletes a partition's records below an offset, and returns where it begins now.
func deleteUpTo(topic *partition.Topic, index int32, offset int64) (lowWatermark int64, code int16) {
	p, code := partitionAt(topic, index, -1)
	switch {
	case code != 0:
		return -1, code
	case topic.Internal:
		return -1, kerr.InvalidTopicException.Code
	case !topic.Config().Delete:
		return -1, kerr.PolicyViolation.Code
	}
	start, err := p.Log.DeleteRecordsTo(offset)
	if err != nil {
		return -1, readCode(err)
	}
	return start, 0
}
