package metadata

import (
	"slices"
	"strings"
	"testing"
)

// one is an image with topic "one" (id 1) of two partitions led by nodes 0 and 1.
func one(t *testing.T) *Image {
	t.Helper()
	img, _, err := new(Image).Apply(1, []Record{
		TopicRecord{ID: ID{1}, Name: "one"},
		PartitionRecord{ID{1}, Partition{ID: 0, Leader: 0, LeaderEpoch: 5, Replicas: []int32{0, 1}, ISR: []int32{0}}},
		PartitionRecord{ID{1}, Partition{ID: 1, Leader: 1, LeaderEpoch: 7, Replicas: []int32{1, 0}, ISR: []int32{1}}},
		ProducerIDsRecord{1000},
		ClusterIDRecord{"here"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestRecordsThatDoNotFitAreRefusedAndChangeNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		record Record
		want   string
	}{
		{"a name that is taken", TopicRecord{ID: ID{2}, Name: "one"}, "the name is taken"},
		{"an id that is taken", TopicRecord{ID: ID{1}, Name: "two"}, "is taken by"},
		{"no name", TopicRecord{ID: ID{2}}, "both must be given"},
		{"no id", TopicRecord{Name: "two"}, "both must be given"},
		{"a partition of no topic", PartitionRecord{Topic: ID{2}}, "no such topic"},
		{"a partition behind a gap", PartitionRecord{ID{1}, Partition{ID: 3}}, "the next must be 2"},
		{"a negative partition", PartitionRecord{ID{1}, Partition{ID: -1}}, "the next must be 2"},
		{"directories of other replicas", PartitionRecord{ID{1}, Partition{Replicas: []int32{0}, Directories: make([]ID, 2)}}, "2 directories for 1 replicas"},
		{"removing no topic", RemoveTopicRecord{ID{2}}, "no such topic"},
		{"a config without a key", ConfigRecord{Resource: Resource{ResourceTopic, "one"}}, "no key"},
		{"producer ids that were given away", ProducerIDsRecord{999}, "were given away"},
		{"another cluster", ClusterIDRecord{"there"}, "the cluster is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			img := one(t)
			before := dumpImage(img)
			_, _, err := img.Apply(2, []Record{TopicRecord{ID: ID{9}, Name: "fits"}, c.record})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if after := dumpImage(img); after != before {
				t.Fatalf("the image was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

func TestAStartRaisesTheEpochsOfWhatTheNodeLeadsAndTouchesNothing(t *testing.T) {
	img := one(t)
	next, delta, err := img.Apply(2, []Record{StartRecord{0}, StartRecord{0}})
	if err != nil {
		t.Fatal(err)
	}
	topic, _ := next.Topic("one")
	p, _ := topic.Partition(0)
	q, _ := topic.Partition(1)
	if p.LeaderEpoch != 7 || p.PartitionEpoch != 2 || q.LeaderEpoch != 7 || q.PartitionEpoch != 0 {
		t.Fatalf("epochs %d/%d and %d/%d", p.LeaderEpoch, p.PartitionEpoch, q.LeaderEpoch, q.PartitionEpoch)
	}
	if old, _ := img.Topic("one"); old.t != topic.t {
		t.Fatal("the topic was copied")
	}
	if !slices.Equal(delta.Started, []int32{0}) || len(delta.Changed) != 0 {
		t.Fatalf("delta %+v", delta)
	}
	// A later record of the partition says what its epoch is, whatever was raised before.
	p.LeaderEpoch = 8
	if next, _, err = next.Apply(3, []Record{PartitionRecord{ID{1}, p}}); err != nil {
		t.Fatal(err)
	}
	topic, _ = next.Topic("one")
	if p, _ := topic.Partition(0); p.LeaderEpoch != 8 {
		t.Fatalf("epoch %d", p.LeaderEpoch)
	}
}

func TestABrokersEpochIsTheOffsetOfItsRegistration(t *testing.T) {
	img, _, err := one(t).Apply(42, []Record{BrokerRecord{Broker{ID: 3, Epoch: -1, Fenced: true}}})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := img.Broker(3)
	if b.Epoch != 42 || !b.Fenced {
		t.Fatalf("%+v", b)
	}
	b.Fenced = false // unfenced: the same registration
	if img, _, err = img.Apply(43, []Record{BrokerRecord{b}}); err != nil {
		t.Fatal(err)
	}
	if b, _ := img.Broker(3); b.Epoch != 42 || b.Fenced {
		t.Fatalf("%+v", b)
	}
}

func TestATopicTakesItsConfigsWithIt(t *testing.T) {
	img, _, err := one(t).Apply(2, []Record{
		ConfigRecord{Resource: Resource{ResourceTopic, "one"}, Key: "retention.ms", Value: "1"},
		ConfigRecord{Resource: Resource{ResourceBroker, ""}, Key: "log.retention.ms", Value: "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	img, delta, err := img.Apply(3, []Record{RemoveTopicRecord{ID{1}}, TopicRecord{ID: ID{2}, Name: "one"}})
	if err != nil {
		t.Fatal(err)
	}
	if c := img.Configs(ResourceTopic, "one"); c != nil {
		t.Fatalf("the new topic has %v", c)
	}
	if c := img.Configs(ResourceBroker, ""); c["log.retention.ms"] != "2" {
		t.Fatalf("the default of brokers is %v", c)
	}
	if !slices.Equal(delta.Added, []TopicRef{{ID{2}, "one"}}) || !slices.Equal(delta.Removed, []TopicRef{{ID{1}, "one"}}) ||
		!slices.Equal(delta.Configs, []Resource{{ResourceTopic, "one"}}) {
		t.Fatalf("delta %+v", delta)
	}
}

func TestTheEmptyImageAnswersLookUps(t *testing.T) {
	var img Image
	_, byName := img.Topic("x")
	_, byID := img.TopicByID(ID{1})
	_, broker := img.Broker(0)
	if byName || byID || broker || img.Configs(ResourceTopic, "x") != nil || img.TopicCount() != 0 || len(img.Brokers()) != 0 {
		t.Fatal("something is there")
	}
	for topic := range img.Topics("") {
		t.Fatal(topic)
	}
	topic, _ := one(t).Topic("one")
	if p, ok := topic.Partition(2); ok || p.Leader != -1 {
		t.Fatal(p)
	}
}

func TestRemovedTopicsAreRememberedUpToABound(t *testing.T) {
	img := new(Image)
	var first, records []Record
	for i := range maxRemoved + 2 {
		id := ID{1, byte(i >> 16), byte(i >> 8), byte(i)}
		records = append(records, TopicRecord{ID: id, Name: "again"}, RemoveTopicRecord{id})
	}
	first, records = records[:6], records[6:]
	for i, entry := range [][]Record{first, records} {
		var err error
		if img, _, err = img.Apply(int64(i+1), entry); err != nil {
			t.Fatal(err)
		}
	}
	got := img.Removed()
	if len(got) != maxRemoved || got[0] != (TopicRef{ID{1, 0, 0, 2}, "again"}) || got[maxRemoved-1].ID != (ID{1, 0, 0x27, 0x11}) {
		t.Fatalf("%d are remembered, from %v to %v", len(got), got[0], got[len(got)-1])
	}
	again, _, err := decodeSnapshot(appendSnapshot(nil, img, 1))
	if err != nil || !slices.Equal(again.Removed(), got) {
		t.Fatalf("a snapshot has %d of them: %v", len(again.Removed()), err)
	}
}
