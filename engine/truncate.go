package engine

import (
	"fmt"
	"io"
	"os"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// Truncate removes the records from offset on, durably, as a follower does whose leader has others there. Appends
// wait meanwhile. Where a batch holds offset, the whole batch goes.
func (l *Log) Truncate(offset int64) error {
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.busy {
		l.mu.idle.Wait()
	}
	if err := l.Err(); err != nil {
		return err
	}
	if offset >= l.mu.end {
		return nil
	}
	if err := l.truncateLocked(offset); err != nil {
		l.e.fail(err)
		return offline(err)
	}
	return nil
}

// truncateLocked cuts the files. Nothing is pending, and no writer has the log.
func (l *Log) truncateLocked(offset int64) error {
	segs := *l.view.Load()
	keep := len(segs)
	for keep > 1 && segs[keep-1].Base >= offset {
		keep--
	}
	kept := append([]*segment.Segment(nil), segs[:keep]...)
	last, next, err := l.cutSegment(kept[keep-1], offset)
	if err != nil {
		return err
	}
	kept[keep-1] = last
	l.view.Store(&kept)
	if err := l.endAt(kept, next); err != nil {
		return err
	}
	for _, s := range segs[keep:] {
		names, err := s.Remove(l.e.fs, segment.DeletedSuffix)
		if err != nil {
			return err
		}
		l.e.removeLater(l.config.Load().DeleteDelay, removal{names: names})
	}
	return l.e.fs.SyncDir(l.dir)
}

// cutSegment ends a segment before the batch that holds offset, and returns it opened anew, with the offset after its
// last record. The cut is on stable storage before anything can be appended: else stale batches with a good CRC could
// follow the new ones after a crash.
func (l *Log) cutSegment(s *segment.Segment, offset int64) (*segment.Segment, int64, error) {
	f, err := s.Acquire()
	if err != nil {
		return nil, 0, err
	}
	p, err := s.Find(f, offset, s.Size())
	if err == io.EOF {
		p = segment.Place{Position: s.Size(), BaseOffset: offset}
	} else if err != nil {
		s.Release()
		return nil, 0, err
	}
	if s.Readers() > 1 {
		if err = s.TrimIndexes(p.BaseOffset); err == nil {
			err = l.copyHead(f, s.Path(), p.Position)
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
	next, err := fresh.Load(p.Position, l.config.Load().IndexInterval, true)
	return fresh, max(next, s.Base), err
}

// swapSuffix is of a file that takes the place of another by a rename.
const swapSuffix = ".swap"

// copyHead replaces a file by a copy of its first bytes: readers that hold the old one keep it as it was.
func (l *Log) copyHead(from fs.File, name string, size int64) (err error) {
	to, err := l.e.fs.Open(name+swapSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	buf := make([]byte, min(size, 1<<20))
	for at := int64(0); at < size && err == nil; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size-at)]
		if _, err = from.ReadAt(buf, at); err == nil {
			err = to.Write(buf, at, false)
		}
	}
	if err == nil {
		err = to.Datasync()
	}
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := l.e.fs.Rename(name+swapSuffix, name); err != nil {
		return err
	}
	return l.e.fs.SyncDir(l.dir)
}

// endAt makes the log end at an offset, behind the last of the segments.
func (l *Log) endAt(segs []*segment.Segment, next int64) error {
	last := segs[len(segs)-1]
	l.mu.active, l.mu.created, l.mu.end = last, l.e.opt.Now(), next
	m := &mark{next, last, last.Size()}
	l.high.Store(m)
	l.flushed.Store(m)
	l.settled.Store(min(l.settled.Load(), next))
	l.start.Store(min(l.start.Load(), next))
	l.mu.epochsNew = l.mu.epochs.TruncateFromEnd(next) || l.mu.epochsNew
	l.mu.producers.Reset()
	l.stored.Store(-1)
	r := &recovering{Log: l, next: next, sizes: map[int64]int64{}}
	if err := r.list(); err != nil {
		return err
	}
	return r.loadProducers(segs)
}
