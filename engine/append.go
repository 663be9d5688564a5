package engine

import (
	"math"
	"time"

	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// Appended is how an append ended.
type Appended struct {
	// BaseOffset and LastOffset are those of the first and the last record. For a duplicate they are the original's.
	BaseOffset, LastOffset int64
	// LogStartOffset is the log's when the append was acknowledged.
	LogStartOffset int64
	// LogAppendTimeMs is the time that the records were stamped with, in milliseconds, or -1 where they kept theirs. For a
	// duplicate it is the greatest timestamp of the original, as in Kafka.
	LogAppendTimeMs int64
	// Duplicate says that an idempotent producer sent these records before: nothing was appended.
	Duplicate bool
	// Err says why nothing was appended, or why it is not known whether it will be there after a crash (ErrOffline).
	Err error
}

// Append gives the batches of p their offsets and has them written. It copies p.Bytes and never waits for a disk. done
// is called once: at once where the append is refused, else on a writer's goroutine when what the log's flush mode
// promises has happened, in the order of the appends. done must not block.
//
// leaderEpoch is stamped on the batches: that of the leader who appends, 0 where there is no cluster.
func (l *Log) Append(p *record.Prepared, leaderEpoch int32, done func(Appended)) {
	l.mu.Lock()
	refused, err := l.appendLocked(p, leaderEpoch, done)
	l.mu.Unlock()
	if err != nil {
		refused.BaseOffset, refused.LastOffset, refused.LogAppendTimeMs = -1, -1, -1
		refused.LogStartOffset, refused.Err = l.start.Load(), err
		done(refused)
		return
	}
	if refused.Duplicate {
		refused.LogStartOffset = l.start.Load()
		done(refused)
	}
}

// appendLocked queues the append, or returns an error, or the original of a duplicate that is already acknowledged.
func (l *Log) appendLocked(p *record.Prepared, leaderEpoch int32, done func(Appended)) (Appended, error) {
	if err := l.appendable(len(p.Bytes)); err != nil {
		return Appended{}, err
	}
	dup, err := l.checkProducers(p)
	if err != nil {
		return Appended{}, err
	}
	if dup != nil {
		return l.duplicate(dup, done), nil
	}
	if err := l.e.reserve(int64(len(p.Bytes))); err != nil {
		return Appended{}, err
	}
	cfg := l.config.Load()
	if err := l.rollIfNeeded(p, cfg); err != nil {
		l.e.release(int64(len(p.Bytes)))
		return Appended{}, err
	}
	if e, ok := l.mu.epochs.Latest(); !ok || e.Epoch < leaderEpoch {
		l.mu.epochsNew = l.mu.epochs.Assign(leaderEpoch, l.mu.end) || l.mu.epochsNew
	}
	if !l.mu.busy && !l.mu.active.Open() {
		l.mu.active.SetDirect(l.e.wantsDirect(cfg)) // nothing of it is with a writer
	}
	base := l.mu.end
	r := l.room(len(p.Bytes))
	at := len(r.buf)
	r.buf = append(r.buf, p.Bytes...)
	for i := range p.Batches {
		l.placeBatch(&p.Batches[i], r.buf[at:], leaderEpoch, cfg)
	}
	r.end = l.mu.end
	r.messages += l.mu.end - base
	a := Appended{BaseOffset: base, LastOffset: l.mu.end - 1, LogAppendTimeMs: p.LogAppendTimeMs}
	r.acks = append(r.acks, ack{done, a})
	l.enqueue()
	return Appended{}, nil
}

// appendable says whether the log takes appends of n bytes at all.
func (l *Log) appendable(n int) error {
	switch {
	case l.mu.deleted:
		return ErrDeleted
	case l.e.closed.Load():
		return ErrClosed
	case n > int(l.config.Load().SegmentBytes):
		return ErrTooLargeForSegment
	}
	return l.Err()
}

// checkProducers holds the batches against what their producers appended before. A request whose first batch is a
// duplicate is one as a whole, as in Kafka.
func (l *Log) checkProducers(p *record.Prepared) (*producer.Appended, error) {
	for i := range p.Batches {
		b := &p.Batches[i]
		if b.ProducerID < 0 {
			continue
		}
		if b.Control {
			if err := l.checkMarker(*b, p.Batch(i), 0); err != nil {
				return nil, err
			}
		}
		// A coordinator's own batches have no sequences.
		dup, err := l.mu.producers.Check(*b, b.BaseSequence >= 0)
		if dup != nil || err != nil {
			return dup, err
		}
	}
	return nil, nil
}

// duplicate answers with the original's offsets: at once if the original is acknowledged, else together with what is
// pending, since an answer now would promise what a crash can still undo.
func (l *Log) duplicate(dup *producer.Appended, done func(Appended)) Appended {
	a := Appended{BaseOffset: dup.BaseOffset, LastOffset: dup.LastOffset, LogAppendTimeMs: dup.Timestamp, Duplicate: true}
	if dup.LastOffset < l.acknowledged() || l.w.planted.doubled {
		return a
	}
	if n := len(l.mu.pending); n > 0 {
		l.mu.pending[n-1].acks = append(l.mu.pending[n-1].acks, ack{done, a})
	} else {
		// The original is in a writer's hands: an empty run behind it is done after it.
		r := l.newRun(0)
		r.acks = append(r.acks, ack{done, a})
		l.enqueue()
	}
	return Appended{}
}

// acknowledged returns the offset below which the log's present mode has nothing left to wait for.
func (l *Log) acknowledged() int64 {
	if l.config.Load().Sync() {
		return l.flushed.Load().offset
	}
	return l.high.Load().offset
}

// placeBatch gives the batch at its position in b its offset and epoch and accounts for it.
func (l *Log) placeBatch(info *record.Info, b []byte, leaderEpoch int32, cfg *Config) {
	batch := record.Batch(b[info.Position:][:info.Size])
	base := l.mu.end
	last := base + int64(info.LastOffsetDelta)
	batch.SetBaseOffset(base)
	batch.SetPartitionLeaderEpoch(leaderEpoch)
	l.mu.active.Note(info.Size, last, info.MaxTimestamp, cfg.IndexInterval)
	if info.ProducerID >= 0 {
		l.noteProducer(info, batch, last)
	}
	l.mu.end = last + 1
}

// rollIfNeeded makes a new active segment where the present one must not take p, by Kafka's rules.
func (l *Log) rollIfNeeded(p *record.Prepared, cfg *Config) error {
	s := l.mu.active
	span := int64(0)
	for i := range p.Batches {
		span += int64(p.Batches[i].LastOffsetDelta) + 1
	}
	now := l.e.opt.Now()
	switch {
	case s.Appended()+int64(len(p.Bytes)) > int64(cfg.SegmentBytes):
	case s.Appended() > 0 && l.waited(p, now) > cfg.SegmentAge:
	case s.IndexFull():
	case l.mu.end+span-1-s.Base > math.MaxInt32:
	default:
		return nil
	}
	if s.Appended() == 0 && l.mu.end == s.Base {
		return nil // never two segments with one base offset
	}
	return l.rollLocked(now)
}

// waited returns how old the active segment is for p: in time of records where they have it.
func (l *Log) waited(p *record.Prepared, now time.Time) time.Duration {
	first := l.mu.active.FirstTimestamp()
	if first < 0 || p.MaxTimestamp < 0 {
		return now.Sub(l.mu.created)
	}
	ms := p.MaxTimestamp - first
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// rollLocked makes a new active segment that starts at the log end offset. Its file, the sealing of the old one and the
// producer snapshot are the writer's work, in the order of the appends.
func (l *Log) rollLocked(now time.Time) error {
	s, err := segment.New(l.e.fs, l.dir, l.mu.end, l.limits())
	if err != nil {
		return err
	}
	s.SetDirect(l.e.wantsDirect(l.config.Load()))
	l.mu.active, l.mu.created = s, now
	r := l.newRun(0)
	r.rolled = true
	r.snapshot = l.mu.producers.Marshal()
	return nil
}
