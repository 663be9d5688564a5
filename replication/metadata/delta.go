package metadata

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Delta says what differs between two images that follow each other, so that a subscriber need not compare them. A
// topic is in one of the three lists at most; all lists are sorted, topics by id.
type Delta struct {
	Added   []TopicRef
	Changed []TopicRef // a partition was added or changed by a record of its own
	Removed []TopicRef
	Configs []Resource // configs were set or deleted, or went with their topic
	Brokers []int32    // registered, or registered anew
	Started []int32    // nodes whose start raised the epochs of all partitions that they lead
}

// TopicRef names a topic.
type TopicRef struct {
	ID   ID
	Name string
}

// IsEmpty reports whether nothing of what a Delta lists has changed.
func (d Delta) IsEmpty() bool {
	return len(d.Added)+len(d.Changed)+len(d.Removed)+len(d.Configs)+len(d.Brokers)+len(d.Started) == 0
}

func (d *Delta) sort() {
	for _, list := range [...][]TopicRef{d.Added, d.Changed, d.Removed} {
		slices.SortFunc(list, func(a, b TopicRef) int { return slices.Compare(a.ID[:], b.ID[:]) })
	}
	slices.SortFunc(d.Configs, compareResources)
	slices.Sort(d.Brokers)
	slices.Sort(d.Started)
}

func compareResources(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// diff finds the Delta of two images by comparing all of them: for an image that came whole, in a snapshot of another
// voter. Epochs raised by starts show as changed topics there.
func diff(old, next *Image) Delta {
	var d Delta
	for id, t := range next.byID.all() {
		ref := TopicRef{id, t.name}
		before, ok := old.byID.get(id)
		switch {
		case !ok:
			d.Added = append(d.Added, ref)
		case !samePartitions(Topic{before, old.starts}, Topic{t, next.starts}):
			d.Changed = append(d.Changed, ref)
		}
	}
	for id, t := range old.byID.all() {
		if _, ok := next.byID.get(id); !ok {
			d.Removed = append(d.Removed, TopicRef{id, t.name})
		}
	}
	for r, values := range next.configs.all() {
		if before, _ := old.configs.get(r); !maps.Equal(before, values) {
			d.Configs = append(d.Configs, r)
		}
	}
	for r := range old.configs.all() {
		if _, ok := next.configs.get(r); !ok {
			d.Configs = append(d.Configs, r)
		}
	}
	for id, b := range next.brokers {
		if before, ok := old.brokers[id]; !ok || !reflect.DeepEqual(before, b) {
			d.Brokers = append(d.Brokers, id)
		}
	}
	d.sort()
	return d
}

func samePartitions(a, b Topic) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range int32(a.Len()) {
		p, _ := a.Partition(i)
		q, _ := b.Partition(i)
		if !p.equal(q) {
			return false
		}
	}
	return true
}

func (p Partition) equal(q Partition) bool {
	return p.ID == q.ID && p.Leader == q.Leader && p.LeaderEpoch == q.LeaderEpoch && p.PartitionEpoch == q.PartitionEpoch &&
		slices.Equal(p.Replicas, q.Replicas) && slices.Equal(p.ISR, q.ISR) && slices.Equal(p.Directories, q.Directories)
}
