package api

import (
	"crypto/rand"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
)

// maxNewPartitions is how many partitions one request may ask for, as in Kafka: each is a folder with files.
const maxNewPartitions = 10_000

// creation decides on the new topics of one request.
type creation struct {
	view
	*batch
	partitions int // made so far
}

// A created topic is what CreateTopics answers.
type created struct {
	id         metadata.ID
	partitions int
	replicas   int
	configs    map[string]string
}

// topic decides on one topic: in Kafka's order, since the first fault found is the one that is answered.
func (c *creation) topic(t *kmsg.CreateTopicsRequestTopic) (created, *refusal) {
	if r := c.checkName(t.Topic); r != nil {
		return created{}, r
	}
	configs, r := c.checkConfigs(t.Configs)
	if r != nil {
		return created{}, r
	}
	replicas, r := c.replicas(t)
	if r != nil {
		return created{}, r
	}
	if r := checkFolder(t.Topic, len(replicas)); r != nil {
		return created{}, r
	}
	if r := c.checkStorage(); r != nil {
		return created{}, r
	}
	id, err := metadata.NewID(rand.Reader)
	if err != nil {
		return created{}, refuse(kerr.UnknownServerError, "%v", err)
	}
	c.make(id, t.Topic, configs, replicas)
	return created{id, len(replicas), len(replicas[0]), configs}, nil
}

func (c *creation) checkName(name string) *refusal {
	if r := checkTopicName(name); r != nil {
		return r
	}
	if _, ok := c.img.Topic(name); ok {
		return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other, ok := collision(c.img, name); ok {
		return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	if name == clusterMetadata {
		return refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	return nil
}

// checkConfigs returns the topic's own configs. Of a key that comes twice the last value counts, as in Kafka.
func (c *creation) checkConfigs(list []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, *refusal) {
	configs := make(map[string]string, len(list))
	var null []string
	for _, kv := range list {
		if kv.Value == nil {
			null = append(null, kv.Name)
			continue
		}
		configs[kv.Name] = *kv.Value
	}
	if null != nil {
		sort.Strings(null)
		return nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	if err := c.layers.ValidateTopic(configs); err != nil {
		return nil, refuseConfig(err)
	}
	return configs, nil
}

// replicas returns the brokers of each partition: those that the client names, or as many as it wants or the broker's
// configuration says.
func (c *creation) replicas(t *kmsg.CreateTopicsRequestTopic) ([][]int32, *refusal) {
	switch {
	case len(t.ReplicaAssignment) > 0 && t.ReplicationFactor != -1:
		return nil, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case len(t.ReplicaAssignment) > 0 && t.NumPartitions != -1:
		return nil, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	case len(t.ReplicaAssignment) > 0:
		return c.manual(t.ReplicaAssignment)
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return nil, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	factor := int32(t.ReplicationFactor)
	if factor == -1 {
		factor = max(c.layers.Int("default.replication.factor"), 1)
	}
	return c.place(c.partitions, c.count(t), int(factor))
}

// count is how many partitions are wanted of a topic.
func (v view) count(t *kmsg.CreateTopicsRequestTopic) int {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return len(t.ReplicaAssignment)
	case t.NumPartitions == -1:
		return int(max(v.layers.Int("num.partitions"), 1))
	}
	return int(max(t.NumPartitions, 0))
}

// manual takes the brokers that a client has chosen. Partitions may come in any order, but must be all from 0 on.
func (c *creation) manual(list []kmsg.CreateTopicsRequestTopicReplicaAssignment) ([][]int32, *refusal) {
	all := make([][]int32, len(list))
	gap, replicas := false, 0
	seen := make(map[int32]bool, len(list))
	for _, a := range list {
		if seen[a.Partition] {
			return nil, refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		seen[a.Partition] = true
		if r := c.checkManual(int(a.Partition), a.Replicas, replicas); r != nil {
			return nil, r
		}
		replicas = len(a.Replicas)
		if a.Partition < 0 || int(a.Partition) >= len(all) {
			gap = true
			continue
		}
		all[a.Partition] = a.Replicas
	}
	if gap {
		return nil, refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
	}
	return all, nil
}

// make adds a topic's records.
func (c *creation) make(id metadata.ID, name string, configs map[string]string, replicas [][]int32) {
	c.add(metadata.TopicRecord{ID: id, Name: name, Internal: internalTopic(name)})
	c.add(configRecords(metadata.Resource{Type: metadata.ResourceTopic, Name: name}, nil, configs)...)
	for i, brokers := range replicas {
		c.add(c.newPartition(id, i, brokers))
	}
	c.partitions += len(replicas)
}

// answer describes the topic as CreateTopics does.
func (t created) answer(v view, version int16, into *kmsg.CreateTopicsResponseTopic) {
	into.TopicID = t.id
	if version < 5 {
		return
	}
	into.NumPartitions, into.ReplicationFactor = int32(t.partitions), int16(t.replicas)
	for _, e := range v.layers.CreatedTopic(t.configs) {
		into.Configs = append(into.Configs, kmsg.CreateTopicsResponseTopicConfig{
			Name: e.Name, Value: e.Value, Source: int8(e.Source), IsSensitive: e.Sensitive,
		})
	}
}

// refuseConfig says in Kafka's codes why a config is refused.
func refuseConfig(err error) *refusal {
	e, ok := err.(*config.Error)
	switch {
	case !ok:
		return refuse(kerr.UnknownServerError, "%v", err)
	case e.Reason == config.InvalidConfig:
		return refuse(kerr.InvalidConfig, "%s", e.Message)
	case e.Reason == config.InvalidRequest:
		return refuse(kerr.InvalidRequest, "%s", e.Message)
	}
	return &refusal{code: kerr.UnknownServerError.Code} // config.UnknownOp: Kafka has no words for it either
}
