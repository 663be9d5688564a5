package api

import (
	"runtime"
	"sync"
)

// workers run what would keep an event loop from its connections: decompression, and reads that may wait for a disk.
// They are as many as CPUs, so that such work does not crowd out the commits that wait for a turn.
type workers struct {
	once sync.Once
	jobs chan func()
}

// workerQueue bounds the work that waits for a worker. A connection has one such request at a time, so a full queue
// holds back connections, and through them their clients.
const workerQueue = 1024

// do runs f on a worker. It waits while the queue is full.
func (w *workers) do(f func()) {
	w.once.Do(func() {
		w.jobs = make(chan func(), workerQueue)
		for range max(runtime.NumCPU(), 2) {
			go func() {
				for f := range w.jobs {
					f()
					runtime.Gosched()
				}
			}()
		}
	})
	w.jobs <- f
}

// stop lets the workers go. Nothing may be given to them afterwards.
func (w *workers) stop() {
	w.once.Do(func() {})
	if w.jobs != nil {
		close(w.jobs)
	}
}
