package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
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
// from here on has nothing of what is there now to look at.
func (e *Engine) Checkpoint() error {
	for l := range e.dirty.take() {
		l.w.dirty.Store(false)
		if err := l.settle(); err != nil && !errors.Is(err, ErrDeleted) {
			return err
		}
	}
	return e.writeCheckpoints()
}

// checkpointSoon moves the recovery point of one log that a flusher has flushed.
func (e *Engine) checkpointSoon(l *Log) {
	if err := l.settle(); err != nil && !errors.Is(err, ErrDeleted) {
		e.log.Error("checkpoint", "log", l.name, "error", err)
		return
	}
	if err := e.writeCheckpoints(); err != nil {
		e.log.Error("checkpoint", "dir", e.opt.Dir, "error", err)
	}
}

// settle flushes the log and writes what a recovery from there would need: producer snapshot, leader epochs, index
// entries. Only then may its recovery point move.
func (l *Log) settle() error {
	l.settling.Lock()
	defer l.settling.Unlock()
	offset, snapshot, err := l.snapshot()
	if err != nil || !l.w.made.Load() {
		return err
	}
	if err := l.flushWritten(); err != nil {
		return err
	}
	if err := l.replaceSnapshot(offset, snapshot); err != nil {
		return err
	}
	if err := l.writeEpochs(); err != nil {
		return err
	}
	if err := l.newest().FlushIndexes(false); err != nil {
		return err
	}
	if err := l.syncNames(); err != nil {
		return err
	}
	l.settled.Store(offset)
	return nil
}

// snapshot returns the log end offset and the producers' state there, once everything below it is written.
func (l *Log) snapshot() (offset int64, b []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.deleted {
		return 0, nil, ErrDeleted
	}
	offset, b = l.mu.end, l.mu.producers.Marshal()
	l.w.beyond.Store(0)
	for l.mu.busy && l.high.Load().offset < offset && l.Err() == nil {
		l.mu.idle.Wait()
	}
	return offset, b, nil
}

// newest returns the last segment that has a file, or the active one where none has.
func (l *Log) newest() *segment.Segment {
	if v := *l.view.Load(); len(v) > 0 {
		return v[len(v)-1]
	}
	return l.high.Load().seg
}

// replaceSnapshot writes the producers' state at an offset and removes the one before it, unless that belongs to a
// segment's start.
func (l *Log) replaceSnapshot(offset int64, b []byte) error {
	old := l.stored.Swap(offset)
	if old == offset {
		return nil
	}
	if err := l.writeFile(segment.Name(l.dir, offset, segment.SnapshotSuffix), b); err != nil {
		return err
	}
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

// writeEpochs writes the history of leader epochs where it has changed.
func (l *Log) writeEpochs() error {
	l.mu.Lock()
	changed := l.mu.epochsNew
	l.mu.epochsNew = false
	l.mu.Unlock()
	if !changed {
		return nil
	}
	if err := l.mu.epochs.Write(l.e.fs, l.dir); err != nil {
		l.mu.Lock()
		l.mu.epochsNew = true
		l.mu.Unlock()
		return err
	}
	return nil
}

// writeCheckpoints writes the offset checkpoints of the directory where something in them has moved.
func (e *Engine) writeCheckpoints() error {
	e.checkpoints.Lock()
	defer e.checkpoints.Unlock()
	var points, starts []checkpoint.Offset
	moved, cut := false, false
	for _, l := range e.Logs() {
		n, point, start := l.name, l.settled.Load(), l.start.Load()
		moved = moved || e.checkpoints.points[n] != point
		e.checkpoints.points[n] = point
		points = append(points, checkpoint.Offset{Topic: n.Topic, Partition: n.Partition, Offset: point})
		if first := l.firstBase(); start > first {
			cut = cut || e.checkpoints.starts[n] != start
			e.checkpoints.starts[n] = start
			starts = append(starts, checkpoint.Offset{Topic: n.Topic, Partition: n.Partition, Offset: start})
		} else if _, ok := e.checkpoints.starts[n]; ok {
			delete(e.checkpoints.starts, n)
			cut = true
		}
	}
	var err error
	if moved {
		err = errors.Join(e.writeOffsets(checkpoint.RecoveryPoints, points), e.writeOffsets(checkpoint.HighWatermarks, points))
	}
	if cut {
		err = errors.Join(err, e.writeOffsets(checkpoint.LogStarts, starts))
	}
	return err
}

func (e *Engine) writeOffsets(file string, entries []checkpoint.Offset) error {
	sort.Slice(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
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
