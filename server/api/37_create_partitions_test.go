package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

func growRequest(topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.Topics = 3, topics
	return req
}

func growTo(topic string, count int32, brokers ...[]int32) kmsg.CreatePartitionsRequestTopic {
	req := kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count}
	for _, replicas := range brokers {
		req.Assignment = append(req.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
	}
	return req
}

// Fault A21: validate-only adds nothing, and what is refused is refused either way.
func TestTopicsGrowOnlyWhenTheyMay(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 2, 1))
	none := growTo("t", 3)
	none.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	for _, c := range []struct {
		name  string
		topic kmsg.CreatePartitionsRequestTopic
		want  int16
	}{
		{"same number", growTo("t", 2), 37},
		{"fewer", growTo("t", 1), 37},
		{"none", growTo("t", 0), 37},
		{"less than none", growTo("t", -1<<31), 37},
		{"unknown topic", growTo("none", 5), 3},
		{"bad name", growTo("../t", 5), 3},
		{"too many", growTo("t", 10_003), 44},
		{"far too many", growTo("t", 1<<31-1), 44},
		{"no assignment", none, 39},
		{"too few assignments", growTo("t", 4, []int32{1}), 39},
		{"too many assignments", growTo("t", 3, []int32{1}, []int32{1}), 39},
		{"assignment to nobody", growTo("t", 3, []int32{}), 39},
		{"assignment to an unknown broker", growTo("t", 3, []int32{9}), 39},
		{"assignment to more brokers than the rest has", growTo("t", 3, []int32{1, 1}), 39},
	} {
		for _, validateOnly := range []bool{true, false} {
			req := growRequest(c.topic)
			req.ValidateOnly = validateOnly
			if got := b.answerCreatePartitions(req).Topics; len(got) != 1 || got[0].ErrorCode != c.want {
				t.Errorf("%s: %+v, want error %d", c.name, got, c.want)
			}
			wantPartitions(t, b, "t", 2)
		}
	}
	for _, good := range []kmsg.CreatePartitionsRequestTopic{growTo("t", 5), growTo("t", 3, []int32{1})} {
		req := growRequest(good)
		req.ValidateOnly = true
		if got := b.answerCreatePartitions(req).Topics[0]; got.ErrorCode != 0 || got.ErrorMessage != nil {
			t.Errorf("validate only: %+v", got)
		}
		wantPartitions(t, b, "t", 2)
	}
}

func TestNewPartitionsHaveAsManyReplicasAsTheOld(t *testing.T) {
	b := topicBroker(t)
	registerBrokers(t, b, metadata.Broker{ID: 2}, metadata.Broker{ID: 3})
	mustCreate(t, b, newTopic("t", 1, 2), newTopic("u", 1, 1))
	resp := b.answerCreatePartitions(growRequest(growTo("t", 3), growTo("u", 2, []int32{3}), growTo("none", 2), growTo("t", 4), growTo("x", 1), growTo("x", 1)))
	codes := map[string][]int16{}
	for _, topic := range resp.Topics {
		codes[topic.Topic] = append(codes[topic.Topic], topic.ErrorCode)
	}
	if len(resp.Topics) != 4 || codes["t"][0] != 42 || codes["u"][0] != 0 || codes["none"][0] != 3 || codes["x"][0] != 42 {
		t.Errorf("codes are %v", codes)
	}
	wantPartitions(t, b, "t", 1)
	if got := b.answerCreatePartitions(growRequest(growTo("t", 3))).Topics[0].ErrorCode; got != 0 {
		t.Errorf("error %d", got)
	}
	img := b.Metadata.Image()
	topic, _ := img.Topic("t")
	for p := range topic.Partitions() {
		if len(p.Replicas) != 2 || p.Replicas[0] == p.Replicas[1] || len(p.ISR) != 2 || len(p.Directories) != 2 || p.Directories[0].IsZero() {
			t.Errorf("partition %d: %+v", p.ID, p)
		}
	}
	topic, _ = img.Topic("u")
	if p, _ := topic.Partition(1); p.Leader != 3 || p.LeaderEpoch != 0 {
		t.Errorf("the partition that was assigned to broker 3 is %+v", p)
	}
}
