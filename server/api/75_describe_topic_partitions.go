package api

// DescribeTopicPartitions (key 75), version 0 (KIP-966).
//
// Behaviours that matter:
//   - topics come in the order of their names, each once, whatever the order in the request; none asks for all
//   - the answer ends after as many partitions as the client wants, at least 1, at most
//     max.request.partition.size.limit; the cursor says where to go on
//   - a cursor must be at a topic that is asked for, and not at a negative partition: INVALID_REQUEST for all topics.
//     One behind a topic's last partition is answered with none
//   - Kafka loses its way over a topic without a name where there is no cursor, and answers UNKNOWN_SERVER_ERROR
//   - there are no eligible leader replicas beyond the replicas in sync

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) describeTopicPartitions(r *wire.Request) error {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	v := newVantage(b.Metadata.Image(), r.Listener())
	r.Reply(v.answerDescribeTopicPartitions(req, b.Layers().Int("max.request.partition.size.limit")))
	return nil
}

// answerDescribeTopicPartitions answers with at most limit partitions.
func (v *vantage) answerDescribeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest, limit int32) *kmsg.DescribeTopicPartitionsResponse {
	p := page{vantage: v, left: int(max(min(limit, req.ResponsePartitionLimit), 1))}
	if req.Cursor != nil {
		p.start, p.from = req.Cursor.Topic, req.Cursor.Partition
	}
	if req.Cursor != nil && req.Cursor.Partition < 0 {
		return refusePartitions(req, kerr.InvalidRequest.Code)
	}
	if len(req.Topics) == 0 {
		for t := range v.img.Topics(p.start) {
			if !p.add(t.Name()) {
				break
			}
		}
		return p.answer()
	}
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if code := checkCursor(names, req.Cursor); code != 0 {
		return refusePartitions(req, code)
	}
	first, _ := slices.BinarySearch(names, p.start)
	for _, name := range names[first:] {
		if !p.add(name) {
			break
		}
	}
	return p.answer()
}

// checkCursor returns the code that a request is refused with as a whole. The names are in order.
func checkCursor(names []string, c *kmsg.DescribeTopicPartitionsRequestCursor) int16 {
	if c == nil {
		if names[0] == "" {
			return kerr.UnknownServerError.Code
		}
		return 0
	}
	if _, ok := slices.BinarySearch(names, c.Topic); !ok {
		return kerr.InvalidRequest.Code
	}
	return 0
}

func refusePartitions(req *kmsg.DescribeTopicPartitionsRequest, code int16) *kmsg.DescribeTopicPartitionsResponse {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	for i := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.ErrorCode, t.Topic = code, &req.Topics[i].Topic
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// A page is one answer to a question that may take several.
type page struct {
	*vantage
	start string // topic to start in
	from  int32  // its first partition
	left  int    // partitions that fit
	resp  kmsg.DescribeTopicPartitionsResponse
}

func (p *page) answer() *kmsg.DescribeTopicPartitionsResponse { return &p.resp }

// add describes a topic, and reports whether there is room for more behind it.
func (p *page) add(name string) bool {
	if p.left == 0 {
		p.cursor(name, 0)
		return false
	}
	answer := kmsg.NewDescribeTopicPartitionsResponseTopic()
	answer.Topic, answer.IsInternal, answer.AuthorizedOperations = &name, internalTopic(name), topicOperations
	t, ok := p.img.Topic(name)
	if !ok {
		answer.ErrorCode = missingTopic(name)
		p.resp.Topics = append(p.resp.Topics, answer)
		return true
	}
	answer.TopicID = t.ID()
	next := int32(0)
	if name == p.start {
		next = max(p.from, 0)
	}
	for ; int(next) < t.Len() && p.left > 0; next++ {
		one, _ := t.Partition(next)
		answer.Partitions = append(answer.Partitions, p.describe(one))
		p.left--
	}
	p.resp.Topics = append(p.resp.Topics, answer)
	if int(next) < t.Len() {
		p.cursor(name, next)
		return false
	}
	return true
}

func (p *page) cursor(topic string, partition int32) {
	p.resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: topic, Partition: partition}
}

func (p *page) describe(one metadata.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	answer := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	answer.Partition, answer.LeaderEpoch = one.ID, one.LeaderEpoch
	answer.LeaderID, _ = p.leader(one, true)
	answer.Replicas, answer.OfflineReplicas = one.Replicas, p.offlineReplicas(one)
	answer.ISR, answer.EligibleLeaderReplicas = p.inSync(one)
	answer.LastKnownELR = answer.EligibleLeaderReplicas // not null, which would say that there is no such thing
	return answer
}
