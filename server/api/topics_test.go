package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
)

// topicBroker is a broker that has metadata and nothing else: what topics and configs are decided on. It is node 1 of a
// cluster of its own, with settings as KEY=VALUE.
func topicBroker(t *testing.T, settings ...string) *Broker {
	t.Helper()
	b := openTopicBroker(t, t.TempDir(), settings...)
	t.Cleanup(func() { closeTopicBroker(t, b) })
	registerBrokers(t, b, metadata.Broker{ID: 1})
	return b
}

func openTopicBroker(t *testing.T, dir string, settings ...string) *Broker {
	t.Helper()
	static, err := config.Load(config.Options{Set: settings})
	if err != nil {
		t.Fatal(err)
	}
	node, err := metadata.Open(metadata.Options{Dir: dir, NodeID: 1, AtStart: func(img *metadata.Image) ([]metadata.Record, error) {
		return ClusterDefaults(img, static), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &Broker{NodeID: 1, Metadata: node, Static: static, Stop: context.Background()}
}

func closeTopicBroker(t *testing.T, b *Broker) {
	t.Helper()
	if err := b.Metadata.Close(); err != nil {
		t.Error(err)
	}
}

// registerBrokers adds brokers to the cluster.
func registerBrokers(t *testing.T, b *Broker, brokers ...metadata.Broker) {
	t.Helper()
	err := b.Metadata.Update(t.Context(), func(*metadata.Image) (records []metadata.Record, err error) {
		for _, one := range brokers {
			one.Epoch = -1
			if one.Endpoints == nil {
				one.Endpoints = []metadata.Endpoint{{Name: "PLAINTEXT", Host: fmt.Sprint("host", one.ID), Port: 9092}}
			}
			if one.Directories == nil {
				one.Directories = []metadata.ID{{byte(one.ID), 1}}
			}
			records = append(records, metadata.BrokerRecord{Broker: one})
		}
		return records, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newTopic is a topic of a CreateTopics request; configs are keys and values in turn.
func newTopic(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(configs); i += 2 {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	return topic
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics = 7, topics
	return req
}

// mustCreate makes topics and returns their ids.
func mustCreate(t *testing.T, b *Broker, topics ...kmsg.CreateTopicsRequestTopic) (ids []metadata.ID) {
	t.Helper()
	for _, topic := range b.answerCreateTopics(createRequest(topics...)).Topics {
		if topic.ErrorCode != 0 {
			t.Fatalf("%s: error %d: %s", topic.Topic, topic.ErrorCode, *topic.ErrorMessage)
		}
		ids = append(ids, topic.TopicID)
	}
	return ids
}

// topicNames lists the topics that there are.
func topicNames(b *Broker) (names []string) {
	for topic := range b.Metadata.Image().Topics("") {
		names = append(names, topic.Name())
	}
	return names
}

func wantTopics(t *testing.T, b *Broker, want ...string) {
	t.Helper()
	if got := topicNames(b); !slices.Equal(got, want) {
		t.Errorf("topics are %q, want %q", got, want)
	}
}

func wantPartitions(t *testing.T, b *Broker, topic string, want int) {
	t.Helper()
	if got, _ := b.Metadata.Image().Topic(topic); got.Len() != want {
		t.Errorf("%s has %d partitions, want %d", topic, got.Len(), want)
	}
}

func wantConfigs(t *testing.T, b *Broker, kind metadata.ResourceType, name string, want map[string]string) {
	t.Helper()
	if got := b.Metadata.Image().Configs(kind, name); !maps.Equal(got, want) {
		t.Errorf("configs of %q are %v, want %v", name, got, want)
	}
}

// parsed returns what a client reads of an answer in a version: fields that the version does not have are as new.
func parsed[T kmsg.Response](t *testing.T, resp T, version int16) T {
	t.Helper()
	resp.SetVersion(version)
	again := kmsg.ResponseForKey(resp.Key()).(T)
	again.SetVersion(version)
	if err := again.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Fatalf("%T version %d: %v", resp, version, err)
	}
	return again
}
