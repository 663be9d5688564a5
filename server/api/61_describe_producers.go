package api

// DescribeProducers (key 61), version 0.
//
// Behaviours that matter (KIP-664):
//   - a partition's active producers are those that its log remembers: idempotent ones for a day (producer.id.expiration.ms),
//     and those with an open transaction, which is what keeps the last stable offset back
//   - a name that no topic can have is INVALID_TOPIC_EXCEPTION; an unknown topic or partition is UNKNOWN_TOPIC_OR_PARTITION
//   - a partition that a request names twice is answered once: a log may remember many

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) describeProducers(r *wire.Request) error {
	req := kmsg.NewPtrDescribeProducersRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrDescribeProducersResponse()
	told := map[numbered]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		for _, index := range t.Partitions {
			if key := (numbered{t.Topic, index}); !told[key] {
				told[key] = true
				rt.Partitions = append(rt.Partitions, b.producersOf(t.Topic, index))
			}
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(resp)
	return nil
}

// producersOf answers for one partition.
func (b *Broker) producersOf(topic string, index int32) kmsg.DescribeProducersResponseTopicPartition {
	rp := kmsg.NewDescribeProducersResponseTopicPartition()
	rp.Partition = index
	if r := checkTopicName(topic); r != nil {
		rp.ErrorCode, rp.ErrorMessage = r.code, &r.message
		return rp
	}
	t := b.Partitions.ByName(topic)
	if t == nil {
		rp.ErrorCode, rp.ErrorMessage = kerr.UnknownTopicOrPartition.Code, kmsg.StringPtr(kerr.UnknownTopicOrPartition.Description)
		return rp
	}
	at, code := partitionAt(t, index, -1)
	if rp.ErrorCode = code; code != 0 {
		return rp
	}
	if err := at.Log.Unreadable(); err != nil {
		rp.ErrorCode = readCode(err)
		return rp
	}
	for _, p := range at.Log.Producers() {
		rp.ActiveProducers = append(rp.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
			ProducerID: p.ID, ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastTimestamp,
			CoordinatorEpoch: p.CoordinatorEpoch, CurrentTxnStartOffset: p.CurrentTxnStartOffset,
		})
	}
	return rp
}
