package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// Retain deletes what the logs need not keep any more: segments that are too old, too much, or below the log start
// offset. It also forgets producers that were idle too long. It runs by itself at every Options.RetentionInterval.
func (e *Engine) Retain() error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.life.RUnlock()
	var errs []error
	for _, l := range e.Logs() {
		if err := l.retain(); err != nil && !errors.Is(err, ErrDeleted) {
			errs = append(errs, fmt.Errorf("retention of %s: %w", l.name, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Log) retain() error {
	if err := l.Err(); err != nil {
		return err
	}
	l.settling.Lock() // nobody else takes segments off meanwhile
	defer l.settling.Unlock()
	now := l.e.opt.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.deleted {
		return ErrDeleted
	}
	l.mu.producers.Expire(now.UnixMilli(), l.e.producerExpiration.Load())
	n, all := l.expired(now)
	if all {
		// The active segment is too old as well: it goes once a new one is in its place, with its file.
		if err := l.rollLocked(now); err != nil {
			return err
		}
		l.enqueue()
		for s := l.mu.active; (l.mu.busy || len(l.mu.pending) > 0) && l.newest().Base < s.Base; {
			l.kick()
			l.mu.idle.Wait()
		}
		n, _ = l.expired(now)
	}
	l.warnOfFuture(n, now)
	if n == 0 {
		return nil
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	return l.deleteSegments(n)
}

// expired returns how many of the oldest segments need not be kept, the active one left out, and whether it need not
// be kept either. The log is locked.
func (l *Log) expired(now time.Time) (n int, all bool) {
	cfg := l.config.Load()
	segs := *l.view.Load()
	start, high := l.start.Load(), min(l.high.Load().offset, l.written.Load().offset)
	var size int64
	for _, s := range segs {
		size += s.Size()
	}
	for n < len(segs) {
		s := segs[n]
		end := l.mu.end
		if n+1 < len(segs) {
			end = segs[n+1].Base
		} else if s != l.mu.active {
			end = l.mu.active.Base
		}
		old := l.tooOld(s, cfg, now)
		much := !cfg.KeepAll && cfg.RetentionBytes >= 0 && size-s.Size() >= cfg.RetentionBytes
		// An empty one that is not the last is where a power cut took records below the log start.
		if end > high || s.Size() == 0 && s == l.mu.active || !old && !much && end > start {
			return n, false
		}
		if n+1 == len(segs) { // the newest file: only whole roll-overs free it
			return n, s == l.mu.active && (old || end <= start)
		}
		size -= s.Size()
		n++
	}
	return n, false
}

// warnOfFuture tells of a segment that the age of its records keeps, because a clock or a unit was wrong.
func (l *Log) warnOfFuture(n int, now time.Time) {
	segs, cfg := *l.view.Load(), l.config.Load()
	if n >= len(segs) || cfg.KeepAll || cfg.RetentionAge < 0 {
		return
	}
	if newest, _ := segs[n].MaxTimestamp(); newest > now.UnixMilli() {
		l.e.log.Warn("a segment has records of the future, and retention by time waits for it", "partition", l.name, "file",
			segs[n].Path(), "timestamp", newest)
	}
}

func (l *Log) tooOld(s *segment.Segment, cfg *Config, now time.Time) bool {
	if cfg.KeepAll || cfg.RetentionAge < 0 {
		return false
	}
	newest, _ := s.MaxTimestamp()
	if newest < 0 {
		newest = l.modified(s, now)
	}
	return now.UnixMilli()-newest > cfg.RetentionAge.Milliseconds()
}

// modified stands in for the time of records that have none: when the file was last written, in ms.
func (l *Log) modified(s *segment.Segment, now time.Time) int64 {
	info, err := l.e.fs.Stat(s.Path())
	if err != nil {
		return now.UnixMilli()
	}
	return info.ModTime().UnixMilli()
}

// deleteSegments takes the n oldest segments off the log. Readers that hold one finish with it. The new log start is in
// its checkpoint before the first file goes: a crash may leave any of them, and a hole below the log start is none.
// The caller holds settling.
func (l *Log) deleteSegments(n int) error {
	view := *l.view.Load()
	gone, first := view[:n], view[n].Base
	if err := l.keepProducers(gone, first); err != nil {
		return l.e.failIfFinal(err)
	}
	// What a writer's descriptor is still open for must be flushed before that is closed, and the file that the log goes
	// on in must be there for good before the others go.
	if err := l.flushWritten(); err != nil {
		return err
	}
	if err := l.syncNames(); err != nil {
		return l.e.failIfFinal(err)
	}
	l.raiseStart(first)
	if err := l.e.writeCheckpoints(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return err // a full disk is what a retention helps against
	}
	l.changeView(func(v []*segment.Segment) []*segment.Segment { return append([]*segment.Segment(nil), v[n:]...) })
	errs := []error{l.removeGuards(gone)}
	for _, s := range gone {
		names, err := s.Remove(l.e.fs, segment.DeletedSuffix)
		l.e.removeLater(l.config.Load().DeleteDelay, removal{names: names})
		errs = append(errs, err)
	}
	l.e.log.Info("deleted segments", "partition", l.name, "segments", len(gone), "log start offset", l.start.Load())
	return l.e.failIfFinal(errors.Join(append(errs, l.e.fs.SyncDir(l.dir))...))
}

// keepProducers sees to it that a snapshot has what producers were at where the first segment that stays begins, since the batches
// that say it are about to go. A roll has written one; a start that found the records elsewhere, or made the file, has not.
func (l *Log) keepProducers(gone []*segment.Segment, first int64) error {
	name := segment.Name(l.dir, first, segment.SnapshotSuffix)
	if _, err := l.e.fs.Stat(name); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	producers, from := producer.New(), gone[0].Base
	for i := len(gone) - 1; i >= 0; i-- {
		b, err := l.e.readFile(segment.Name(l.dir, gone[i].Base, segment.SnapshotSuffix))
		if err == nil && producers.Unmarshal(b) == nil {
			from = gone[i].Base
			break
		}
		producers.Reset()
	}
	err := l.eachHeader(gone, from, func(f fs.File, p segment.Place, b record.Batch) error {
		return replayProducer(producers, f, p, b, func(producer.Ended) {})
	})
	if err != nil { // the disk has lost something of what is not wanted any more
		l.e.log.Warn("producers of segments that retention deletes are forgotten", "partition", l.name, "error", err)
		return nil
	}
	return l.writeFile(name, producers.Marshal())
}

// raiseStart moves the log start offset forward, unless it is there.
func (l *Log) raiseStart(offset int64) {
	for {
		old := l.start.Load()
		if old >= offset {
			return
		}
		if l.start.CompareAndSwap(old, offset) {
			l.mu.Lock()
			l.mu.epochsNew = l.mu.epochs.TruncateFromStart(offset) || l.mu.epochsNew
			l.mu.Unlock()
			return
		}
	}
}

func (e *Engine) removeLater(delay time.Duration, m removal) {
	if delay < 0 {
		m.remove(e)
		return
	}
	m.at = e.opt.Now().Add(delay)
	e.removals.add(m)
}

var errAboveHigh = errors.New("above the high watermark")

// DeleteRecordsTo makes offset the log start offset: records below it are gone for readers at once, whole segments of
// them go with the next retention. -1 is the high watermark. It returns the log start offset, or ErrOffsetOutOfRange for an
// offset above the high watermark. An offset below the log start changes nothing.
func (l *Log) DeleteRecordsTo(offset int64) (start int64, err error) {
	if err := l.Err(); err != nil {
		return -1, err
	}
	high := l.readable().offset
	if offset == -1 {
		offset = high
	}
	if offset < 0 || offset > high {
		return -1, fmt.Errorf("delete records below offset %d, %w %d: %w", offset, errAboveHigh, high, ErrOffsetOutOfRange)
	}
	l.raiseStart(offset)
	l.noteDirty() // the checkpoint of log starts
	return l.start.Load(), nil
}
