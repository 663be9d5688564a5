package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// skipUnseen moves positions over offsets that hold no record: compaction may have removed the last ones before the
// place to stop at, and the client says nothing of them. It asks the leaders what is at each position.
func (x *consuming) skipUnseen(ctx context.Context) error {
	ctx, cancel := x.flags.inTime(ctx)
	defer cancel()
	topics, err := topicMetadata(ctx, x.cl, x.topic)
	if err != nil || len(topics) != 1 {
		return err
	}
	for _, p := range topics[0].Partitions {
		x.mu.Lock()
		at, reads := x.position[p.Partition]
		stop := x.stop[p.Partition]
		x.mu.Unlock()
		if !reads || at < 0 || at >= stop || p.Leader < 0 {
			continue
		}
		next, err := x.nextSeen(ctx, topics[0], p, at)
		if err != nil {
			return err
		}
		x.mu.Lock()
		if x.position[p.Partition] == at { // no record has come meanwhile
			x.position[p.Partition] = next
		}
		x.mu.Unlock()
	}
	return nil
}

// nextSeen fetches from an offset and returns the one behind what holds no record. Errors that the client meets too are
// its to tell.
func (x *consuming) nextSeen(ctx context.Context, t kmsg.MetadataResponseTopic, p kmsg.MetadataResponseTopicPartition, at int64) (int64, error) {
	req := fetchRequest(t, p, at, x.flags.committed)
	kresp, err := x.cl.Broker(int(p.Leader)).Request(ctx, req)
	if err != nil {
		return at, cause(ctx, err)
	}
	resp := kresp.(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return at, nil
	}
	part := resp.Topics[0].Partitions[0]
	if part.ErrorCode != 0 {
		return at, nil
	}
	if len(part.RecordBatches) == 0 {
		return part.HighWatermark, nil // nothing from here to the end
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: at, Topic: x.topic, Partition: p.Partition}
	if x.flags.committed {
		opts.IsolationLevel = kgo.ReadCommitted()
	}
	fetched, _ := kgo.ProcessFetchPartition(opts, &part, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		return at, fmt.Errorf("topic %s partition %d at offset %d: %w", x.topic, p.Partition, at, fetched.Err)
	}
	if len(fetched.Records) > 0 {
		return at, nil // they are on their way
	}
	next := at
	for rest := part.RecordBatches; ; {
		var b record.Batch
		if b, rest, err = record.Next(rest); err != nil {
			return next, nil // the last batch of an answer may be cut off
		}
		next = max(next, b.LastOffset()+1)
	}
}

func fetchRequest(t kmsg.MetadataResponseTopic, p kmsg.MetadataResponseTopicPartition, at int64, committed bool) *kmsg.FetchRequest {
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.Partition, fp.FetchOffset, fp.PartitionMaxBytes, fp.CurrentLeaderEpoch = p.Partition, at, partitionBytes, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic, ft.TopicID, ft.Partitions = *t.Topic, t.TopicID, append(ft.Partitions, fp)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes, req.Topics = 0, partitionBytes, append(req.Topics, ft)
	if committed {
		req.IsolationLevel = 1
	}
	return req
}
