package metadata

import (
	"errors"
	"testing"
)

func TestWhatTheFirstStartBeginsWithIsAskedForUntilItIsDurableAndNeverAgain(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	failed := errors.New("cannot be read now")
	opts := Options{Dir: dir, NodeID: 3, AtFirst: func() ([]Record, error) {
		if asked++; asked == 1 {
			return nil, failed
		}
		p := Partition{Leader: 3, LeaderEpoch: 7, Replicas: []int32{3}, ISR: []int32{3}}
		return []Record{ClusterIDRecord{"of-before"}, TopicRecord{ID: ID{1}, Name: "t"}, PartitionRecord{ID{1}, p}, ProducerIDsRecord{1000}}, nil
	}}
	if n, err := Open(opts); !errors.Is(err, failed) {
		t.Fatalf("%v, %v", n, err)
	}
	for start := range int32(3) {
		n := open(t, opts)
		img := n.Image()
		topic, ok := img.Topic("t")
		if !ok || img.ClusterID != "of-before" || img.NextProducerID != 1000 || asked != 2 {
			t.Fatalf("start %d, asked %d times: %s", start, asked, dumpImage(img))
		}
		if p, _ := topic.Partition(0); p.LeaderEpoch != 8+start {
			t.Errorf("start %d: leader epoch %d, expected one above the last", start, p.LeaderEpoch)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFirstStartWithoutAClusterIDDrawsOne(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir(), AtFirst: func() ([]Record, error) { return []Record{TopicRecord{ID: ID{1}, Name: "t"}}, nil }})
	if _, err := ParseID(n.Image().ClusterID); err != nil {
		t.Error(err)
	}
}
