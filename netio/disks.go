package netio

import (
	"sync"

	"golang.org/x/sys/unix"
)

// disks are the file systems that answers are read from, with places for the reads of each: one that hangs keeps the
// readers of its own files waiting, and nobody else.
type disks struct {
	places int

	mu sync.Mutex
	of map[uint64]chan struct{} // by device number; there are as many as the machine has mounted
}

// enter takes a place for a read of a file, and returns what gives it up. It may wait as long as the file's disk does.
func (d *disks) enter(fd int) (leave func()) {
	p := d.placesOf(fd)
	p <- struct{}{}
	return func() { <-p }
}

func (d *disks) placesOf(fd int) chan struct{} {
	var st unix.Stat_t
	_ = unix.Fstat(fd, &st) // of a descriptor that is none: the read says so
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.of[st.Dev]
	if p == nil {
		if d.of == nil {
			d.of = map[uint64]chan struct{}{}
		}
		p = make(chan struct{}, d.places)
		d.of[st.Dev] = p
	}
	return p
}
