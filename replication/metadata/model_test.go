package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the naive image: plain maps, copied whole, epochs raised one by one.
type model struct {
	cluster string
	next    int64
	topics  map[string]*modelTopic
	configs map[Resource]map[string]string
	brokers map[int32]Broker
	removed []TopicRef
}

type modelTopic struct {
	id         ID
	internal   bool
	partitions []Partition
}

func newModel() *model {
	return &model{topics: map[string]*modelTopic{}, configs: map[Resource]map[string]string{}, brokers: map[int32]Broker{}}
}

// apply reports whether the record fits; a model that was given one that does not is unchanged.
func (m *model) apply(offset int64, r Record) bool {
	switch r := r.(type) {
	case TopicRecord:
		if m.topics[r.Name] != nil || m.byID(r.ID) != "" {
			return false
		}
		m.topics[r.Name] = &modelTopic{id: r.ID, internal: r.Internal}
	case PartitionRecord:
		t := m.topics[m.byID(r.Topic)]
		if t == nil || int(r.ID) > len(t.partitions) {
			return false
		}
		t.partitions = append(t.partitions[:r.ID:r.ID], append([]Partition{r.Partition}, t.partitions[min(int(r.ID)+1, len(t.partitions)):]...)...)
	case RemoveTopicRecord:
		name := m.byID(r.ID)
		if name == "" {
			return false
		}
		delete(m.topics, name)
		m.removed = append(m.removed, TopicRef{r.ID, name})
		delete(m.configs, Resource{ResourceTopic, name})
	case ConfigRecord:
		if m.configs[r.Resource] == nil {
			m.configs[r.Resource] = map[string]string{}
		}
		m.configs[r.Resource][r.Key] = r.Value
		if r.Delete {
			delete(m.configs[r.Resource], r.Key)
		}
		if len(m.configs[r.Resource]) == 0 {
			delete(m.configs, r.Resource)
		}
	case ProducerIDsRecord:
		if r.Next < m.next {
			return false
		}
		m.next = r.Next
	case BrokerRecord:
		if r.Epoch < 0 {
			r.Epoch = offset
		}
		m.brokers[r.ID] = r.Broker
	case StartRecord:
		for _, t := range m.topics {
			for i := range t.partitions {
				if p := &t.partitions[i]; p.Leader == r.Node {
					p.LeaderEpoch++
					p.PartitionEpoch++
				}
			}
		}
	}
	return true
}

func (m *model) byID(id ID) string {
	for name, t := range m.topics {
		if t.id == id {
			return name
		}
	}
	return ""
}

// dump writes the model down; dumpImage writes an image down in the same words.
func (m *model) dump() string {
	var b strings.Builder
	fmt.Fprintln(&b, m.cluster, m.next)
	for _, name := range slices.Sorted(maps.Keys(m.topics)) {
		t := m.topics[name]
		fmt.Fprintln(&b, name, t.id, t.internal, t.partitions)
	}
	dumpRest(&b, m.configs, m.brokers, m.removed)
	return b.String()
}

func dumpImage(img *Image) string {
	var b strings.Builder
	fmt.Fprintln(&b, img.ClusterID, img.NextProducerID)
	for t := range img.Topics("") {
		fmt.Fprintln(&b, t.Name(), t.ID(), t.Internal(), slices.AppendSeq([]Partition{}, t.Partitions()))
	}
	configs := map[Resource]map[string]string{}
	for _, r := range img.ConfigResources() {
		configs[r] = img.Configs(r.Type, r.Name)
	}
	brokers := map[int32]Broker{}
	for _, v := range img.Brokers() {
		brokers[v.ID] = v
	}
	dumpRest(&b, configs, brokers, img.Removed())
	return b.String()
}

func dumpRest(b *strings.Builder, configs map[Resource]map[string]string, brokers map[int32]Broker, removed []TopicRef) {
	fmt.Fprintln(b, removed)
	fmt.Fprintln(b, configs)
	fmt.Fprintln(b, brokers)
}

// drawRecord draws from few names and ids, so that records meet.
func drawRecord(t *rapid.T, m *model) Record {
	id := func() ID { return ID{byte(rapid.IntRange(1, 12).Draw(t, "id"))} }
	node := func() int32 { return rapid.Int32Range(-1, 2).Draw(t, "node") }
	name := func() string { return fmt.Sprintf("topic-%d", rapid.IntRange(0, 11).Draw(t, "name")) }
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1:
		return TopicRecord{ID: id(), Name: name(), Internal: rapid.Bool().Draw(t, "internal")}
	case 2, 3, 4:
		topic, next := id(), 0
		if mt := m.topics[m.byID(topic)]; mt != nil {
			next = len(mt.partitions)
		}
		p := Partition{ID: rapid.Int32Range(0, int32(next)).Draw(t, "partition"), Leader: node(),
			LeaderEpoch: rapid.Int32Range(0, 9).Draw(t, "epoch"), Replicas: []int32{node(), node()}, ISR: []int32{node()}}
		if rapid.Bool().Draw(t, "directories") {
			p.Directories = []ID{id(), id()}
		}
		return PartitionRecord{Topic: topic, Partition: p}
	case 5:
		return RemoveTopicRecord{id()}
	case 6:
		kind := rapid.SampledFrom([]ResourceType{ResourceTopic, ResourceBroker, ResourceGroup}).Draw(t, "type")
		return ConfigRecord{Resource: Resource{kind, name()}, Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
			Value: rapid.StringN(0, 3, 9).Draw(t, "value"), Delete: rapid.Bool().Draw(t, "delete")}
	case 7:
		return ProducerIDsRecord{rapid.Int64Range(0, 50).Draw(t, "next")}
	case 8:
		return BrokerRecord{Broker{ID: node(), Epoch: rapid.Int64Range(-1, 3).Draw(t, "epoch"), Incarnation: id(), Rack: name(),
			Endpoints: []Endpoint{{Name: "PLAINTEXT", Host: "h", Port: 9092}}, Directories: []ID{id()}}}
	}
	return StartRecord{node()}
}

func TestTheImageIsWhatANaiveModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		img, m := new(Image), newModel()
		for offset := range int64(rapid.IntRange(1, 12).Draw(t, "entries")) {
			img = applyDrawn(t, img, m, offset+1)
		}
		again, term, err := decodeSnapshot(appendSnapshot(nil, img, 7))
		if err != nil || term != 7 || again.Offset != img.Offset || again.PartitionCount() != img.PartitionCount() {
			t.Fatalf("snapshot: term %d, offset %d: %v", term, again.Offset, err)
		}
		if got, want := dumpImage(again), dumpImage(img); got != want {
			t.Fatalf("the snapshot has\n%s\nthe image is\n%s", got, want)
		}
		if d := diff(img, again); !d.IsEmpty() {
			t.Fatalf("the snapshot differs: %+v", d)
		}
	})
}

// applyDrawn applies one entry of drawn records to both and compares.
func applyDrawn(t *rapid.T, img *Image, m *model, offset int64) *Image {
	before := dumpImage(img)
	var records []Record
	gone := map[ID]bool{} // an id that goes in an entry does not come back in it
	for range rapid.IntRange(1, 8).Draw(t, "records") {
		r := drawRecord(t, m)
		if created, ok := r.(TopicRecord); ok && gone[created.ID] {
			continue
		}
		if !m.apply(offset, r) {
			if _, _, err := img.Apply(offset, append(slices.Clone(records), r)); err == nil {
				t.Fatalf("%#v was taken", r)
			}
			continue
		}
		if removed, ok := r.(RemoveTopicRecord); ok {
			gone[removed.ID] = true
		}
		records = append(records, r)
	}
	decoded, err := DecodeRecords(AppendRecords(nil, records))
	if err != nil {
		t.Fatal(err)
	}
	next, delta, err := img.Apply(offset, decoded)
	if err != nil {
		t.Fatal(err)
	}
	replayed := img.edit()
	replayed.next.Offset = offset
	if err := applyRecords(AppendRecords(nil, records), replayed); err != nil || dumpImage(replayed.image()) != dumpImage(next) {
		t.Fatalf("replayed: %v\n%s\napplied\n%s", err, dumpImage(&replayed.next), dumpImage(next))
	}
	if got, want := dumpImage(next), m.dump(); got != want {
		t.Fatalf("image\n%s\nmodel\n%s", got, want)
	}
	if after := dumpImage(img); after != before {
		t.Fatalf("the old image was\n%s\nand is\n%s", before, after)
	}
	checkLookups(t, next)
	checkDelta(t, img, next, delta)
	return next
}

// checkLookups holds the three ways to a topic against each other.
func checkLookups(t *rapid.T, img *Image) {
	topics, partitions := 0, 0
	for topic := range img.Topics("") {
		topics++
		partitions += topic.Len()
		byName, _ := img.Topic(topic.Name())
		byID, _ := img.TopicByID(topic.ID())
		if byName.t != topic.t || byID.t != topic.t {
			t.Fatalf("topic %q is found in different versions", topic.Name())
		}
	}
	if topics != img.TopicCount() || topics != img.byID.size || partitions != img.PartitionCount() {
		t.Fatalf("%d topics, %d partitions, but counted as %d, %d and %d", topics, partitions, img.TopicCount(), img.byID.size, img.PartitionCount())
	}
}

// checkDelta holds the lists that an edit kept against a comparison of the images. A Delta may name what was set to
// what it was; it must not miss anything.
func checkDelta(t *rapid.T, old, next *Image, delta Delta) {
	want := diff(old, next)
	started := func(ref TopicRef) bool { return len(delta.Started) > 0 }
	if !slices.Equal(delta.Added, want.Added) || !slices.Equal(delta.Removed, want.Removed) {
		t.Fatalf("delta %+v, images differ by %+v", delta, want)
	}
	for _, ref := range want.Changed {
		if !slices.Contains(delta.Changed, ref) && !started(ref) {
			t.Fatalf("delta %+v does not have %v", delta, ref)
		}
	}
	for _, r := range want.Configs {
		if !slices.Contains(delta.Configs, r) {
			t.Fatalf("delta %+v does not have %v", delta, r)
		}
	}
	for _, id := range want.Brokers {
		if !slices.Contains(delta.Brokers, id) {
			t.Fatalf("delta %+v does not have broker %d", delta, id)
		}
	}
}
