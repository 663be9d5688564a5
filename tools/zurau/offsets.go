package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Timestamps that ask ListOffsets for an end of the log in place of a time.
const (
	atStart = -2
	atEnd   = -1
)

// listOffsets asks for the offset of the first record at or behind a time in ms (or for atStart, atEnd) in each
// partition; -1 where there is none. committed asks for the last stable offset as the end.
func listOffsets(ctx context.Context, cl *kgo.Client, topic string, partitions []int32, timestamp int64, committed bool) (map[int32]int64, error) {
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp = p, timestamp
		t.Partitions = append(t.Partitions, lp)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.Topics = append(req.Topics, t)
	if committed {
		req.IsolationLevel = 1
	}
	offsets := map[int32]int64{}
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, explain(about(topic)+": list offsets", cause(ctx, shard.Err))
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := answered(fmt.Sprintf("topic %s partition %d", topic, p.Partition), p.ErrorCode, nil); err != nil {
					return nil, err
				}
				offsets[p.Partition] = p.Offset
			}
		}
	}
	if len(offsets) != len(partitions) {
		return nil, fmt.Errorf("%s: the broker answered offsets of %d of %d partitions", about(topic), len(offsets), len(partitions))
	}
	return offsets, nil
}

// partitionsOf returns the partitions of a topic that exists.
func partitionsOf(ctx context.Context, cl *kgo.Client, topic string) ([]int32, error) {
	topics, err := topicMetadata(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	if len(topics) != 1 {
		return nil, errors.New("the broker's answer does not hold the topic that was asked for")
	}
	if err := answered(about(topic), topics[0].ErrorCode, nil); err != nil {
		return nil, err
	}
	var all []int32
	for _, p := range topics[0].Partitions {
		all = append(all, p.Partition)
	}
	return all, nil
}

// topicConfigs asks for the configs of topics, by topic.
func topicConfigs(ctx context.Context, cl *kgo.Client, keys []string, topics ...string) (map[string][]kmsg.DescribeConfigsResponseResourceConfig, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, t := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, t, keys
		req.Resources = append(req.Resources, r)
	}
	configs := map[string][]kmsg.DescribeConfigsResponseResourceConfig{}
	if len(topics) == 0 {
		return configs, nil
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, explain("describe configs", cause(ctx, err))
	}
	for _, r := range resp.Resources {
		if err := answered(about(r.ResourceName)+": describe configs", r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
		configs[r.ResourceName] = r.Configs
	}
	return configs, nil
}
