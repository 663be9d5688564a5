package offsets

import (
	"slices"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/partition"
)

// changed takes in one change of the image, on the metadata's goroutine.
func (s *Store) changed(_, img *metadata.Image, d metadata.Delta) {
	if s.closed.Load() {
		return
	}
	for _, ref := range d.Removed {
		if ref.Name == Topic {
			s.leave(ref.ID)
		} else {
			s.groups.TopicDeleted(ref.Name, ref.ID)
		}
	}
	for _, ref := range slices.Concat(d.Added, d.Changed) {
		if t, ok := img.TopicByID(ref.ID); ok && ref.Name == Topic {
			s.mu.Lock()
			s.lead(t)
			s.mu.Unlock()
		}
	}
}

// lead hands the coordinator the topic's partitions that it does not have, and begins to load them. Those beyond the
// number that groups are spread over stay unused: groups stay where they were until a restart. s.mu is locked.
//
// A load of an earlier topic may still be at its last record when this one appears:
//
//	1 the topic is removed: its incarnation is gone, the coordinator resigns
//	2 a new topic is added, and its partitions are loading
//	3 the old load, which had looked before 1, ends: the old groups would be served
//
// So partitions are not loading (2) before the loads that were begun are over, and until then are nobody's.
func (s *Store) lead(t metadata.Topic) {
	if s.closed.Load() {
		return
	}
	in := s.mu.topic
	if in == nil || in.id != t.ID() {
		in = &incarnation{id: t.ID(), unmade: map[int32]bool{}}
		s.mu.topic = in
	}
	from, to := in.led, min(int32(t.Len()), s.partitions)
	if from >= to {
		return
	}
	in.led = to
	before, done := s.mu.last, make(chan struct{})
	s.mu.last = done
	var rest []int32
	for p := from; p < to; p++ {
		if m, ok := t.Partition(p); ok && m.Leader < 0 || s.offline(in, p) {
			in.unmade[p] = true
			continue // its log is somewhere else, or its directory is offline or slow, and with it the groups
		}
		if !over(before) || !s.loadEmpty(in, p) {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		close(done)
		return
	}
	go func() {
		defer close(done)
		<-before
		s.load(in, rest)
	}()
}

// made takes a partition whose log was made after the coordinator would have been handed it.
func (s *Store) made(at *partition.Partition) {
	if at.Topic.Name != Topic || at.ID >= s.partitions {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mu.topic
	if s.closed.Load() || in == nil || in.id != metadata.ID(at.Topic.ID) || !in.unmade[at.ID] {
		return
	}
	delete(in.unmade, at.ID)
	before, done := s.mu.last, make(chan struct{})
	s.mu.last = done
	go func() {
		defer close(done)
		<-before
		s.load(in, []int32{at.ID})
	}()
}

// loadEmpty makes a partition loading, and ends that at once where there is nothing to read: a client that made the
// topic with its first request is then served right away. It does not touch the disk.
func (s *Store) loadEmpty(in *incarnation, p int32) bool {
	s.groups.Elected(p)
	l, err := s.logOf(in, p)
	if err != nil || l.Err() != nil || l.LogStartOffset() < l.LogEndOffset() {
		return false
	}
	s.loadPartition(in, p)
	return true
}

// offline reports whether a partition is here and has no log.
func (s *Store) offline(in *incarnation, p int32) bool {
	t := s.table.ByID(in.id)
	if t == nil {
		return false
	}
	at := t.Partition(p)
	return at != nil && at.Log == nil
}

// DirectoryFailed gives up the partitions that have lost their logs: the groups in them are nobody's until the next start.
func (s *Store) DirectoryFailed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mu.topic
	if in == nil {
		return
	}
	for p := range in.led {
		if s.offline(in, p) {
			s.groups.Resigned(p)
		}
	}
}

func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// leave gives the topic up: its records are gone, and with them the groups.
func (s *Store) leave(id metadata.ID) {
	s.mu.Lock()
	in := s.mu.topic
	if in == nil || in.id != id {
		s.mu.Unlock()
		return
	}
	s.mu.topic = nil
	in.gone.Store(true)
	s.mu.Unlock()
	s.log.Warn("the topic of groups and offsets was deleted, and all of them with it", "topic", Topic)
	for p := range in.led {
		s.groups.Resigned(p)
	}
}

// topics is group.Topics over the image, which takes no lock.
type topics struct{ m *metadata.Node }

func (t topics) ByName(name string) (id [16]byte, partitions int32, ok bool) {
	topic, ok := t.m.Image().Topic(name)
	if !ok {
		return id, 0, false
	}
	return topic.ID(), int32(topic.Len()), true
}

func (t topics) ByID(id [16]byte) (name string, partitions int32, ok bool) {
	topic, ok := t.m.Image().TopicByID(id)
	if !ok {
		return "", 0, false
	}
	return topic.Name(), int32(topic.Len()), true
}
