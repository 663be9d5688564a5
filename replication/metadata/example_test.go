package metadata_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"

	"github.com/zurau/zurau/replication/metadata"
)

// A cluster of one: create a topic unless it exists, and find it again after a restart, with a higher leader epoch.
func Example() {
	dir, err := os.MkdirTemp("", "zurau")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := metadata.Open(metadata.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	create := func(img *metadata.Image) ([]metadata.Record, error) {
		if _, ok := img.Topic("orders"); ok {
			return nil, fmt.Errorf("topic exists")
		}
		id, err := metadata.NewID(rand.Reader)
		if err != nil {
			return nil, err
		}
		return []metadata.Record{
			metadata.TopicRecord{ID: id, Name: "orders"},
			metadata.PartitionRecord{Topic: id, Partition: metadata.Partition{ID: 0, Leader: 0, Replicas: []int32{0}, ISR: []int32{0}}},
		}, nil
	}
	fmt.Println(m.Update(context.Background(), create))
	fmt.Println(m.Update(context.Background(), create))
	if err := m.Close(); err != nil {
		log.Fatal(err)
	}

	if m, err = metadata.Open(metadata.Options{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	topic, _ := m.Image().Topic("orders")
	for p := range topic.Partitions() {
		fmt.Println(topic.Name(), p.ID, "leader", p.Leader, "epoch", p.LeaderEpoch)
	}
	if err := m.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// <nil>
	// topic exists
	// orders 0 leader 0 epoch 1
}
