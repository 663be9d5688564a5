package clients

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask sends a request and fails the test where there is no answer.
func ask[R any](ctx context.Context, t *testing.T, c *kgo.Client, req interface {
	RequestWith(context.Context, kmsg.Requestor) (R, error)
}) R {
	t.Helper()
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		t.Fatalf("%T: %v", req, err)
	}
	return resp
}

// ok fails the test where a code is an error.
func ok(t *testing.T, what string, code int16) {
	t.Helper()
	if err := kerr.ErrorForCode(code); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// create makes a topic, with configs of KEY, VALUE pairs.
func create(ctx context.Context, t *testing.T, c *kgo.Client, topic string, partitions int32, configs ...string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	for i := 0; i < len(configs); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = configs[i], &configs[i+1]
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	ok(t, "create "+topic, ask(ctx, t, c, req).Topics[0].ErrorCode)
}

// config returns one key of a topic.
func config(ctx context.Context, t *testing.T, c *kgo.Client, topic, key string) string {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{key}
	req.Resources = append(req.Resources, rr)
	got := ask(ctx, t, c, req).Resources[0]
	ok(t, "describe configs of "+topic, got.ErrorCode)
	if len(got.Configs) != 1 || got.Configs[0].Name != key || got.Configs[0].Value == nil {
		t.Fatalf("configs of %s: %+v, want %s alone", topic, got.Configs, key)
	}
	return *got.Configs[0].Value
}

// offset asks for the offset of a timestamp: -1 the end, -2 the start.
func offset(ctx context.Context, t *testing.T, c *kgo.Client, topic string, partition int32, timestamp int64) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Timestamp = topic, partition, timestamp
	rt.Partitions = append(rt.Partitions, rp)
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	got := ask(ctx, t, c, req).Topics[0].Partitions[0]
	ok(t, "list offsets of "+topic, got.ErrorCode)
	return got.Offset
}

func TestFranzAdminRequestsDoWhatTheySay(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	c := franz(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	create(ctx, t, c, "admin", 1, "retention.ms", "3600000", "compression.type", "lz4")
	if got := config(ctx, t, c, "admin", "retention.ms"); got != "3600000" {
		t.Errorf("retention.ms is %s", got)
	}

	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	ar := kmsg.NewIncrementalAlterConfigsRequestResource()
	ac := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	ar.ResourceType, ar.ResourceName = kmsg.ConfigResourceTypeTopic, "admin"
	ac.Name, ac.Op, ac.Value = "flush.messages", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("1")
	ar.Configs = append(ar.Configs, ac)
	alter.Resources = append(alter.Resources, ar)
	ok(t, "alter configs", ask(ctx, t, c, alter).Resources[0].ErrorCode)

	grow := kmsg.NewPtrCreatePartitionsRequest()
	gt := kmsg.NewCreatePartitionsRequestTopic()
	gt.Topic, gt.Count = "admin", 3
	grow.Topics = append(grow.Topics, gt)
	ok(t, "create partitions", ask(ctx, t, c, grow).Topics[0].ErrorCode)

	// Every partition is there to produce to when the answer is.
	spread(ctx, t, c, "admin", 3, values(300))
	cut := kmsg.NewPtrDeleteRecordsRequest()
	ct := kmsg.NewDeleteRecordsRequestTopic()
	cp := kmsg.NewDeleteRecordsRequestTopicPartition()
	ct.Topic, cp.Partition, cp.Offset = "admin", 1, 40
	ct.Partitions = append(ct.Partitions, cp)
	cut.Topics = append(cut.Topics, ct)
	ok(t, "delete records", ask(ctx, t, c, cut).Topics[0].Partitions[0].ErrorCode)

	// What was changed is still so after a stop.
	b.Stop(t)
	b.Start(t)
	if got := config(ctx, t, c, "admin", "flush.messages"); got != "1" {
		t.Errorf("flush.messages is %s after a restart", got)
	}
	for p, start := range []int64{0, 40, 0} {
		if from, to := offset(ctx, t, c, "admin", int32(p), -2), offset(ctx, t, c, "admin", int32(p), -1); from != start || to != 100 {
			t.Errorf("partition %d has offsets from %d to %d, want %d to 100", p, from, to, start)
		}
	}
	clean(t, b)
}

func TestFranzSeesADeletedTopicGoAndANewOneOfThatName(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	for range 3 {
		c := franz(t, b)
		create(ctx, t, c, "again", 1)
		send(ctx, t, c, "again", values(50))
		if got := offset(ctx, t, c, "again", 0, -1); got != 50 {
			t.Errorf("the topic ends at %d, want 50: records of one that was deleted", got)
		}
		req := kmsg.NewPtrDeleteTopicsRequest()
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr("again")
		req.TopicNames, req.Topics = []string{"again"}, append(req.Topics, rt)
		ok(t, "delete", ask(ctx, t, c, req).Topics[0].ErrorCode)
	}
	clean(t, b)
}

func TestFranzGroupRequestsDoWhatTheySay(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	c := franz(t, b)
	send(ctx, t, c, "t", values(10))
	m := join(t, b, "watched", "t")
	m.take(ctx, t, 10)

	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"watched", "nobody"}
	got := map[string]string{}
	for _, g := range ask(ctx, t, c, describe).Groups {
		got[g.Group] = g.State
	}
	if got["watched"] != "Stable" || got["nobody"] != "Dead" {
		t.Errorf("group states %v", got)
	}
	m.Close()

	drop := kmsg.NewPtrDeleteGroupsRequest()
	drop.Groups = []string{"watched"}
	ok(t, "delete group", ask(ctx, t, c, drop).Groups[0].ErrorCode)
	for _, g := range ask(ctx, t, c, kmsg.NewPtrListGroupsRequest()).Groups {
		t.Errorf("group %s is there after it was deleted", g.Group)
	}
	clean(t, b)
}
