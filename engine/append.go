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
// is called once, when what the log's flush mode promises has happened, in the order of the appends of one goroutine: before
// Append returns where the append is refused or staged (Options.StageBytes), else on a writer's goroutine. It must not block.
//
// leaderEpoch is stamped on the batches: that of the leader who appends, 0 where there is no cluster.
func (l *Log) Append(p *record.Prepared, leaderEpoch int32, done func(Appended)) {
	l.mu.Lock()
	a, ended, err := l.appendLocked(p, leaderEpoch, done)
	l.mu.Unlock()
	l.ended(a, ended, err, done)
}

// ended answers an append that appendLocked has ended.
func (l *Log) ended(a Appended, ended bool, err error, done func(Appended)) {
	if !ended && err == nil {
		return
	}
	a.LogStartOffset = l.start.Load()
	if err != nil {
		l.e.opt.Metrics.refused(err)
		a = Appended{BaseOffset: -1, LastOffset: -1, LogAppendTimeMs: -1, LogStartOffset: a.LogStartOffset, Err: err}
	}
	done(a)
	if err == nil && !a.Duplicate {
		l.advanced()
	}
}

// appendLocked stages the append or the answer to a duplicate, and returns how it ended, or queues it for a writer, or
// returns an error.
func (l *Log) appendLocked(p *record.Prepared, leaderEpoch int32, done func(Appended)) (a Appended, ended bool, err error) {
	if err := l.appendable(len(p.Bytes)); err != nil {
		return a, false, err
	}
	dup, err := l.checkProducers(p)
	if err != nil {
		return a, false, err
	}
	if dup != nil {
		a, ended = l.duplicate(dup, done, l.config.Load())
		return a, ended, nil
	}
	if err := l.e.reserve(int64(len(p.Bytes))); err != nil {
		return a, false, err
	}
	cfg := l.config.Load()
	if err := l.rollIfNeeded(p, cfg); err != nil {
		l.e.release(int64(len(p.Bytes)))
		return a, false, err
	}
	if e, ok := l.mu.epochs.Latest(); !ok || e.Epoch < leaderEpoch {
		l.mu.epochsNew = l.mu.epochs.Assign(leaderEpoch, l.mu.end) || l.mu.epochsNew
	}
	if !l.mu.busy && !l.mu.active.Open() {
		l.mu.active.SetDirect(l.wantsDirect(cfg), cfg.Sync()) // nothing of it is with a writer
	}
	base := l.mu.end
	r := l.room(len(p.Bytes), l.stages(cfg))
	if err := l.place(r, p, leaderEpoch, cfg); err != nil {
		l.e.fail(err) // some of it may be there, and its offsets may be given
		return a, false, offline(err)
	}
	l.e.opt.Metrics.appended(len(p.Bytes), l.mu.end-base)
	a = Appended{BaseOffset: base, LastOffset: l.mu.end - 1, LogAppendTimeMs: p.LogAppendTimeMs}
	if r.staged {
		l.staged(r, cfg)
		l.enqueue()
		return a, true, nil
	}
	l.awaits(r, ack{done, a}, cfg)
	l.enqueue()
	return a, false, nil
}

// place copies the batches to the end of a run that has room for them, gives them their offsets and accounts for them.
func (l *Log) place(r *run, p *record.Prepared, leaderEpoch int32, cfg *Config) error {
	base, at := l.mu.end, len(r.buf)
	err := r.mem.change(func() {
		r.buf = append(r.buf, p.Bytes...)
		next := base
		for i := range p.Batches {
			info := &p.Batches[i]
			batch := record.Batch(r.buf[at+info.Position:][:info.Size])
			batch.SetBaseOffset(next)
			batch.SetPartitionLeaderEpoch(leaderEpoch)
			next += int64(info.LastOffsetDelta) + 1
		}
	})
	if err != nil {
		r.buf = r.buf[:at] // what lies there must not even be looked at
		l.e.release(int64(len(p.Bytes)))
		return err
	}
	for i := range p.Batches {
		info := &p.Batches[i]
		l.account(info, record.Batch(r.buf[at+info.Position:][:info.Size]), cfg)
	}
	r.end = l.mu.end
	r.messages += l.mu.end - base
	if r.staged {
		err = l.e.stage.count(r)
	}
	return err
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
	case l.mu.condemned != nil:
		return offline(l.mu.condemned)
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
func (l *Log) duplicate(dup *producer.Appended, done func(Appended), cfg *Config) (a Appended, ended bool) {
	a = Appended{BaseOffset: dup.BaseOffset, LastOffset: dup.LastOffset, LogAppendTimeMs: dup.Timestamp, Duplicate: true}
	if dup.LastOffset < l.acknowledged(cfg) || l.w.planted.doubled {
		return a, true
	}
	if n := len(l.mu.pending); n > 0 {
		l.awaits(l.mu.pending[n-1], ack{done, a}, cfg)
	} else {
		// The original is in a writer's hands: an empty run behind it is done after it.
		l.awaits(l.newRun(0), ack{done, a}, cfg)
	}
	l.enqueue()
	return a, false
}

// acknowledged returns the offset below which the log's mode has nothing left to wait for. Staged records of a log
// that went to sync since are acknowledged, and still to be flushed before a duplicate of theirs may be.
func (l *Log) acknowledged(cfg *Config) int64 {
	if cfg.Sync() {
		return l.flushed.Load().offset
	}
	return l.high.Load().offset
}

// account makes the log's state that behind a batch.
func (l *Log) account(info *record.Info, batch record.Batch, cfg *Config) {
	last := l.mu.end + int64(info.LastOffsetDelta)
	l.mu.tally.Note(l.mu.active.Base, l.mu.active.Appended(), batch, info.Size)
	l.mu.active.Note(info.Size, last, info.MaxTimestamp, cfg.IndexInterval)
	if info.ProducerID >= 0 {
		l.noteProducer(info, batch, last)
	}
	l.mu.end = last + 1
	if l.mu.epochAhead {
		l.mu.epochAhead, l.mu.epochsNew = false, true
	}
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
	cfg := l.config.Load()
	s.SetDirect(l.wantsDirect(cfg), cfg.Sync())
	l.mu.active, l.mu.created = s, now
	r := l.newRun(0)
	r.rolled = true
	r.snapshot = l.mu.producers.Marshal()
	return nil
}
