package group

import (
	"container/heap"
	"sync"
)

// timers wakes whoever asked, with one heap and one wake of the clock for all. A timer that is moved away costs
// nothing: it fires early, and whoever it belongs to asks again.
type timers struct {
	clock Clock

	mu     sync.Mutex
	heap   timerHeap
	armed  int64 // what the clock was asked for, if stop is set
	stop   func()
	closed bool
}

// timer is one entry. fire runs without a lock. The zero value is in no heap.
type timer struct {
	fire  func()
	at    int64
	index int // in the heap, from 1; 0: not in it
}

// notLater makes a timer fire at the given monotonic ms, or before.
func (t *timers) notLater(e *timer, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at != never && (e.index == 0 || at < e.at) {
		t.place(e, at)
	}
}

// set makes a timer fire at the given monotonic ms; never takes it out.
func (t *timers) set(e *timer, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(e, at)
}

func (t *timers) place(e *timer, at int64) {
	switch {
	case at == never && e.index > 0:
		heap.Remove(&t.heap, e.index-1)
	case at == never || t.closed:
	case e.index > 0:
		e.at = at
		heap.Fix(&t.heap, e.index-1)
	default:
		e.at = at
		heap.Push(&t.heap, e)
	}
	t.arm()
}

// arm asks the clock for the earliest timer. Under the lock.
func (t *timers) arm() {
	if len(t.heap) == 0 || t.closed {
		return
	}
	first := t.heap[0].at
	if t.stop != nil {
		if t.armed <= first {
			return
		}
		t.stop()
	}
	t.armed = first
	t.stop = t.clock.Wake(first, t.wake)
}

// wake fires what is due.
func (t *timers) wake() {
	var due []*timer
	t.mu.Lock()
	t.stop = nil
	now := t.clock.Now().Mono
	for len(t.heap) > 0 && t.heap[0].at <= now {
		due = append(due, heap.Pop(&t.heap).(*timer))
	}
	t.arm()
	t.mu.Unlock()
	for _, e := range due {
		e.fire()
	}
}

func (t *timers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.stop != nil {
		t.stop()
	}
	for _, e := range t.heap {
		e.index = 0
	}
	t.heap = nil
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

func (h *timerHeap) Push(x any) {
	e := x.(*timer)
	*h = append(*h, e)
	e.index = len(*h)
}

func (h *timerHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	e.index = 0
	return e
}
