package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

// missing lists the topics that a Metadata request has made: those that it names, that could be there and are not. Before
// version 4 a request could not say that it does not want that.
func (v view) missing(req *kmsg.MetadataRequest) []string {
	if allTopics(req) || req.Version >= 4 && !req.AllowAutoTopicCreation {
		return nil
	}
	_, names := askedFor(req)
	var all []string
	for _, name := range names {
		if _, ok := v.img.Topic(name); !ok && checkTopicName(name) == nil {
			all = append(all, name)
		}
	}
	if len(all) > 0 && !v.layers.Bool("auto.create.topics.enable") {
		return nil
	}
	return all
}

// autoCreate makes topics, those of them that can be: the client will ask again, and see.
func (b *Broker) autoCreate(names []string) {
	all := b.update(b.Layers().Int("request.timeout.ms"), false, func(v view, c *batch) { v.autoCreate(names, c) })
	if all != nil && b.Log != nil {
		b.Log.Info("topics are not created automatically", "topics", len(names), "first", names[0], "error", all.message)
	}
	b.takeBack(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return b.unmade(name) == nil }))
}

// autoCreate decides on topics that are to be made without having been described.
func (v view) autoCreate(names []string, c *batch) {
	topics := make([]kmsg.CreateTopicsRequestTopic, 0, len(names))
	for _, name := range names {
		if _, ok := v.img.Topic(name); !ok {
			topics = append(topics, v.undescribed(name))
		}
	}
	if v.tooMany(topics) != nil {
		return
	}
	d := creation{view: v, batch: c}
	for i := range topics {
		d.topic(&topics[i])
	}
}

// undescribed is a topic of which the client gives no more than the name.
func (v view) undescribed(name string) kmsg.CreateTopicsRequestTopic {
	if internalTopic(name) {
		return v.internal(name)
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	return t
}

// EnsureInternalTopic makes one of the broker's own topics where it does not exist: __consumer_offsets,
// __transaction_state, __share_group_state. It returns when the topic's partitions can be used. An error says why the
// topic cannot be made now; trying again later makes sense.
func (b *Broker) EnsureInternalTopic(ctx context.Context, name string) error {
	if !internalTopic(name) {
		return fmt.Errorf("%s is no internal topic", name)
	}
	if _, ok := b.Metadata.Image().Topic(name); ok {
		return nil
	}
	err := b.Metadata.Update(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
		if _, ok := img.Topic(name); ok {
			return nil, nil
		}
		v, c := b.view(img), &batch{}
		d, t := creation{view: v, batch: c}, v.internal(name)
		if _, r := d.topic(&t); r != nil {
			return nil, fmt.Errorf("error %d: %s", r.code, r.message)
		}
		return c.records, nil
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if r := b.unmade(name); r != nil {
		b.takeBack([]string{name})
		return fmt.Errorf("create %s: error %d: %s", name, r.code, r.message)
	}
	return nil
}

// internal describes one of the broker's own topics as Kafka makes it.
func (v view) internal(name string) kmsg.CreateTopicsRequestTopic {
	l := v.layers
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	set := func(key, value string) {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	number := func(key, from string) { set(key, strconv.Itoa(int(l.Int(from)))) }
	switch name {
	case consumerOffsets:
		t.NumPartitions = l.Int("offsets.topic.num.partitions")
		t.ReplicationFactor = v.factor("offsets.topic.replication.factor")
		set("cleanup.policy", "compact")
		set("compression.type", "producer")
		number("segment.bytes", "offsets.topic.segment.bytes")
	case transactionState:
		t.NumPartitions = l.Int("transaction.state.log.num.partitions")
		t.ReplicationFactor = v.factor("transaction.state.log.replication.factor")
		set("cleanup.policy", "compact")
		set("compression.type", "uncompressed")
		set("unclean.leader.election.enable", "false")
		set(minISR, strconv.Itoa(min(int(l.Int("transaction.state.log.min.isr")), int(t.ReplicationFactor))))
		number("segment.bytes", "transaction.state.log.segment.bytes")
	case shareGroupState:
		t.NumPartitions = l.Int("share.coordinator.state.topic.num.partitions")
		t.ReplicationFactor = v.factor("share.coordinator.state.topic.replication.factor")
		set("cleanup.policy", "delete")
		set("compression.type", "producer")
		set("retention.ms", "-1")
		set(minISR, strconv.Itoa(min(int(l.Int("share.coordinator.state.topic.min.isr")), int(t.ReplicationFactor))))
		number("segment.bytes", "share.coordinator.state.topic.segment.bytes")
	}
	return t
}

// factor is how many replicas an internal topic gets. Kafka's default of three makes a broker alone useless until somebody
// sets it to one. So the default is as many as there are brokers, up to three; what somebody has set is kept to.
func (v view) factor(key string) int16 {
	n := int(v.layers.Int(key))
	if _, _, set := v.layers.Static.Set(key); !set {
		n = max(min(n, len(v.img.Brokers())), 1)
	}
	return int16(n)
}
