package fs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Policy says how much of what is pending a power cut leaves.
type Policy int

const (
	// DropUnflushed leaves what is on stable storage and nothing else: a volatile cache that is lost.
	DropUnflushed Policy = iota
	// KeepAll leaves everything, writes in flight included: a process that was killed, or luck.
	KeepAll
	// Random leaves any state that the model allows; each call another one.
	Random
)

// Clone returns the disk that a power cut at this moment would leave. The disk itself goes on; both share the
// content that neither changes, so a clone costs memory for names only. Hook, Faults and Counts start empty, the
// capacity is kept, and the clone's seed is drawn from this disk's.
func (c *Crash) Clone(p Policy) *Crash {
	c.mu.Lock()
	defer c.mu.Unlock()
	clone := NewCrash(c.mu.rng.Uint64())
	clone.mu.space, clone.mu.numbers, clone.mu.reflinks = c.mu.space, c.mu.numbers, c.mu.reflinks
	if p == KeepAll {
		clone.mu.boot = c.mu.boot
	}
	cut := &powerCut{policy: p, rng: c.mu.rng, disk: clone, names: map[*node]map[string]*node{}, made: map[*node]*node{}}
	cut.chooseNames(c.mu.names)
	clone.mu.root, clone.mu.here = cut.node(c.mu.root), cut.node(c.mu.here)
	return clone
}

// Settle puts everything on stable storage, as sync(8) on a quiet machine: the starting point of a test.
func (c *Crash) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(func(*nameChange) bool { return true })
	var walk func(n *node)
	walk = func(n *node) {
		for _, child := range n.live {
			walk(child)
		}
		if d := n.data; d != nil {
			d.base, d.baseSize, d.pending = maps.Clone(d.live), d.size, nil
		}
	}
	walk(c.mu.root)
	walk(c.mu.here)
}

// powerCut builds the disk that is left.
type powerCut struct {
	policy Policy
	rng    *rand.Rand
	disk   *Crash
	names  map[*node]map[string]*node // directories' entries after the cut, in old nodes
	made   map[*node]*node            // old node to new
}

// entries returns a directory's entries after the cut, to be changed.
func (k *powerCut) entries(n *node) map[string]*node {
	if k.names[n] == nil {
		k.names[n] = maps.Clone(n.settled)
	}
	return k.names[n]
}

// chooseNames applies the pending changes of names that landed: one that follows another only after it.
func (k *powerCut) chooseNames(pending []*nameChange) {
	keep := k.odds()
	lands := make([]bool, len(pending))
	for i, ch := range pending {
		lands[i] = k.policy == KeepAll || k.policy == Random && k.rng.Float64() < keep
		for j := range i {
			lands[i] = lands[i] && (lands[j] || !ch.follows(pending[j]))
		}
		if lands[i] {
			ch.apply(k.entries)
		}
	}
}

// odds draws how likely a pending thing is to land: cuts that lose nearly everything or nearly nothing find other bugs
// than cuts that lose half.
func (k *powerCut) odds() float64 {
	return [...]float64{0.05, 0.5, 0.95}[k.rng.IntN(3)]
}

// node makes the new node of an old one, in name order so that one seed gives one disk.
func (k *powerCut) node(old *node) *node {
	if n := k.made[old]; n != nil {
		if !n.dir {
			n.data.links++
		}
		return n
	}
	n := &node{dir: old.dir, number: old.number, changed: old.changed}
	k.made[old] = n
	if !old.dir {
		d := newInode(old.data.name)
		d.changed = old.data.changed
		if d.live, d.size = k.content(old.data); old.data.shared != nil {
			d.live, d.size = old.data.shared.content(k)
		}
		d.base, d.baseSize = maps.Clone(d.live), d.size
		k.disk.mu.used += int64(len(d.live))
		n.data = d
		return n
	}
	n.live, n.settled = map[string]*node{}, map[string]*node{}
	entries := k.entries(old)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		n.live[name] = k.node(entries[name])
		n.settled[name] = n.live[name]
	}
	return n
}
