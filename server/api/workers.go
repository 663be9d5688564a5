package api

import (
	"runtime"
	"sync"
)

// workers run what would keep an event loop from its connections. Those for decompression are as many as CPUs, so that
// such work does not crowd out the commits that wait for a turn; those that read from disks are of readers. They are
// started as they are needed, and end when nothing is left to do.
type workers struct {
	n int // at most so many at a time; 0: as many as CPUs

	mu      sync.Mutex
	jobs    []func() // that no worker has begun, in order
	running int
	alive   sync.WaitGroup
}

// do has a worker run f, and does not wait for it: who calls may be an event loop, a writer of the engine, or a worker
// itself. What waits is bounded all the same, since each job belongs to a request that its connection holds, and netio
// bounds those.
func (w *workers) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = append(w.jobs, f)
	if w.n == 0 {
		w.n = max(runtime.NumCPU(), 2)
	}
	if w.running < w.n {
		w.running++
		w.alive.Go(w.work)
	}
}

// wait returns when nothing is left to do.
func (w *workers) wait() { w.alive.Wait() }

// work runs jobs until there are none.
func (w *workers) work() {
	for f := w.next(); f != nil; f = w.next() {
		f()
		runtime.Gosched()
	}
}

// next takes a job, or says that a worker has ended.
func (w *workers) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) == 0 {
		w.jobs = nil // a burst's memory
		w.running--
		return nil
	}
	f := w.jobs[0]
	w.jobs[0] = nil
	w.jobs = w.jobs[1:]
	return f
}
