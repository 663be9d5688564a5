package api

import (
	"runtime"
	"sync"
)

// workers run what would keep an event loop from its connections. Those for decompression are as many as CPUs, so that
// such work does not crowd out the commits that wait for a turn; those that read from disks are diskReaders. They are
// started when they are first needed.
type workers struct {
	n    int // 0: as many as CPUs
	once sync.Once
	jobs chan func()
}

// diskReaders is how many reads wait for a disk at a time: what keeps an SSD busy.
const diskReaders = 32

// workerQueue bounds the work that waits for a worker. A connection has one such request at a time, so a full queue
// holds back connections, and through them their clients.
const workerQueue = 1024

// do runs f on a worker. It waits while the queue is full.
func (w *workers) do(f func()) {
	w.once.Do(func() {
		w.jobs = make(chan func(), workerQueue)
		if w.n == 0 {
			w.n = max(runtime.NumCPU(), 2)
		}
		for range w.n {
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
