package api

import (
	"slices"
	"sync"

	"github.com/zurau/zurau/server/logdir"
)

// diskReaders is how many reads wait for a disk at a time: what keeps an SSD busy.
const diskReaders = 32

// A dirSet is log directories, by their places in the configuration. Those behind the 63rd count as one.
type dirSet uint64

// setOf returns the set of one directory, or the empty one for nil.
func (b *Broker) setOf(d *logdir.Dir) dirSet {
	if d == nil {
		return 0
	}
	return 1 << min(max(slices.Index(b.Dirs.All(), d), 0), 63)
}

// readers are workers that read from disks, some for each set of directories that somebody has to wait for: a disk that hangs keeps those
// who need something of it, be it among other things, and leaves the readers of all others to them.
type readers struct {
	n int // of each set

	mu sync.Mutex
	of map[dirSet]*workers
}

// do has a reader run f, which waits for the disks of these directories alone. See workers.do.
func (r *readers) do(dirs dirSet, f func()) {
	r.mu.Lock()
	w := r.of[dirs]
	if w == nil {
		if r.of == nil {
			r.of = map[dirSet]*workers{}
		}
		w = &workers{n: r.n}
		r.of[dirs] = w
	}
	r.mu.Unlock()
	w.do(f)
}

// wait returns when nothing is left to do, and nobody brings anything.
func (r *readers) wait() {
	for _, w := range r.all() {
		w.wait()
	}
}

func (r *readers) all() (all []*workers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.of {
		all = append(all, w)
	}
	return all
}
