package partition

import (
	"runtime"
	"sync"
	"testing"

	"github.com/zurau/zurau/replication/metadata"
)

func TestAnAppendWakesWhoWaits(t *testing.T) {
	r := newRig(t)
	p := r.create("t", 1, 1).Partition(0)
	b := make(bell, 1)
	p.Await(b)
	r.append(p, "v")
	if got := <-b; got != p {
		t.Errorf("woken by %v", got)
	}
	if p.some.Load() {
		t.Error("who was woken still waits")
	}
}

func TestAWaiterIsWokenOnce(t *testing.T) {
	r := newRig(t)
	p := r.create("t", 1, 1).Partition(0)
	b := make(bell, 10)
	p.Await(b)
	r.table.WakeAll()
	r.table.WakeAll()
	if len(b) != 1 {
		t.Errorf("woken %d times", len(b))
	}
}

func TestWhoIsForgottenIsNotWoken(t *testing.T) {
	r := newRig(t)
	p := r.create("t", 1, 1).Partition(0)
	a, b, c := make(bell, 1), make(bell, 1), make(bell, 1)
	for _, w := range []bell{a, b, c} {
		p.Await(w)
	}
	p.Forget(a)
	p.Forget(a) // twice is once
	r.table.WakeAll()
	if len(a) != 0 || len(b) != 1 || len(c) != 1 {
		t.Errorf("woken: %d %d %d", len(a), len(b), len(c))
	}
	p.Await(a)
	p.Forget(a)
	if p.some.Load() {
		t.Error("nobody waits, and the partition thinks so")
	}
}

// Who waits for a position looks after Await: between the two, nothing can be missed.
//
//	1 the waiter looks: nothing
//	2 the writer moves the high watermark, and finds nobody to wake
//	3 the waiter awaits, and looks again: there it is
func TestNoAppendIsMissedBetweenALookAndTheWait(t *testing.T) {
	r := newRig(t)
	p := r.create("t", 1, 1).Partition(0)
	var writer sync.WaitGroup
	writer.Go(func() {
		for range 100 {
			r.append(p, "v")
		}
	})
	b := make(bell, 1)
	for at := int64(0); at < 100; {
		p.Await(b)
		if end := p.Log.HighWatermark(); end > at {
			at = end
			p.Forget(b)
			select {
			case <-b: // it was woken as well
			default:
			}
			continue
		}
		<-b
		at = max(at, p.Log.HighWatermark())
	}
	writer.Wait()
}

// What was deadlock:
//
//	1 WakeAll has the table's lock for reading, and wakes a fetch
//	2 a topic goes: the change waits for the lock, for writing
//	3 the fetch looks a partition up: it waits behind the change, which waits for WakeAll, which waits for the fetch
func TestWhoIsWokenMayLookPartitionsUpWhileTopicsChange(t *testing.T) {
	r := newRig(t)
	l := &looker{table: r.table, name: "t", woken: make(chan struct{})}
	r.create("t", 1, 1).Partition(0).Await(l)
	stop := make(chan struct{})
	var waker sync.WaitGroup
	waker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				r.table.WakeAll()
				runtime.Gosched()
			}
		}
	})
	for i := range byte(50) {
		r.create("comes", 10+i, 1)
		r.update(metadata.RemoveTopicRecord{ID: metadata.ID{10 + i}})
	}
	<-l.woken
	close(stop)
	waker.Wait()
}
