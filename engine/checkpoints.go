package engine

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// A logSet collects logs that something happened to.
type logSet struct {
	mu sync.Mutex
	m  map[*Log]struct{}
}

func (s *logSet) add(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[*Log]struct{}{}
	}
	s.m[l] = struct{}{}
}

func (s *logSet) take() map[*Log]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.m
	s.m = nil
	return m
}

// Checkpoint flushes every log that was written since the last one and moves their recovery points, so that a recovery
// from here on has nothing of what is there now to look at. An error of a write or a flush takes the directory offline; any
// other leaves recovery points where they are, and the next call tries again.
func (e *Engine) Checkpoint() error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.life.RUnlock()
	defer e.opt.Metrics.checkpointed(clock(e.opt.Metrics.Checkpoint != nil))
	err := e.each(slices.Collect(maps.Keys(e.dirty.take())), func(l *Log) error {
		l.w.dirty.Store(false)
		if err := l.settle(); err != nil && !errors.Is(err, ErrDeleted) {
			l.noteDirty()
			return fmt.Errorf("checkpoint of %s: %w", l.name, err)
		}
		e.known.fresh.add(l)
		return nil
	})
	if err = errors.Join(err, e.writeCheckpoints()); err != nil {
		return err
	}
	return e.remember()
}

// checkpointSoon moves the recovery point of one log that a flusher has flushed.
func (e *Engine) checkpointSoon(l *Log) {
	err := l.settle()
	if err == nil {
		err = e.writeCheckpoints()
	}
	if err != nil && !errors.Is(err, ErrDeleted) && e.failed() == nil {
		e.log.Error("checkpoint", "partition", l.name, "error", err)
	}
}

// settle flushes the log and writes what a recovery from there would need: producer snapshot, leader epochs, index
// entries. Only then may its recovery point move.
func (l *Log) settle() error {
	l.settling.Lock()
	defer l.settling.Unlock()
	if l.corrupt.Load() != nil {
		return nil // its recovery point stays where it is
	}
	at, snapshot, pieces, err := l.snapshot()
	if err != nil || !l.w.made.Load() {
		return err
	}
	if err := l.flushWritten(); err != nil {
		return err
	}
	if err := l.writeGuards(l.inView(pieces)); err != nil {
		return l.e.failIfFinal(err)
	}
	if err := l.settleFiles(at.offset, snapshot); err != nil {
		return l.e.failIfFinal(err)
	}
	l.settled.Store(&at)
	return nil
}

// settleFiles brings what belongs to an offset to the files beside the log. Index entries are written and not flushed:
// what a power cut takes of them is made again from the log.
func (l *Log) settleFiles(offset int64, snapshot []byte) error {
	if err := l.replaceSnapshot(offset, snapshot); err != nil {
		return err
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	if made, err := l.newest().SettleTxns(false); err != nil {
		return err
	} else if made {
		l.w.named.Add(1) // what a power cut takes of this one is not missed by a start
	}
	if err := l.newest().FlushIndexes(false); err != nil {
		return err
	}
	return l.syncNames()
}

// snapshot returns the point at the log end offset, the producers' state there, and for the guards what was appended below it since
// the last one, once everything below it is written.
func (l *Log) snapshot() (at point, b []byte, pieces []guard.Of, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.deleted {
		return at, nil, nil, ErrDeleted
	}
	at.offset, at.base, b = l.mu.end, l.mu.active.Base, l.mu.producers.Marshal()
	at.maxTimestamp, at.maxOffset = l.mu.active.MaxTimestamp()
	pieces = l.mu.tally.Take()
	l.w.beyond.Store(0)
	l.awaitWritten(at.offset)
	return at, b, pieces, nil
}

// newest returns the last segment that has a file, or the active one where none has.
func (l *Log) newest() *segment.Segment {
	if v := *l.view.Load(); len(v) > 0 {
		return v[len(v)-1]
	}
	return l.written.Load().seg
}

// replaceSnapshot writes the producers' state at an offset and removes the one before it, unless that belongs to a
// segment's start.
func (l *Log) replaceSnapshot(offset int64, b []byte) error {
	old := l.stored.Load()
	if old == offset {
		return nil
	}
	if err := l.writeFile(segment.Name(l.dir, offset, segment.SnapshotSuffix), b); err != nil {
		return err
	}
	l.stored.Store(offset)
	if old < 0 || l.startsSegment(old) {
		return nil
	}
	return l.e.removeIfThere(segment.Name(l.dir, old, segment.SnapshotSuffix))
}

func (l *Log) startsSegment(offset int64) bool {
	for _, s := range *l.view.Load() {
		if s.Base == offset {
			return true
		}
	}
	return false
}

// writeEpochs writes the history of leader epochs where it has changed. A writer that rolls and a checkpoint may both be at it: neither returns
// before what it answers for is in the file.
func (l *Log) writeEpochs() error {
	l.w.files.Lock()
	defer l.w.files.Unlock()
	l.mu.Lock()
	changed, epochs := l.mu.epochsNew, l.mu.epochs
	l.mu.epochsNew = false
	l.mu.Unlock()
	if !changed {
		return nil
	}
	if err := epochs.Write(l.e.fs, l.dir); err != nil {
		l.mu.Lock()
		l.mu.epochsNew = true
		l.mu.Unlock()
		return err
	}
	return nil
}

// writeCheckpoints writes the offset checkpoints of the directory where something in them has moved. A log that is
// corrupt keeps the entries that it had: they say which of its bytes were on stable storage. Log start offsets are
// written even where they are those of the first segment (Kafka leaves these out): they make sense of what a retention
// that was cut off leaves.
func (e *Engine) writeCheckpoints() error {
	e.checkpoints.Lock()
	defer e.checkpoints.Unlock()
	points, starts := map[Name]point{}, map[Name]int64{}
	for _, l := range e.Logs() {
		n := l.name
		if l.w.gone.Load() {
			continue
		}
		if l.corrupt.Load() != nil {
			p, ok := e.checkpoints.points[n]
			if !ok {
				p = pointAt(0)
			}
			points[n] = p
			if start, ok := e.checkpoints.starts[n]; ok {
				starts[n] = start
			}
			continue
		}
		points[n] = *l.settled.Load()
		if start := l.start.Load(); start > 0 {
			starts[n] = start
		}
		p := points[n]
		p.syncFrom = l.w.syncFrom.Load()
		points[n] = p
	}
	return e.failIfFinal(e.replaceCheckpoints(points, starts))
}

// replaceCheckpoints writes the files that have changed. Our own comes before Kafka's: see readPoints.
func (e *Engine) replaceCheckpoints(points map[Name]point, starts map[Name]int64) error {
	if !maps.Equal(starts, e.checkpoints.starts) {
		if err := e.writeOffsets(checkpoint.LogStarts, starts); err != nil {
			return err
		}
		e.checkpoints.starts = starts
	}
	if maps.Equal(points, e.checkpoints.points) {
		return nil
	}
	offsets := make(map[Name]int64, len(points))
	for n, p := range points {
		offsets[n] = p.offset
	}
	// First, since the next start writes it only where the recovery points have changed.
	if err := e.writeOffsets(checkpoint.HighWatermarks, offsets); err != nil {
		return err
	}
	if err := e.writePoints(points); err != nil {
		return err
	}
	if err := e.writeOffsets(checkpoint.RecoveryPoints, offsets); err != nil {
		return err
	}
	e.checkpoints.points = points
	return nil
}

func (e *Engine) writeOffsets(file string, offsets map[Name]int64) error {
	entries := make([]checkpoint.Offset, 0, len(offsets))
	for _, n := range sortedNames(offsets) {
		entries = append(entries, checkpoint.Offset{Topic: n.Topic, Partition: n.Partition, Offset: offsets[n]})
	}
	if err := checkpoint.WriteOffsets(e.fs, filepath.Join(e.opt.Dir, file), entries); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func (l *Log) firstBase() int64 {
	if v := *l.view.Load(); len(v) > 0 {
		return v[0].Base
	}
	return l.start.Load()
}
