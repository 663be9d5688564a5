package metadata

import (
	"context"
	"testing"
)

func TestASingleVoterLeadsAtOnceAndKeepsWhatItWasTold(t *testing.T) {
	dir := t.TempDir()
	n, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := ID{1}
	err = n.Update(context.Background(), func(img *Image) ([]Record, error) {
		return []Record{TopicRecord{ID: id, Name: "t"},
			PartitionRecord{Topic: id, Partition: Partition{ID: 0, Leader: 0, Replicas: []int32{0}, ISR: []int32{0}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cluster := n.Image().ClusterID
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range int32(3) {
		n, err = Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		topic, ok := n.Image().Topic("t")
		if !ok {
			t.Fatal("no topic")
		}
		p, ok := topic.Partition(0)
		if !ok || p.LeaderEpoch != i+1 || n.Image().ClusterID != cluster || len(cluster) != 22 {
			t.Fatal(p, cluster)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
