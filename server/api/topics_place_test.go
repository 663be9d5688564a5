package api

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/zurau/zurau/replication/metadata"
)

// cluster is a view of brokers with racks, "!" before those that are fenced.
func cluster(t *testing.T, racks ...string) view {
	t.Helper()
	var records []metadata.Record
	for i, rack := range racks {
		b := metadata.Broker{ID: int32(i + 1), Epoch: 1, Rack: rack, Directories: []metadata.ID{{1}, {2}}}
		if len(rack) > 0 && rack[0] == '!' {
			b.Rack, b.Fenced = rack[1:], true
		}
		records = append(records, metadata.BrokerRecord{Broker: b})
	}
	img, _, err := new(metadata.Image).Apply(1, records)
	if err != nil {
		t.Fatal(err)
	}
	return view{img: img, node: 1}
}

func TestReplicasAreDifferentBrokersAndLeadersAreSpread(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewSource(seed))
	for range 200 {
		racks := make([]string, 1+random.Intn(9))
		for i := range racks {
			racks[i] = fmt.Sprint(random.Intn(3))
		}
		v, replicas, count := cluster(t, racks...), 1+random.Intn(len(racks)), 1+random.Intn(40)
		placed, r := v.place(random.Intn(5), count, replicas)
		if r != nil {
			t.Fatalf("seed %d, racks %v: %v", seed, racks, r)
		}
		leads := map[int32]int{}
		for _, brokers := range placed {
			leads[brokers[0]]++
			if len(slices.Compact(slices.Sorted(slices.Values(brokers)))) != replicas {
				t.Fatalf("seed %d, racks %v: %v", seed, racks, brokers)
			}
		}
		for id := range racks {
			if n := leads[int32(id+1)]; n < count/len(racks) || n > count/len(racks)+1 {
				t.Fatalf("seed %d, racks %v: broker %d leads %d of %d partitions", seed, racks, id+1, n, count)
			}
		}
	}
}

func TestReplicasAreInDifferentRacks(t *testing.T) {
	v := cluster(t, "a", "a", "b", "b", "c", "c")
	placed, _ := v.place(0, 12, 3)
	for _, brokers := range placed {
		racks := map[string]bool{}
		for _, id := range brokers {
			b, _ := v.img.Broker(id)
			racks[b.Rack] = true
		}
		if len(racks) != 3 {
			t.Errorf("%v are in %d racks", brokers, len(racks))
		}
	}
}

func TestFencedBrokersHaveReplicasOnlyWhereOthersDoNotSufficeAndNeverLead(t *testing.T) {
	v := cluster(t, "", "!", "")
	placed, _ := v.place(0, 6, 2)
	for _, brokers := range placed {
		if slices.Contains(brokers, 2) {
			t.Errorf("%v has the fenced broker", brokers)
		}
	}
	placed, _ = v.place(0, 6, 3)
	for i, brokers := range placed {
		p := v.newPartition(metadata.ID{9}, i, brokers)
		if brokers[2] != 2 || p.Leader != brokers[0] || !slices.Equal(p.ISR, brokers[:2]) {
			t.Errorf("%v: %+v", brokers, p)
		}
		if len(p.Directories) != 3 || p.Directories[0] != (metadata.ID{byte(1 + i%2)}) {
			t.Errorf("partition %d is in directories %v", i, p.Directories)
		}
	}
	if _, r := v.place(0, 1, 4); r == nil || r.code != 38 {
		t.Errorf("4 replicas on 3 brokers: %v, want error 38", r)
	}
	if _, r := cluster(t, "!", "!").place(0, 1, 1); r == nil || r.code != 38 {
		t.Errorf("all fenced: %v, want error 38", r)
	}
	if _, r := cluster(t).place(0, 1, 1); r == nil || r.code != 38 {
		t.Errorf("no brokers: %v, want error 38", r)
	}
	if r := v.checkManual(0, []int32{2}, 0); r == nil || r.code != 39 {
		t.Errorf("a fenced broker alone: %v, want error 39", r)
	}
	if r := v.checkManual(0, []int32{2, 1}, 0); r != nil {
		t.Errorf("a fenced broker and another: %v", r)
	}
	if p := v.newPartition(metadata.ID{9}, 0, []int32{2, 1}); p.Leader != 1 || !slices.Equal(p.ISR, []int32{1}) {
		t.Errorf("%+v", p)
	}
}

func TestTopicsOfOnePartitionAreSpreadOverTheBrokers(t *testing.T) {
	b := topicBroker(t)
	registerBrokers(t, b, metadata.Broker{ID: 2}, metadata.Broker{ID: 3})
	for i := range 3 {
		mustCreate(t, b, newTopic(fmt.Sprint("alone", i), 1, 1))
	}
	mustCreate(t, b, newTopic("x", 1, 1), newTopic("y", 1, 1), newTopic("z", 1, 1))
	leads := map[int32]int{}
	for topic := range b.Metadata.Image().Topics("") {
		p, _ := topic.Partition(0)
		leads[p.Leader]++
	}
	if leads[1] != 2 || leads[2] != 2 || leads[3] != 2 {
		t.Errorf("leaders are %v", leads)
	}
}
