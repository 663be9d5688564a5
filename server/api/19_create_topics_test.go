package api

import (
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

func assigned(topic kmsg.CreateTopicsRequestTopic, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	for i, brokers := range replicas {
		topic.ReplicaAssignment = append(topic.ReplicaAssignment,
			kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: brokers})
	}
	return topic
}

func withNumbers(topic kmsg.CreateTopicsRequestTopic, partitions ...int32) kmsg.CreateTopicsRequestTopic {
	for _, p := range partitions {
		topic.ReplicaAssignment = append(topic.ReplicaAssignment,
			kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: p, Replicas: []int32{1}})
	}
	return topic
}

// Faults A21, bad inputs 31, 32 and 39.
func TestTopicsAreRefusedWithKafkasCodesAndNothingIsMade(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("exists", 1, 1), newTopic("a.b", 1, 1))
	null := newTopic("t", 1, 1, "retention.ms", "")
	null.Configs[0].Value = nil
	for _, c := range []struct {
		name  string
		topic kmsg.CreateTopicsRequestTopic
		want  int16
	}{
		{"existing name", newTopic("exists", 1, 1), 36},
		{"no name", newTopic("", 1, 1), 17},
		{"dot", newTopic(".", 1, 1), 17},
		{"two dots", newTopic("..", 1, 1), 17},
		{"parent folder", newTopic("../x", 1, 1), 17},
		{"absolute path", newTopic("/etc/x", 1, 1), 17},
		{"folder", newTopic("a/b", 1, 1), 17},
		{"zero byte", newTopic("a\x00b", 1, 1), 17},
		{"newline", newTopic("a\n", 1, 1), 17},
		{"space", newTopic("a b", 1, 1), 17},
		{"not ASCII", newTopic("ä", 1, 1), 17},
		{"not UTF-8", newTopic("\xff", 1, 1), 17},
		{"too long", newTopic(strings.Repeat("x", 250), 1, 1), 17},
		{"same but for a dot", newTopic("a_b", 1, 1), 17},
		{"Kafka's metadata log", newTopic("__cluster_metadata", 1, 1), 42},
		{"no partitions", newTopic("t", 0, 1), 37},
		{"-2 partitions", newTopic("t", -2, 1), 37},
		{"no replicas", newTopic("t", 1, 0), 38},
		{"-2 replicas", newTopic("t", 1, -2), 38},
		{"more replicas than brokers", newTopic("t", 1, 3), 38},
		{"1000 replicas", newTopic("t", 100, 1000), 38},
		{"10^9 partitions", newTopic("t", 1e9, 1), 44},
		{"10^9 partitions of 1000 replicas", newTopic("t", 1e9, 1000), 44},
		{"one partition more than a request may have", newTopic("t", 10_001, 1), 44},
		{"as many records as partitions and a topic more", newTopic("t", 10_000, 1), 44},
		{"folder's name too long", newTopic(strings.Repeat("x", 249), 9_999, 1, "flush.ms", "x"), 40},
		{"unknown config", newTopic("t", 1, 1, "no.such", "1"), 40},
		{"bad config", newTopic("t", 1, 1, "retention.ms", "many"), 40},
		{"null config", null, 40},
		{"bad config before bad count", newTopic("t", 0, 1, "no.such", "1"), 40},
		{"bad name before bad config", newTopic("a b", 1, 1, "no.such", "1"), 17},
		{"assignment and counts", assigned(newTopic("t", 1, 1), []int32{1}), 42},
		{"assignment and partitions", assigned(newTopic("t", 1, -1), []int32{1}), 42},
		{"assignment and replicas", assigned(newTopic("t", -1, 1), []int32{1}), 42},
		{"assignment to nobody", assigned(newTopic("t", -1, -1), []int32{}), 39},
		{"assignment to an unknown broker", assigned(newTopic("t", -1, -1), []int32{7}), 39},
		{"assignment to one broker twice", assigned(newTopic("t", -1, -1), []int32{1, 1}), 39},
		{"assignments of several sizes", assigned(newTopic("t", -1, -1), []int32{1}, []int32{1, 2}), 39},
		{"assignment with a gap", withNumbers(newTopic("t", -1, -1), 0, 2), 39},
		{"assignment from 1 on", withNumbers(newTopic("t", -1, -1), 1), 39},
		{"assignment of partition -1", withNumbers(newTopic("t", -1, -1), -1, 0), 39},
		{"assignment of one partition twice", withNumbers(newTopic("t", -1, -1), 0, 0), 39},
	} {
		for _, validateOnly := range []bool{true, false} {
			req := createRequest(c.topic)
			req.ValidateOnly = validateOnly
			got := b.answerCreateTopics(req).Topics
			if len(got) != 1 || got[0].ErrorCode != c.want || got[0].ErrorMessage == nil || got[0].Topic != c.topic.Topic {
				t.Errorf("%s: %+v, want error %d", c.name, got, c.want)
			}
		}
	}
	wantTopics(t, b, "a.b", "exists")
}

func TestTopicWhoseFolderWouldHaveTooLongANameIsRefused(t *testing.T) {
	if r := checkFolder(strings.Repeat("x", 249), 100_000); r != nil {
		t.Errorf("partition 99999: %v", r)
	}
	if r := checkFolder(strings.Repeat("x", 249), 100_001); r == nil || r.code != 37 {
		t.Errorf("partition 100000: %v, want error 37", r)
	}
}

func TestValidateOnlyAnswersAsIfAndMakesNothing(t *testing.T) {
	b := topicBroker(t)
	req := createRequest(newTopic("t", 3, 1, "retention.ms", " 5 "))
	req.ValidateOnly = true
	got := b.answerCreateTopics(req).Topics[0]
	if got.ErrorCode != 0 || got.NumPartitions != 3 || got.ReplicationFactor != 1 || len(got.Configs) < 30 {
		t.Errorf("%+v", got)
	}
	wantTopics(t, b)
}

func TestOneBadTopicDoesNotKeepTheOthersFromBeingMade(t *testing.T) {
	b := topicBroker(t)
	resp := b.answerCreateTopics(createRequest(newTopic("good", 2, 1, "flush.ms", "1000"), newTopic("a b", 1, 1),
		newTopic("twice", 1, 1), newTopic("twice", 2, 1), newTopic("also", 1, 1)))
	codes := map[string][]int16{}
	for _, topic := range resp.Topics {
		codes[topic.Topic] = append(codes[topic.Topic], topic.ErrorCode)
	}
	if len(resp.Topics) != 4 || codes["good"][0] != 0 || codes["also"][0] != 0 || codes["a b"][0] != 17 || codes["twice"][0] != 42 {
		t.Errorf("codes are %v", codes)
	}
	wantTopics(t, b, "also", "good")
	wantPartitions(t, b, "good", 2)
	wantConfigs(t, b, metadata.ResourceTopic, "good", map[string]string{"flush.ms": "1000"})
}

func TestCountsThatAreNotGivenAreTheBrokers(t *testing.T) {
	b := topicBroker(t, "num.partitions=5", "default.replication.factor=2")
	registerBrokers(t, b, metadata.Broker{ID: 2})
	for _, version := range []int16{2, 3, 4, 5, 6, 7} {
		name := string('a' + rune(version))
		req := createRequest(newTopic(name, -1, -1))
		req.Version = version
		if code := b.answerCreateTopics(req).Topics[0].ErrorCode; code != 0 {
			t.Errorf("version %d: error %d", version, code)
		}
		wantPartitions(t, b, name, 5)
		topic, _ := b.Metadata.Image().Topic(name)
		if p, _ := topic.Partition(0); len(p.Replicas) != 2 || len(p.ISR) != 2 || p.Leader != p.Replicas[0] {
			t.Errorf("version %d: %+v", version, p)
		}
	}
}

func TestTopicIsDescribedByWhatTheVersionHas(t *testing.T) {
	b := topicBroker(t)
	for version := int16(2); version <= 7; version++ {
		req := createRequest(newTopic(string('a'+rune(version)), 2, 1, "retention.ms", " 1000000 "))
		req.Version = version
		got := parsed(t, b.answerCreateTopics(req), version).Topics[0]
		if hasID := got.TopicID != [16]byte{}; got.ErrorCode != 0 || hasID != (version >= 7) {
			t.Errorf("version %d: %+v", version, got)
		}
		if version < 5 {
			continue
		}
		if got.NumPartitions != 2 || got.ReplicationFactor != 1 {
			t.Errorf("version %d: %d partitions, %d replicas", version, got.NumPartitions, got.ReplicationFactor)
		}
		for _, c := range got.Configs {
			own := c.Name == "retention.ms"
			if own != (c.Source == 1) || own && *c.Value != " 1000000 " || c.Source < 1 || c.Source > 6 {
				t.Errorf("version %d: %s from source %d", version, c.Name, c.Source)
			}
		}
	}
}

func TestRequestThatIsTooLateMakesNothing(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1))
	name := "t"
	for _, ms := range []int32{0, -1} {
		create := createRequest(newTopic("new", 1, 1))
		create.TimeoutMillis = ms
		drop := kmsg.NewPtrDeleteTopicsRequest()
		drop.Version, drop.Topics, drop.TimeoutMillis = 6, []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}, ms
		grow := kmsg.NewPtrCreatePartitionsRequest()
		grow.Topics, grow.TimeoutMillis = []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}, ms
		codes := [3]int16{b.answerCreateTopics(create).Topics[0].ErrorCode, b.answerDeleteTopics(drop).Topics[0].ErrorCode,
			b.answerCreatePartitions(grow).Topics[0].ErrorCode}
		if codes != [3]int16{7, 7, 7} {
			t.Errorf("timeout %d: codes %v, want 7", ms, codes)
		}
	}
	wantTopics(t, b, "t")
	wantPartitions(t, b, "t", 1)
}

func TestOfManyWhoMakeATopicAtOnceOneSucceeds(t *testing.T) {
	b := topicBroker(t)
	var wg sync.WaitGroup
	codes := make([]int16, 16)
	for i := range codes {
		wg.Go(func() {
			codes[i] = b.answerCreateTopics(createRequest(newTopic("t", int32(i+1), 1))).Topics[0].ErrorCode
		})
	}
	wg.Wait()
	made := 0
	for i, code := range codes {
		switch code {
		case 0:
			made++
			wantPartitions(t, b, "t", i+1)
		case 36:
		default:
			t.Errorf("error %d", code)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d made the topic", made, len(codes))
	}
}

func TestClosedMetadataIsSaidForEveryTopic(t *testing.T) {
	b := openTopicBroker(t, t.TempDir())
	closeTopicBroker(t, b)
	resp := b.answerCreateTopics(createRequest(newTopic("a", 1, 1), newTopic("b", 1, 1)))
	if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != 41 || resp.Topics[1].ErrorCode != 41 {
		t.Errorf("%+v, want error 41 twice", resp.Topics)
	}
}
