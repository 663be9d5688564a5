package directories

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// A reader asks one broker for everything that a client can read of it.
type reader struct {
	ctx  context.Context
	t    testing.TB
	addr string
	c    *kgo.Client
}

func newReader(ctx context.Context, t testing.TB, addr string) reader {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return reader{ctx, t, addr, c}
}

// ask sends a request to the broker, in the newest version that both have.
func ask[R kmsg.Response](r reader, req kmsg.Request) R {
	r.t.Helper()
	resp, err := r.c.SeedBrokers()[0].Request(r.ctx, req)
	if err != nil {
		r.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

// topic is a topic as Metadata answers.
func (r reader) topic(name string) kmsg.MetadataResponseTopic {
	r.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	for {
		got := ask[*kmsg.MetadataResponse](r, req).Topics[0]
		err := kerr.ErrorForCode(got.ErrorCode)
		for _, p := range got.Partitions {
			if err == nil {
				err = kerr.ErrorForCode(p.ErrorCode)
			}
		}
		if err == nil {
			slices.SortFunc(got.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			return got
		}
		if !kerr.IsRetriable(err) { // a broker that has just started elects leaders
			r.t.Fatalf("metadata of %s: %v", name, err)
		}
	}
}

// Times and offsets of ListOffsets.
const (
	latest   = -1
	earliest = -2
)

// offset looks an offset up, and returns it with its timestamp.
func (r reader) offset(topic string, partition int32, time int64, isolation int8) (offset, timestamp int64) {
	r.t.Helper()
	rt := kmsg.NewListOffsetsRequestTopic()
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, time, -1
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel, req.Topics = -1, isolation, append(req.Topics, rt)
	var got kmsg.ListOffsetsResponseTopicPartition
	r.untilDone(fmt.Sprintf("offset of %s-%d for %d", topic, partition, time), func() int16 { // a Kafka that has just started does not lead yet
		got = ask[*kmsg.ListOffsetsResponse](r, req).Topics[0].Partitions[0]
		return got.ErrorCode
	})
	return got.Offset, got.Timestamp
}

// fetched is a batch, and whether a reader of committed records passes over it.
type fetched struct {
	record.Batch
	aborted bool
}

// batches reads a partition from its start to its end, as far as an isolation level lets a client.
func (r reader) batches(topic kmsg.MetadataResponseTopic, partition int32, isolation int8) (all []fetched) {
	r.t.Helper()
	at, _ := r.offset(*topic.Topic, partition, earliest, isolation)
	end, _ := r.offset(*topic.Topic, partition, latest, isolation)
	for at < end {
		rt := kmsg.NewFetchRequestTopic()
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, at, 1<<20
		rt.Topic, rt.TopicID, rt.Partitions = *topic.Topic, topic.TopicID, append(rt.Partitions, rp)
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxBytes, req.IsolationLevel, req.Topics = -1, 10<<20, isolation, append(req.Topics, rt)
		got := ask[*kmsg.FetchResponse](r, req)
		if got.ErrorCode != 0 || len(got.Topics) != 1 || got.Topics[0].Partitions[0].ErrorCode != 0 {
			r.t.Fatalf("fetch %s-%d from %d: %+v", *topic.Topic, partition, at, got)
		}
		p := got.Topics[0].Partitions[0]
		next := at
		for _, b := range split(r.t, p.RecordBatches, p.AbortedTransactions) {
			if b.LastOffset() >= at && b.BaseOffset() < end {
				all, next = append(all, b), b.LastOffset()+1
			}
		}
		if next == at {
			r.t.Fatalf("fetch %s-%d from %d, end %d: %d bytes, and nothing new", *topic.Topic, partition, at, end, len(p.RecordBatches))
		}
		at = next
	}
	return all
}

// split splits an answer's bytes, the last batch of which may be cut off, and marks what was aborted as a client does: a
// transaction is aborted from its first offset in the list to its marker.
func split(t testing.TB, b []byte, list []kmsg.FetchResponseTopicPartitionAbortedTransaction) (all []fetched) {
	t.Helper()
	slices.SortFunc(list, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return int(a.FirstOffset - b.FirstOffset)
	})
	aborted := map[int64]bool{}
	for rest := b; len(rest) > 0; {
		batch, behind, err := record.Next(rest)
		if err != nil {
			return all
		}
		if err := batch.Check(); err != nil {
			t.Fatal(err)
		}
		for len(list) > 0 && list[0].FirstOffset <= batch.LastOffset() {
			aborted[list[0].ProducerID] = true
			list = list[1:]
		}
		if m, ok := batch.EndTxn(); ok && batch.IsControl() && !m.Commit {
			delete(aborted, batch.ProducerID())
		}
		all = append(all, fetched{batch, batch.IsTransactional() && !batch.IsControl() && aborted[batch.ProducerID()]})
		rest = behind
	}
	return all
}

// records lists the records of a partition, a line each, in the form of ../shared/kafka/README.md.
func (r reader) records(topic kmsg.MetadataResponseTopic, partition int32, isolation int8) (lines []string) {
	r.t.Helper()
	end, _ := r.offset(*topic.Topic, partition, latest, isolation)
	for _, b := range r.batches(topic, partition, isolation) {
		if b.aborted {
			continue
		}
		for rec, err := range b.Records(0) {
			if err != nil {
				r.t.Fatal(err)
			}
			if rec.Offset >= end {
				break
			}
			lines = append(lines, fmt.Sprintf("{%d} %d %d e%d %d %q %08x %d hdr=%d ctl=%v txn=%v codec=%d pid-epoch=%d", isolation, partition,
				rec.Offset, b.PartitionLeaderEpoch(), rec.Timestamp, rec.Key, crc32.ChecksumIEEE(rec.Value), len(rec.Value), len(rec.Headers),
				b.IsControl(), b.IsTransactional(), b.Codec(), b.ProducerEpoch()))
		}
	}
	return lines
}

// text lists all that a client can read of topics, in that form. time is what an offset is looked up for.
func (r reader) text(time int64, topics ...string) (lines []string) {
	r.t.Helper()
	for _, name := range topics {
		topic := r.topic(name)
		lines = append(lines, fmt.Sprintf("topic %s %s %d", name, base64.StdEncoding.EncodeToString(topic.TopicID[:]), len(topic.Partitions)))
		for _, p := range topic.Partitions {
			start, _ := r.offset(name, p.Partition, earliest, 0)
			end, _ := r.offset(name, p.Partition, latest, 0)
			stable, _ := r.offset(name, p.Partition, latest, 1)
			at, when := r.offset(name, p.Partition, time, 0)
			if at < 0 {
				at = end
			}
			lines = append(lines, fmt.Sprintf("partition %d start %d end %d stable %d at %d %d", p.Partition, start, end, stable, at, when))
		}
		for isolation := range int8(2) {
			for _, p := range topic.Partitions {
				lines = append(lines, r.records(topic, p.Partition, isolation)...)
			}
		}
	}
	return lines
}

// committed lists the offsets of a group.
func (r reader) committed(group string) (lines []string) {
	r.t.Helper()
	for {
		req := kmsg.NewPtrOffsetFetchRequest()
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.MemberEpoch = group, -1
		req.Group, req.Groups = group, append(req.Groups, rg)
		resp := ask[*kmsg.OffsetFetchResponse](r, req)
		if len(resp.Groups) != 1 {
			r.t.Fatalf("offsets of %s: %+v", group, resp)
		}
		got := resp.Groups[0]
		if err := kerr.ErrorForCode(got.ErrorCode); kerr.IsRetriable(err) {
			continue // groups are being loaded
		} else if err != nil {
			r.t.Fatalf("offsets of %s: %v", group, err)
		}
		for _, topic := range got.Topics {
			name := topic.Topic
			if name == "" {
				name = r.name(topic.TopicID)
			}
			for _, p := range topic.Partitions {
				metadata := ""
				if p.Metadata != nil {
					metadata = *p.Metadata
				}
				lines = append(lines, fmt.Sprintf("%s %d %d e%d %s", name, p.Partition, p.Offset, p.LeaderEpoch, metadata))
			}
		}
		slices.Sort(lines)
		return lines
	}
}

// name returns the name of the topic of an id.
func (r reader) name(id [16]byte) string {
	r.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}}
	got := ask[*kmsg.MetadataResponse](r, req).Topics[0]
	if got.Topic == nil {
		r.t.Fatalf("topic of id %x: %v", id, kerr.ErrorForCode(got.ErrorCode))
	}
	return *got.Topic
}
