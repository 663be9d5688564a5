package api

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A worker that hands on work, as one does that lets the next request of a connection start, must not wait for a worker.
func TestWorkThatMakesMoreWorkDoesNotWaitForAWorker(t *testing.T) {
	w := workers{n: 2}
	var done sync.WaitGroup
	const first, second = 100, 100
	done.Add(first * second)
	for range first {
		w.do(func() {
			for range second {
				w.do(done.Done)
			}
		})
	}
	done.Wait()
	w.wait()
	if w.running != 0 || len(w.jobs) != 0 {
		t.Errorf("%d workers run, %d jobs wait", w.running, len(w.jobs))
	}
}

func TestWorkersAreNeverMoreThanAllowed(t *testing.T) {
	w := workers{n: 3}
	var now, most atomic.Int32
	for range 200 {
		w.do(func() {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
		})
	}
	w.wait()
	if most.Load() > 3 {
		t.Errorf("%d workers at a time, want 3 at most", most.Load())
	}
}

func TestWorkIsBegunInTheOrderInWhichItCame(t *testing.T) {
	w := workers{n: 1}
	var got []int
	for i := range 100 {
		w.do(func() { got = append(got, i) })
	}
	w.wait()
	for i, g := range got {
		if i != g {
			t.Fatalf("job %d came at place %d", g, i)
		}
	}
	if len(got) != 100 {
		t.Errorf("%d jobs of 100", len(got))
	}
}

// Whoever reads from a disk that hangs takes a reader from those alone who need something of that disk, too.
func TestAReaderThatHangsIsMissedByItsOwnDirectoriesAlone(t *testing.T) {
	r := readers{n: 1}
	const a, b dirSet = 1, 2
	hang, begun := make(chan struct{}), make(chan struct{})
	r.do(b, func() { close(begun); <-hang })
	<-begun
	var waited atomic.Bool
	r.do(b, func() { waited.Store(true) })
	for _, dirs := range []dirSet{0, a, a | b} {
		done := make(chan struct{})
		r.do(dirs, func() { close(done) })
		<-done
	}
	if waited.Load() {
		t.Error("more readers of one directory than allowed")
	}
	close(hang)
	r.wait()
	if !waited.Load() {
		t.Error("who waited for the reader was forgotten")
	}
}
