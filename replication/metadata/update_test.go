package metadata

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

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
