package fs

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// node is a directory or a file, apart from its names.
type node struct {
	dir     bool
	live    map[string]*node // a directory's entries as the running process sees them
	settled map[string]*node // those on stable storage
	data    *inode           // a file's content
	number  uint64
	changed int64 // how often names of it or in it have changed
}

func newDir() *node {
	return &node{dir: true, live: map[string]*node{}, settled: map[string]*node{}}
}

// place is a name in a directory; the zero place is nowhere.
type place struct {
	dir  *node
	name string
}

// nameChange is one pending change of names: n goes from a place to a place. A create comes from nowhere, a remove goes
// there.
type nameChange struct {
	n        *node
	from, to place
}

// apply makes the change in the entries that view selects. A place that somebody else has by now is left alone.
func (ch *nameChange) apply(view func(*node) map[string]*node) {
	if ch.from.dir != nil && view(ch.from.dir)[ch.from.name] == ch.n {
		delete(view(ch.from.dir), ch.from.name)
	}
	if ch.to.dir != nil {
		view(ch.to.dir)[ch.to.name] = ch.n
	}
}

func live(n *node) map[string]*node    { return n.live }
func settled(n *node) map[string]*node { return n.settled }

// follows reports whether ch can only land after the earlier change has: same file, same name, or a move into a
// directory that the earlier one made or moved. A create in a new directory does not: it is lost together with it.
func (ch *nameChange) follows(earlier *nameChange) bool {
	if ch.n == earlier.n {
		return true
	}
	for _, a := range [2]place{ch.from, ch.to} {
		if a.dir != nil && (a == earlier.from || a == earlier.to) {
			return true
		}
	}
	return ch.from.dir != nil && ch.to.dir == earlier.n
}

// change makes a change of names now and leaves it pending. c.mu is held, as in all that follows.
func (c *Crash) change(n *node, from, to place) {
	ch := &nameChange{n: n, from: from, to: to}
	ch.apply(live)
	n.changed++
	for _, at := range [...]place{from, to} {
		if at.dir != nil {
			at.dir.changed++
		}
	}
	c.mu.names = append(c.mu.names, ch)
}

// settle lands the pending changes that want selects and those that they follow.
func (c *Crash) settle(want func(*nameChange) bool) {
	lands := make([]bool, len(c.mu.names))
	for i := len(c.mu.names) - 1; i >= 0; i-- {
		if !lands[i] && !want(c.mu.names[i]) {
			continue
		}
		lands[i] = true
		for j := range i {
			lands[j] = lands[j] || c.mu.names[i].follows(c.mu.names[j])
		}
	}
	var left []*nameChange
	for i, ch := range c.mu.names {
		if lands[i] {
			ch.apply(settled)
		} else {
			left = append(left, ch)
		}
	}
	c.mu.names = left
}

// walk finds a name. Where only the last part is missing the place is still good and the node nil.
func (c *Crash) walk(name string) (place, *node, error) {
	at := c.mu.here
	clean := filepath.Clean(name)
	if filepath.IsAbs(clean) {
		at = c.mu.root
	}
	clean = strings.TrimPrefix(clean, "/")
	if clean == "" || clean == "." {
		return place{}, at, nil
	}
	parts := strings.Split(clean, "/")
	for i, part := range parts {
		if !at.dir {
			return place{}, nil, unix.ENOTDIR
		}
		next := at.live[part]
		if i == len(parts)-1 {
			return place{at, part}, next, nil
		}
		if next == nil {
			return place{}, nil, unix.ENOENT
		}
		at = next
	}
	panic("unreachable: Split returns at least one part")
}

// find is walk for a name that has to be there.
func (c *Crash) find(op, name string) (place, *node, error) {
	at, n, err := c.walk(name)
	if err == nil && n == nil {
		err = unix.ENOENT
	}
	if err != nil {
		return place{}, nil, &os.PathError{Op: op, Path: name, Err: err}
	}
	return at, n, nil
}

// unlink is told that a node lost a name. After the last one its blocks are free once nobody has it open.
func (c *Crash) unlink(n *node) {
	switch {
	case n.data == nil:
	case n.data.links > 0:
		n.data.links--
	default:
		n.data.unlinked = true
		c.release(n.data)
	}
}

// release frees the blocks of a file without name and handle.
func (c *Crash) release(d *inode) {
	if d.unlinked && d.handles == 0 {
		c.mu.used -= int64(len(d.live))
		d.live = nil
	}
}
