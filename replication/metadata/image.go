package metadata

import (
	"iter"
	"maps"
	"slices"
)

// Image is the state of the cluster at one offset of the metadata log. It never changes: every method may be called
// from anywhere, and what it returns is shared and must not be written to. The zero value is the empty image.
//
// Versions share what did not change between them, so keeping an old one costs little.
type Image struct {
	ClusterID      string // 22 characters, "" before the first start
	Offset         int64  // of the last record applied: the index of its entry in the Raft log
	NextProducerID int64  // every id below was given away

	byName  hashed[topicName, *topic]
	byID    hashed[ID, *topic]
	names   ordered
	configs hashed[Resource, map[string]string]
	brokers map[int32]Broker
	removed []TopicRef // oldest first, maxRemoved at most
	// starts counts the start records of each node. A partition remembers the count at which its state was set, and
	// has an epoch higher by the difference: so one record raises them all and touches none.
	starts map[int32]int32

	partitions int
}

// topic is the stored form. It is immutable once its image is finished.
type topic struct {
	id         ID
	name       string
	internal   bool
	partitions []*partition
}

type partition struct {
	Partition       // as it was set
	starts    int32 // of its leader, when it was set
}

// Topic is a topic in an image. The zero value is not a topic.
type Topic struct {
	t      *topic
	starts map[int32]int32
}

// ID returns the topic's id.
func (t Topic) ID() ID { return t.t.id }

// Name returns the topic's name.
func (t Topic) Name() string { return t.t.name }

// Internal reports whether the topic is the broker's own.
func (t Topic) Internal() bool { return t.t.internal }

// Len returns the number of partitions.
func (t Topic) Len() int { return len(t.t.partitions) }

// Partition returns partition i, or false where the topic has fewer.
func (t Topic) Partition(i int32) (Partition, bool) {
	if i < 0 || int(i) >= len(t.t.partitions) {
		return Partition{ID: i, Leader: -1}, false
	}
	return t.t.partitions[i].at(t.starts), true
}

// Partitions visits the partitions in the order of their numbers.
func (t Topic) Partitions() iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		for _, p := range t.t.partitions {
			if !yield(p.at(t.starts)) {
				return
			}
		}
	}
}

// at returns the partition with its epochs as they are after the starts of its leader.
func (p *partition) at(starts map[int32]int32) Partition {
	state := p.Partition
	raised := starts[state.Leader] - p.starts
	state.LeaderEpoch += raised
	state.PartitionEpoch += raised
	return state
}

// Topic finds a topic by name.
func (img *Image) Topic(name string) (Topic, bool) {
	t, ok := img.byName.get(topicName(name))
	return Topic{t, img.starts}, ok
}

// TopicByID finds a topic by id.
func (img *Image) TopicByID(id ID) (Topic, bool) {
	t, ok := img.byID.get(id)
	return Topic{t, img.starts}, ok
}

// Topics visits the topics whose name is not below start, in the order of their names; "" starts at the first.
func (img *Image) Topics(start string) iter.Seq[Topic] {
	return func(yield func(Topic) bool) {
		for name := range img.names.from(start) {
			t, _ := img.byName.get(topicName(name))
			if !yield(Topic{t, img.starts}) {
				return
			}
		}
	}
}

// TopicCount returns the number of topics.
func (img *Image) TopicCount() int { return img.byName.size }

// PartitionCount returns the number of partitions of all topics.
func (img *Image) PartitionCount() int { return img.partitions }

// maxRemoved bounds Removed. It has to hold what is removed between two starts of a broker that could not delete the files:
// as many topics as one request removes before a kill. A topic that is forgotten costs somebody a look at its folder.
const maxRemoved = 10_000

// Removed returns the last topics that were removed, 10,000 at most, oldest first: an id that is in it and is no topic's
// any more names files that are wanted no more.
func (img *Image) Removed() []TopicRef { return img.removed }

// Configs returns what was set for a resource, nil where nothing was. Defaults are the caller's.
func (img *Image) Configs(kind ResourceType, name string) map[string]string {
	m, _ := img.configs.get(Resource{kind, name})
	return m
}

// ConfigResources returns the resources that have configs, in the order of type and name.
func (img *Image) ConfigResources() []Resource {
	resources := make([]Resource, 0, img.configs.size)
	for r := range img.configs.all() {
		resources = append(resources, r)
	}
	slices.SortFunc(resources, compareResources)
	return resources
}

// Broker finds a broker's registration.
func (img *Image) Broker(id int32) (Broker, bool) {
	b, ok := img.brokers[id]
	return b, ok
}

// Brokers returns all registrations in the order of their ids.
func (img *Image) Brokers() []Broker {
	brokers := make([]Broker, 0, len(img.brokers))
	for _, id := range slices.Sorted(maps.Keys(img.brokers)) {
		brokers = append(brokers, img.brokers[id])
	}
	return brokers
}
