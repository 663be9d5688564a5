package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/segment"
)

// Truncate removes the records from offset on, durably, as a follower does whose leader has others there. Appends
// wait meanwhile, and so do reads. Where a batch holds offset, the whole batch goes. Below the first record of the log
// everything goes, and the log goes on at offset. It returns ErrOffsetOutOfRange for a negative offset. After an error that does not
// take the directory offline (a file that cannot be read for the moment) all records are there; after one that does they may be or not.
func (l *Log) Truncate(offset int64) error {
	if err := l.e.enter(); err != nil {
		return err
	}
	defer l.e.life.RUnlock()
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaitIdle()
	if l.mu.deleted {
		return ErrDeleted
	}
	if err := l.Err(); err != nil {
		return err
	}
	if offset < 0 {
		return fmt.Errorf("truncate %s to offset %d: %w", l.name, offset, ErrOffsetOutOfRange)
	}
	if offset >= l.mu.end {
		return nil
	}
	if err := l.flushWritten(); err != nil {
		return err
	}
	if err := l.writeGuards(l.inView(l.mu.tally.Take())); err != nil {
		return l.e.failIfFinal(err)
	}
	if err := l.lowerPoint(offset); err != nil {
		return err
	}
	if err := l.forgetStaged(); err != nil {
		return err
	}
	var refused *unchanged
	err := l.onceFlushing(func() error { // no flusher may move the marks to what is gone
		l.cuts.Add(1)
		defer l.cuts.Add(1)
		start := l.start.Load()
		err := l.truncateLocked(offset)
		if errors.As(err, &refused) {
			return nil
		}
		if err != nil || l.start.Load() == start {
			return err
		}
		return l.e.writeCheckpoints() // a higher log start would hide what is appended from here on
	})
	if refused != nil {
		return fmt.Errorf("truncate %s to offset %d: %w", l.name, offset, refused.error)
	}
	return err
}

// lowerPoint takes the recovery point, on disk, to where a recovery looks at everything that is appended from offset on:
// new records below an old recovery point would be believed without a look.
func (l *Log) lowerPoint(offset int64) error {
	old := l.settled.Load()
	lower := pointAt(0)
	for _, s := range *l.view.Load() {
		if s.Base <= offset {
			lower = pointAt(s.Base)
		}
	}
	if old.offset <= lower.offset {
		return nil
	}
	l.settled.Store(&lower)
	if err := l.e.writeCheckpoints(); err != nil {
		l.settled.Store(old)
		return err
	}
	return nil
}

// truncateLocked cuts the files. Nothing is pending, and no writer has the log.
func (l *Log) truncateLocked(offset int64) error {
	l.forgetRecent()
	kept, gone, err := l.parted(offset)
	if err != nil {
		return &unchanged{err}
	}
	var at cutting
	if len(kept) > 0 {
		if at, err = l.beginCut(kept[len(kept)-1], offset); err != nil {
			return &unchanged{err}
		}
	}
	if err := l.removeGuards(gone); err != nil {
		at.end()
		return err
	}
	for _, s := range gone {
		l.mu.tally.Cut(s.Base, 0)
	}
	last, next, err := l.newEnd(kept, at, offset)
	l.view.Store(&kept) // after a failure, too: what a power cut would take is not served
	if err != nil {
		if at.s != nil {
			l.setMarks(&mark{at.place.BaseOffset, at.s, at.place.Position})
		}
		return err
	}
	if err := l.endAt(kept, last, next); err != nil {
		return err
	}
	var errs []error
	for _, s := range gone {
		names, err := s.Remove(l.e.fs, segment.DeletedSuffix)
		errs = append(errs, err)
		l.e.removeLater(l.config.Load().DeleteDelay, removal{names: names})
	}
	return errors.Join(append(errs, l.e.fs.SyncDir(l.dir))...)
}

// unchanged is the error of a truncation that has not begun, since something could not be read: the log is as it was.
type unchanged struct{ error }

// parted returns the segments of which something stays, the last of them to be cut, and those that go. Where nothing that can be read stays,
// and what lies below the log start is in no file any more, so that where those end says nothing, all go.
func (l *Log) parted(offset int64) (kept, gone []*segment.Segment, err error) {
	segs := *l.view.Load()
	n := 0
	for n < len(segs) && segs[n].Base < offset {
		n++
	}
	if n > 0 && offset <= l.start.Load() {
		reaches, err := l.reaches(segs[n-1], offset)
		if err != nil {
			return nil, nil, err
		}
		if !reaches {
			gone, segs, n = slices.Clone(segs[:n]), segs[n:], 0
		}
	}
	if n == 0 && len(segs) > 0 && segs[0].Base == offset {
		n = 1 // it is emptied, not made anew beside its own remains
	}
	return slices.Clone(segs[:n]), append(gone, segs[n:]...), nil
}

// reaches reports whether a segment has the record before an offset, or later ones.
func (l *Log) reaches(s *segment.Segment, offset int64) (bool, error) {
	f, err := s.Acquire()
	if err != nil {
		return false, err
	}
	defer s.Release()
	if _, err = l.placeIn(s, f, offset-1); err == io.EOF {
		return false, nil
	}
	return err == nil, err
}

// newEnd returns the segment that the log ends with, and the offset after its last record.
func (l *Log) newEnd(kept []*segment.Segment, at cutting, offset int64) (*segment.Segment, int64, error) {
	if len(kept) == 0 {
		s, err := segment.New(l.e.fs, l.dir, offset, l.limits())
		return s, offset, err
	}
	last, next, err := l.cutSegment(at)
	if err == nil {
		kept[len(kept)-1] = last
	}
	return last, next, err
}

// A cutting is where a segment is to end, and what has to be known of it before it is cut.
type cutting struct {
	s     *segment.Segment
	f     fs.File // reads it; the caller has to end the cutting
	place segment.Place
	guard guard.Guard
}

func (c *cutting) end() {
	if c.s != nil {
		c.s.Release()
	}
}

// beginCut finds the batch that holds offset. It changes nothing.
func (l *Log) beginCut(s *segment.Segment, offset int64) (c cutting, err error) {
	c.s = s
	if c.f, err = s.Acquire(); err != nil {
		return c, err
	}
	c.place, err = l.placeIn(s, c.f, offset)
	if err == io.EOF {
		c.place, err = segment.Place{Position: s.Size(), BaseOffset: offset}, nil
	}
	if err == nil {
		c.guard, err = guard.Read(l.e.fs, l.dir, s.Base)
	}
	if err != nil {
		s.Release()
	}
	return c, err
}

// cutSegment ends a segment before the batch that was found, and returns it opened anew, with the offset after its
// last record. The cut is on stable storage before anything can be appended: else stale batches with a good CRC could
// follow the new ones after a crash.
func (l *Log) cutSegment(c cutting) (*segment.Segment, int64, error) {
	s, p := c.s, c.place
	err := l.cutGuard(s, c.f, c.guard, p.Position)
	if err != nil {
		s.Release()
		return nil, 0, err
	}
	if s.Readers() > 1 {
		if err = s.TrimIndexes(p.BaseOffset); err == nil {
			s.Extend(p.Position) // nobody else reads the old file behind it, whatever becomes of the copy
			err = l.copyHead(s.Path(), p.Position)
		}
	} else {
		err = s.CutTo(p.Position, p.BaseOffset)
	}
	s.Release()
	if err != nil {
		return nil, 0, fmt.Errorf("truncate %s at position %d: %w", s.Path(), p.Position, err)
	}
	if err := s.FlushIndexes(true); err != nil {
		return nil, 0, err
	}
	if err := s.Close(); err != nil {
		return nil, 0, err
	}
	fresh, err := segment.New(l.e.fs, l.dir, s.Base, l.limits())
	if err != nil {
		return nil, 0, err
	}
	next, err := fresh.Load(p.Position, l.config.Load().IndexInterval, true, &segment.Known{Offset: -1})
	return fresh, max(next, s.Base), err
}

// placeIn finds the batch that holds offset, without the index where that is no good.
func (l *Log) placeIn(s *segment.Segment, f fs.File, offset int64) (segment.Place, error) {
	p, err := s.Find(f, offset, s.Size())
	if errors.Is(err, index.ErrCorrupt) {
		p, err = segment.FindFrom(f, 0, offset, s.Size())
	}
	return p, err
}

// copyHead replaces a file by a copy of its first bytes: readers that hold the old one keep it as it was.
func (l *Log) copyHead(name string, size int64) error {
	to, err := segment.CopyHead(l.e.fs, name, size)
	if err != nil {
		return err
	}
	if err := l.e.fs.Rename(to, name); err != nil {
		return err
	}
	return l.e.fs.SyncDir(l.dir)
}

// setMarks has all that there is end at a mark.
func (l *Log) setMarks(m *mark) {
	l.high.Store(m)
	l.written.Store(m)
	l.flushed.Store(m)
}

// endAt makes the log end at an offset, in the segment last, which may have no file yet.
func (l *Log) endAt(segs []*segment.Segment, last *segment.Segment, next int64) error {
	l.mu.active, l.mu.created, l.mu.end = last, l.e.opt.Now(), next
	l.setMarks(&mark{next, last, last.Size()})
	l.start.Store(min(l.start.Load(), next))
	defer l.followers.wake() // those behind the end are out of range now
	l.mu.epochsNew = l.mu.epochs.TruncateFromEnd(next) || l.mu.epochsNew
	l.mu.producers.Reset()
	l.stored.Store(-1)
	r := &recovering{Log: l, next: next, from: next, sizes: map[int64]int64{}}
	if err := r.list(); err != nil {
		return err
	}
	return r.loadTransactions(segs)
}
