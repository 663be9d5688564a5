package directories

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// producers lists what a broker knows of the producers of a partition. Those of records that are a year old expire with a start.
func (r reader) producers(topic string, partition int32) (lines []string) {
	r.t.Helper()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = topic, []int32{partition}
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = append(req.Topics, rt)
	got := ask[*kmsg.DescribeProducersResponse](r, req).Topics[0].Partitions[0]
	check(r.t, kerr.ErrorForCode(got.ErrorCode))
	for _, p := range got.ActiveProducers {
		if p.CurrentTxnStartOffset >= 0 || time.UnixMilli(p.LastTimestamp).After(time.Now().Add(-12*time.Hour)) {
			lines = append(lines, fmt.Sprintf("producer %s-%d %d epoch %d sequence %d at %d transaction from %d", topic, partition, p.ProducerID,
				p.ProducerEpoch, p.LastSequence, p.LastTimestamp, p.CurrentTxnStartOffset))
		}
	}
	slices.Sort(lines)
	return lines
}

// A sequence is an idempotent producer that outlives brokers: the last batch that it has sent to plain-2, and where that is.
type sequence struct {
	batch record.Batch
	at    int64
}

// begin stores the first batch of a new producer.
func (r reader) begin() *sequence {
	r.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = -1, -1, 60_000
	got := ask[*kmsg.InitProducerIDResponse](r, req)
	check(r.t, kerr.ErrorForCode(got.ErrorCode))
	s := &sequence{batch: numbered(got.ProducerID, got.ProducerEpoch, 0)}
	r.accept(s)
	return s
}

// numbered is a batch of one record of now: producers expire with the time of their records.
func numbered(id int64, epoch int16, sequence int32) record.Batch {
	b := record.NewBuilder(record.None).Producer(id, epoch, sequence)
	b.Add(time.Now().UnixMilli(), []byte("k"), fmt.Append(nil, "number ", sequence, " of producer ", id))
	return b.Bytes()
}

// accept sends the last batch of the producer for the first time.
func (r reader) accept(s *sequence) {
	r.t.Helper()
	at, code := r.put("plain", 2, s.batch)
	check(r.t, kerr.ErrorForCode(code))
	s.at = at
}

// goOn has the producer go on from what the broker before this one has stored: its last batch is a duplicate, one that leaves a number
// out is refused, and the next one is taken.
func (r reader) goOn(s *sequence) {
	r.t.Helper()
	id, epoch, last := s.batch.ProducerID(), s.batch.ProducerEpoch(), s.batch.LastSequence()
	if at, code := r.put("plain", 2, s.batch); code != 0 || at != s.at {
		r.t.Errorf("a retry of number %d of producer %d is at %d, and was at %d: %v", last, id, at, s.at, kerr.ErrorForCode(code))
	}
	if at, code := r.put("plain", 2, numbered(id, epoch, last+2)); code != kerr.OutOfOrderSequenceNumber.Code {
		r.t.Errorf("producer %d leaves number %d out, and is at %d: %v", id, last+1, at, kerr.ErrorForCode(code))
	}
	s.batch = numbered(id, epoch, last+1)
	r.accept(s)
}

// put produces one batch.
func (r reader) put(topic string, partition int32, batch record.Batch) (offset int64, code int16) {
	r.t.Helper()
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, slices.Clone(batch)
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, r.topic(topic).TopicID, append(t.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 30_000, append(req.Topics, t)
	got := ask[*kmsg.ProduceResponse](r, req).Topics[0].Partitions[0]
	return got.BaseOffset, got.ErrorCode
}
