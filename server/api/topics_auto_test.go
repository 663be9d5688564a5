package api

import (
	"maps"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{}
	for i := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &names[i]})
	}
	return req
}

func TestTopicsAreMadeOnlyWhereRequestAndBrokerAllowIt(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("there", 1, 1))
	v := b.view(b.Metadata.Image())
	asks := func(version int16, allow bool, names ...string) int {
		req := metadataRequest(version, names...)
		req.AllowAutoTopicCreation = allow
		return len(v.missing(req))
	}
	if n := asks(12, true, "new", "there", "new", "a b", "", ".."); n != 1 {
		t.Errorf("%d topics are missing, want 1", n)
	}
	if n := asks(4, false, "new"); n != 0 {
		t.Error("a topic would be made for a request that does not allow it")
	}
	if n := asks(3, false, "new"); n != 1 {
		t.Error("before version 4 requests always allow it")
	}
	if n := asks(0, false); n != 0 {
		t.Error("topics are missing among all")
	}
	b = topicBroker(t, "auto.create.topics.enable=false")
	v = b.view(b.Metadata.Image())
	if n := asks(12, true, "new"); n != 0 {
		t.Error("a topic would be made for a broker that does not allow it")
	}
}

func TestAutomaticTopicsHaveTheBrokersCounts(t *testing.T) {
	b := topicBroker(t, "num.partitions=3")
	b.autoCreate([]string{"a", "b"})
	b.autoCreate([]string{"b", "a_x", "c"})
	wantTopics(t, b, "a", "a_x", "b", "c")
	wantPartitions(t, b, "a", 3)
	b.autoCreate([]string{"a.x", "d"}) // one of them collides
	wantTopics(t, b, "a", "a_x", "b", "c", "d")
}

func TestARequestForTooManyAutomaticTopicsMakesNone(t *testing.T) {
	b := topicBroker(t)
	names := make([]string, maxNewPartitions+1)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	b.autoCreate(names)
	wantTopics(t, b)
}

func TestInternalTopicsAreMadeAsKafkaMakesThem(t *testing.T) {
	b := topicBroker(t, "offsets.topic.num.partitions=4", "offsets.topic.segment.bytes=2097152")
	for range 2 {
		for _, name := range []string{consumerOffsets, transactionState, shareGroupState} {
			if err := b.EnsureInternalTopic(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantTopics(t, b, consumerOffsets, shareGroupState, transactionState)
	wantPartitions(t, b, consumerOffsets, 4)
	wantPartitions(t, b, transactionState, 50)
	wantConfigs(t, b, metadata.ResourceTopic, consumerOffsets,
		map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2097152"})
	wantConfigs(t, b, metadata.ResourceTopic, transactionState, map[string]string{"cleanup.policy": "compact",
		"compression.type": "uncompressed", "min.insync.replicas": "1", "segment.bytes": "104857600", "unclean.leader.election.enable": "false"})
	wantConfigs(t, b, metadata.ResourceTopic, shareGroupState, map[string]string{"cleanup.policy": "delete",
		"compression.type": "producer", "min.insync.replicas": "1", "retention.ms": "-1", "segment.bytes": "104857600"})
	topic, _ := b.Metadata.Image().Topic(consumerOffsets)
	if !topic.Internal() {
		t.Error("the offsets topic is not internal")
	}
	if err := b.EnsureInternalTopic(t.Context(), "orders"); err == nil {
		t.Error("a client's topic was made as an internal one")
	}
}

// A client that asks for an internal topic by name gets it as the broker would make it.
func TestInternalTopicsThatClientsAskForAreNoOthers(t *testing.T) {
	b, other := topicBroker(t), topicBroker(t)
	b.autoCreate([]string{consumerOffsets})
	if err := other.EnsureInternalTopic(t.Context(), consumerOffsets); err != nil {
		t.Fatal(err)
	}
	got, want := b.Metadata.Image(), other.Metadata.Image()
	if got.PartitionCount() != want.PartitionCount() ||
		!maps.Equal(got.Configs(metadata.ResourceTopic, consumerOffsets), want.Configs(metadata.ResourceTopic, consumerOffsets)) {
		t.Error("the two differ")
	}
}

func TestInternalTopicsHaveAsManyReplicasAsThereAreBrokersUnlessSet(t *testing.T) {
	for settings, want := range map[string]int{"": 2, "offsets.topic.replication.factor=1": 1, "offsets.topic.replication.factor=3": 0} {
		var set []string
		if settings != "" {
			set = []string{settings}
		}
		b := topicBroker(t, set...)
		registerBrokers(t, b, metadata.Broker{ID: 2})
		err := b.EnsureInternalTopic(t.Context(), consumerOffsets)
		got := 0
		if topic, ok := b.Metadata.Image().Topic(consumerOffsets); ok {
			p, _ := topic.Partition(0)
			got = len(p.Replicas)
		}
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d replicas, want %d: %v", settings, got, want, err)
		}
	}
}
