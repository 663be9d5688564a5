package group

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
)

// LogRecord is a record of __consumer_offsets as the log has it, or the end of a transaction there.
type LogRecord struct {
	Record
	// Transactional records are pending until their producer's marker.
	Transactional bool
	ProducerID    int64
	// Marker is set for a control record, whose Record is not looked at: Commit tells which.
	Marker, Commit bool
}

// transactions are offsets that open transactions hold, by producer id, in order.
type transactions map[int64][]decoded

// Load reads a partition from its records, from the first to the last, and serves it from then on. Records of
// other kinds of groups are skipped and counted. An error of the iterator, or a record that cannot be read, ends it: the
// partition stays COORDINATOR_LOAD_IN_PROGRESS. The records' bytes are kept.
func (c *Coordinator) Load(partition int32, records iter.Seq2[LogRecord, error]) error {
	c.Elected(partition)
	l := loader{cfg: &c.cfg, groups: map[string]*Group{}, open: transactions{}}
	for r, err := range records {
		if err == nil {
			err = l.take(r)
		}
		if err != nil {
			return fmt.Errorf("load partition %d of __consumer_offsets: %w", partition, err)
		}
	}
	if log := c.cfg.Log; log != nil {
		log.Debug("groups loaded", slog.Int("partition", int(partition)), slog.Int("groups", len(l.groups)), slog.Int("skipped", l.skipped))
	}
	s := c.shards[partition]
	s.run(func(now Instant) {
		if s.status != loading || c.closed.Load() {
			return // resigned, loaded twice, or too late
		}
		s.status, s.open = active, l.open
		s.groups = make(map[string]*slot, len(l.groups))
		for _, g := range l.groups {
			if g.maybeGone(); g.gone {
				continue
			}
			sl := s.adopt(g)
			s.collect(sl, g.begin(now))
			s.collect(sl, g.Forget(now, c.stale))
		}
	})
	return nil
}

// stale reports whether a topic that an offset was committed for is gone, by its id: the tombstones of a deletion may
// have been lost in a crash, and a new topic of that name starts without offsets.
func (c *Coordinator) stale(topic string, id [16]byte) bool {
	if c.topics == nil || id == [16]byte{} {
		return false
	}
	now, _, ok := c.topics.ByName(topic)
	return !ok || now != id
}

// EndTransaction ends a transaction that holds offsets of a partition, after its marker is in the log.
func (c *Coordinator) EndTransaction(partition int32, producerID int64, commit bool) {
	s := c.shards[partition]
	s.run(func(now Instant) {
		for _, d := range s.open.end(producerID, commit) {
			sl := s.find(now, d.group, true)
			sl.group.offsets.load(d.topic, d.partition, d.offset)
		}
	})
}

func (t transactions) end(producerID int64, commit bool) []decoded {
	held := t[producerID]
	delete(t, producerID)
	if !commit {
		return nil
	}
	return held
}

// holds reports whether an open transaction holds an offset.
func (t transactions) holds(group, topic string, partition int32) bool {
	for _, held := range t {
		for _, d := range held {
			if d.group == group && d.topic == topic && d.partition == partition {
				return true
			}
		}
	}
	return false
}

// loader builds groups from records.
type loader struct {
	cfg     *Config
	groups  map[string]*Group
	open    transactions
	skipped int
}

func (l *loader) take(r LogRecord) error {
	if r.Marker {
		for _, d := range l.open.end(r.ProducerID, r.Commit) {
			l.apply(d)
		}
		return nil
	}
	d, err := decode(r.Record)
	switch {
	case errors.Is(err, errUnknownRecord):
		l.skipped++
		return nil
	case err != nil:
		return err
	}
	if r.Transactional && d.isOffset {
		l.open[r.ProducerID] = append(l.open[r.ProducerID], d)
		return nil
	}
	l.apply(d)
	return nil
}

func (l *loader) apply(d decoded) {
	g := l.groups[d.group]
	if g == nil {
		g = NewGroup(d.group, l.cfg, Instant{Wall: -1})
		l.groups[d.group] = g
	}
	if d.isOffset {
		g.offsets.load(d.topic, d.partition, d.offset)
	} else {
		g.replay(d.metadata)
	}
}
