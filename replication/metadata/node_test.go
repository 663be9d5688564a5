package metadata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
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

func TestConcurrentUpdatesDecideOneAfterTheOtherAndShareFlushes(t *testing.T) {
	disk := newDisk(1)
	n := open(t, Options{Dir: crashDir, FS: disk})
	// The first flush waits until all others have decided: they must share the next one.
	const writers = 64
	var decided sync.WaitGroup
	decided.Add(writers)
	var once sync.Once
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpDatasync {
			once.Do(decided.Wait)
		}
		return nil
	})
	before := disk.Counts().Datasyncs
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			err := n.Update(context.Background(), func(img *Image) ([]Record, error) {
				defer decided.Done()
				return []Record{ProducerIDsRecord{img.NextProducerID + 1}}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := n.Image().NextProducerID; got != writers {
		t.Fatalf("%d updates are in the image", got)
	}
	// The last to decide is perhaps not yet in the queue when the first flush ends.
	if flushes := disk.Counts().Datasyncs - before; flushes > 3 {
		t.Fatalf("%d updates took %d flushes", writers, flushes)
	}
}

func TestProducerIDBlocksNeverMeet(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir()})
	var mu sync.Mutex
	var firsts []int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			first, count, err := n.AllocateProducerIDs(context.Background())
			if err != nil || count != ProducerIDBlock {
				t.Error(count, err)
			}
			mu.Lock()
			defer mu.Unlock()
			firsts = append(firsts, first)
		})
	}
	all.Wait()
	slices.Sort(firsts)
	for i, first := range firsts {
		if first != int64(i)*ProducerIDBlock {
			t.Fatal(firsts)
		}
	}
}

func TestADecisionsErrorComesBackAsItIsAndChangesNothing(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir()})
	before := n.Image()
	own := errors.New("own")
	if err := n.Update(context.Background(), func(*Image) ([]Record, error) { return nil, own }); err != own {
		t.Fatal(err)
	}
	if err := n.Update(context.Background(), func(*Image) ([]Record, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	err := n.Update(context.Background(), func(*Image) ([]Record, error) { return []Record{RemoveTopicRecord{ID{9}}}, nil })
	if err == nil || !strings.Contains(err.Error(), "no such topic") {
		t.Fatal(err)
	}
	if n.Image() != before {
		t.Fatal("the image changed")
	}
	func() {
		defer func() { _ = recover() }()
		_ = n.Update(context.Background(), func(*Image) ([]Record, error) { panic("caller's bug") })
	}()
	update(t, n, topicRecords(ID{1}, "after", 1)...)
}

// TestWhatADecisionSawIsDurableBeforeItsAnswer: "exists already" is not said of a topic that a power cut could undo.
func TestWhatADecisionSawIsDurableBeforeItsAnswer(t *testing.T) {
	disk := newDisk(1)
	n := open(t, Options{Dir: crashDir, FS: disk})
	flushing, release := make(chan struct{}), make(chan struct{})
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpDatasync {
			close(flushing)
			<-release
			return errPlanted
		}
		return nil
	})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		first <- n.Update(context.Background(), func(*Image) ([]Record, error) { return topicRecords(ID{1}, "t", 1), nil })
	}()
	<-flushing
	saw := make(chan bool, 1)
	go func() {
		second <- n.Update(context.Background(), func(img *Image) ([]Record, error) {
			_, exists := img.Topic("t")
			saw <- exists
			return nil, errors.New("exists already")
		})
	}()
	if !<-saw {
		t.Fatal("the decision did not see what was proposed before it")
	}
	close(release)
	if err := <-first; !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
	if err := <-second; !errors.Is(err, errPlanted) {
		t.Fatalf("answered %v on something that is lost", err)
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

func TestAnUpdateWhoseContextEndsLetsOthersPass(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(context.Background())
	inside, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- n.Update(context.Background(), func(*Image) ([]Record, error) {
			close(inside)
			<-release
			return nil, nil
		})
	}()
	<-inside
	cancel()
	err := n.Update(ctx, func(*Image) ([]Record, error) { t.Error("decided"); return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
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
