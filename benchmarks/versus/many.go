package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

const (
	// manyTopics of manyPartitions each are P8's; the partitions of one topic are asked for in one request.
	manyTopics      = 10
	manyPartitions  = 1000
	quickPartitions = 20
	// recoverMB in recoverParts partitions is what P9 has written when its broker is killed.
	recoverMB, quickRecoverMB = 10_000, 128
	recoverParts              = 8
	// servesTime is how long a broker may take until all its partitions answer.
	servesTime = 5 * time.Minute
)

// runMany makes many partitions with a record in each, and starts the broker on them again after a stop and after a kill.
func runMany(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	each := manyPartitions
	if t.options.quick {
		each = quickPartitions
	}
	var topics []string
	for range manyTopics {
		topics = append(topics, t.newTopic())
	}
	begin := time.Now()
	if err := createAll(t.ctx, t.live.addr, topics, each); err != nil {
		return nil, err
	}
	v := results.Values{"create_s": time.Since(begin).Seconds(), "partitions": float64(each * len(topics))}
	if err := t.fillAll(topics, each); err != nil {
		return nil, err
	}
	v["rss_MB"] = machine.ResidentMB(t.live.pid)
	var err error
	if v["restart_s"], err = t.again(syscall.SIGTERM, topics, each); err != nil {
		return nil, fmt.Errorf("after a stop: %w", err)
	}
	if v["killed_s"], err = t.again(syscall.SIGKILL, topics, each); err != nil {
		return nil, fmt.Errorf("after a kill: %w", err)
	}
	return v, nil
}

// runRecover kills a broker that has written much, and looks how long it takes until it serves all of it again.
func runRecover(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	topic, mb := t.newTopic(), recoverMB
	if t.options.quick {
		mb = quickRecoverMB
	}
	fill := append(produce(recoverParts, 5, 64, 1000, recoverParts, "1"), "-topic", topic, "-total-mb", strconv.Itoa(mb))
	if _, err := t.drive(results.PhaseWarm, fill...); err != nil {
		return nil, err
	}
	before, err := t.drive(results.PhaseWarm, "count", "-topic", topic)
	if err != nil {
		return nil, err
	}
	took, err := t.again(syscall.SIGKILL, []string{topic}, recoverParts)
	if err != nil {
		return nil, err
	}
	after, err := t.drive(results.PhaseWarm, "count", "-topic", topic)
	if err != nil {
		return nil, err
	}
	if after["records"] < before["records"] {
		return nil, fmt.Errorf("%.0f of %.0f acknowledged records are there after the kill", after["records"], before["records"])
	}
	return results.Values{"killed_s": took, "records": after["records"], "rss_MB": machine.ResidentMB(t.live.pid)}, nil
}

// again ends the broker by a signal, starts it on what it left, and returns the seconds until all partitions answer.
func (t *trial) again(s syscall.Signal, topics []string, each int) (float64, error) {
	p := t.live
	t.live = nil
	if s == syscall.SIGTERM {
		if err := p.stop(); err != nil {
			return 0, err
		}
	} else if err := errors.Join(p.kill(s), p.stop()); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, err
	}
	begin := time.Now()
	if err := t.start(); err != nil {
		return 0, err
	}
	if err := serves(t.ctx, t.live.addr, topics, each); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), nil
}

// fillAll appends a record to each partition.
func (t *trial) fillAll(topics []string, each int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(t.live.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	var records []*kgo.Record
	for _, topic := range topics {
		for p := range each {
			records = append(records, &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte("one")})
		}
	}
	return cl.ProduceSync(t.ctx, records...).FirstErr()
}

// createAll makes topics, one request after the other, and returns when all their partitions answer.
func createAll(ctx context.Context, addr string, topics []string, each int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, name := range topics {
		r := kmsg.NewPtrCreateTopicsRequest()
		r.TimeoutMillis = int32(servesTime.Milliseconds())
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(each), 1
		r.Topics = append(r.Topics, topic)
		resp, err := r.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return fmt.Errorf("create %s: %w", t.Topic, err)
			}
		}
	}
	return serves(ctx, addr, topics, each)
}

// serves returns when every partition of the topics answers where it ends.
func serves(ctx context.Context, addr string, topics []string, each int) error {
	ctx, cancel := context.WithTimeout(ctx, servesTime)
	defer cancel()
	// The client's own patience, 5 s for metadata, would be measured otherwise.
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics(), kgo.MetadataMinAge(10*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }))
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := answering(ctx, cl, topics, each)
		if n == len(topics)*each {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d partitions answer after %v", n, len(topics)*each, servesTime), err)
		}
	}
}

// answering asks all partitions of the topics for their ends, and returns how many say one.
func answering(ctx context.Context, cl *kgo.Client, topics []string, each int) (n int, err error) {
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	for _, name := range topics {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for p := range each {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp, part.CurrentLeaderEpoch = int32(p), -1, -1
			topic.Partitions = append(topic.Partitions, part)
		}
		r.Topics = append(r.Topics, topic)
	}
	var bad []string
	for _, shard := range cl.RequestSharded(ctx, r) {
		resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
		if shard.Err != nil || !ok {
			bad = append(bad, fmt.Sprint(shard.Err))
			continue
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					bad = append(bad, fmt.Sprintf("%s-%d: %v", t.Topic, p.Partition, err))
				} else {
					n++
				}
			}
		}
	}
	if len(bad) > 0 {
		err = errors.New(strings.Join(bad[:min(3, len(bad))], "; "))
	}
	return n, err
}
