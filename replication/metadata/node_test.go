package metadata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func open(t testing.TB, opts Options) *Node {
	t.Helper()
	n, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // a test that cares looks itself
	return n
}

func update(t testing.TB, n *Node, records ...Record) {
	t.Helper()
	if err := n.Update(context.Background(), func(*Image) ([]Record, error) { return records, nil }); err != nil {
		t.Fatal(err)
	}
}

// topicRecords creates a topic with partitions led by node 0.
func topicRecords(id ID, name string, partitions int) []Record {
	records := []Record{TopicRecord{ID: id, Name: name}}
	for i := range partitions {
		records = append(records, PartitionRecord{id, Partition{ID: int32(i), Replicas: []int32{0}, ISR: []int32{0}, Directories: []ID{{1}}}})
	}
	return records
}

func numberedID(i int) ID { return ID{byte(i), byte(i >> 8), byte(i >> 16), 1} }

func TestANodeKeepsWhatItWasToldAndRaisesEpochsAtEachStart(t *testing.T) {
	dir := t.TempDir()
	n := open(t, Options{Dir: dir})
	update(t, n, topicRecords(ID{1}, "t", 2)...)
	update(t, n, ConfigRecord{Resource: Resource{ResourceTopic, "t"}, Key: "k", Value: "v"}, BrokerRecord{Broker{ID: 0, Epoch: -1}})
	cluster := n.Image().ClusterID
	if _, err := ParseID(cluster); err != nil {
		t.Fatal(err)
	}
	for start := range int32(3) {
		before := n.Image()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		n = open(t, Options{Dir: dir})
		img := n.Image()
		topic, _ := img.Topic("t")
		p, ok := topic.Partition(1)
		if !ok || p.LeaderEpoch != start+1 || p.PartitionEpoch != start+1 {
			t.Fatalf("start %d: %+v", start, p)
		}
		broker, _ := img.Broker(0)
		if old, _ := before.Broker(0); img.ClusterID != cluster || img.Configs(ResourceTopic, "t")["k"] != "v" || broker.Epoch != old.Epoch {
			t.Fatalf("start %d: %s", start, dumpImage(img))
		}
	}
}

func TestAStartAfterCompactionGivesTheSameImage(t *testing.T) {
	dir := t.TempDir()
	n := open(t, Options{Dir: dir, CompactBytes: 2000})
	for i := range 200 {
		update(t, n, topicRecords(numberedID(i), fmt.Sprint("topic-", i), 2)...)
		if i%4 == 3 {
			update(t, n, RemoveTopicRecord{numberedID(i - 1)})
		}
	}
	want, _, err := n.Image().Apply(n.Image().Offset+1, []Record{StartRecord{0}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, snapshotName)); err != nil {
		t.Fatal(err)
	}
	n = open(t, Options{Dir: dir, CompactBytes: 2000})
	if got, want := dumpImage(n.Image()), dumpImage(want); got != want {
		t.Fatalf("the image is\n%s\nand was\n%s", got, want)
	}
}

func TestSubscribersSeeEveryChangeInOrderBeforeItsUpdateReturns(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir()})
	update(t, n, topicRecords(ID{99}, "before", 1)...)
	var last *Image
	added := map[string]bool{}
	last = n.Subscribe(func(old, next *Image, changed Delta) {
		if old.Offset < last.Offset || next.Offset <= old.Offset {
			t.Errorf("change from %d to %d after %d", old.Offset, next.Offset, last.Offset)
		}
		last = next
		for _, ref := range changed.Added {
			added[ref.Name] = true
		}
	})
	if _, ok := last.Topic("before"); !ok {
		t.Fatal("the image at the subscription is old")
	}
	for i := range 10 {
		name := fmt.Sprint("topic-", i)
		update(t, n, topicRecords(numberedID(i), name, 1)...)
		if !added[name] {
			t.Fatalf("%s was not announced", name)
		}
	}
	if len(added) != 10 {
		t.Fatal(added)
	}
}

func TestCloseFinishesWhatWasTakenAndRefusesTheRest(t *testing.T) {
	dir := t.TempDir()
	n := open(t, Options{Dir: dir})
	var all sync.WaitGroup
	var mu sync.Mutex
	kept := 0
	for i := range 50 {
		all.Go(func() {
			err := n.Update(context.Background(), func(*Image) ([]Record, error) {
				return topicRecords(numberedID(i), fmt.Sprint(i), 1), nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				kept++
			} else if !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, Options{Dir: dir}).Image().TopicCount(); got != kept {
		t.Fatalf("%d topics are there, %d were acknowledged", got, kept)
	}
}

func TestAtStartSharesTheStartAndItsErrorStopsIt(t *testing.T) {
	disk := newDisk(1)
	opts := Options{Dir: crashDir, FS: disk, AtStart: func(img *Image) ([]Record, error) {
		if img.ClusterID == "" {
			return nil, errors.New("no cluster id yet")
		}
		return []Record{BrokerRecord{Broker{ID: 0, Epoch: -1}}}, nil
	}}
	n := open(t, opts)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	before := disk.Counts().Datasyncs
	n = open(t, opts)
	if flushes := disk.Counts().Datasyncs - before; flushes != 1 {
		t.Fatalf("a start took %d flushes", flushes)
	}
	if b, ok := n.Image().Broker(0); !ok || b.Epoch != n.Image().Offset {
		t.Fatal(b, ok)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	opts.AtStart = func(*Image) ([]Record, error) { return nil, errPlanted }
	if _, err := Open(opts); !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
}
