package segment

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

// Load takes the log file as it is, all of it whole batches, and brings the indexes and what Note keeps up to date:
// from the indexes where they are sound, and from the log where they are missing, short or wrong. With check every
// entry is looked at. It returns the offset after the last record.
func (s *Segment) Load(size int64, interval int32, check bool) (next int64, err error) {
	f, err := s.Acquire()
	if err != nil {
		return 0, err
	}
	defer s.Release()
	s.size.Store(size)
	switch sound, err := s.soundIndexes(f, size, check); {
	case err != nil:
		return 0, err
	case !sound:
		return s.Rebuild(f, size, interval)
	}
	return s.resume(f, size, interval)
}

// soundIndexes reports whether the indexes can belong to the log file. The last entry must point at the batch that it
// names, which an index of another segment does not.
func (s *Segment) soundIndexes(f fs.File, size int64, check bool) (bool, error) {
	if check {
		if err := errors.Join(s.index.Check(size), s.times.Check()); errors.Is(err, index.ErrCorrupt) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	offset, at, ok := s.index.Last()
	if !ok {
		// Kafka writes the first entry before the first batch behind the interval.
		return s.times.Entries() <= 1, nil
	}
	if int64(at)+header > size {
		return false, nil
	}
	points := false
	err := Headers(f, int64(at), size, func(p Place, _ record.Batch) bool {
		points = p.LastOffset == offset
		return false
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	t, o, ok := s.times.Last()
	return points && ok && t >= 0 && o >= s.Base, err
}

// Rebuild makes both indexes anew from the log file.
func (s *Segment) Rebuild(f fs.File, size int64, interval int32) (next int64, err error) {
	if err := errors.Join(s.index.Reset(), s.times.Reset()); err != nil {
		return 0, err
	}
	s.stats = stats{firstTimestamp: -1, maxTimestamp: -1, offsetOfMax: s.Base}
	return s.noteAll(f, 0, size, interval)
}

// resume reads the batches behind the last index entry, so that Note can go on from the end.
func (s *Segment) resume(f fs.File, size int64, interval int32) (next int64, err error) {
	s.stats = stats{firstTimestamp: -1, maxTimestamp: -1, offsetOfMax: s.Base}
	if t, o, ok := s.times.Last(); ok {
		s.stats.maxTimestamp, s.stats.offsetOfMax = t, o
	}
	if size == 0 {
		return s.Base, nil
	}
	if err := s.readFirst(f, size); err != nil {
		return 0, err
	}
	_, at, _ := s.index.Last()
	s.stats.bytes = int64(at)
	return s.noteAll(f, int64(at), size, interval)
}

// readFirst notes the timestamp of the first batch.
func (s *Segment) readFirst(f fs.File, size int64) error {
	return Headers(f, 0, size, func(p Place, _ record.Batch) bool {
		s.stats.firstTimestamp = p.MaxTimestamp
		return false
	})
}

// noteAll notes the batches from position at to size, and returns the offset after the last.
func (s *Segment) noteAll(f fs.File, at, size int64, interval int32) (next int64, err error) {
	next = s.Base
	s.stats.bytes = at
	err = Headers(f, at, size, func(p Place, _ record.Batch) bool {
		s.Note(p.Size, p.LastOffset, p.MaxTimestamp, interval)
		next = p.LastOffset + 1
		return true
	})
	if err == nil && s.stats.bytes != size {
		err = fmt.Errorf("%d bytes behind the last whole batch at position %d: %w", size-s.stats.bytes, s.stats.bytes, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return next, fmt.Errorf("read the batches of %s: %w", s.Path(), err)
	}
	return next, nil
}

// CutTo ends the segment at a position, where a batch starts that has offset next, durably, and its indexes with it.
// What Note keeps of the batches before is read again by Load.
func (s *Segment) CutTo(position, next int64) error {
	if err := s.TrimIndexes(next); err != nil {
		return err
	}
	f, err := s.Writer(0)
	if err != nil {
		return err
	}
	if err := f.Truncate(position); err != nil {
		return err
	}
	if err := f.Datasync(); err != nil {
		return err
	}
	s.size.Store(position)
	return nil
}

// TrimIndexes removes, durably, index entries of offsets from next on: they were written for records that are not there.
func (s *Segment) TrimIndexes(next int64) error {
	return errors.Join(s.index.TruncateTo(next), s.times.TruncateTo(next))
}

// Remove renames the files so that a start does not find them, and returns the new names, to be removed when the
// readers have gone. Missing files are passed over.
func (s *Segment) Remove(fsys fs.FS, suffix string) (names []string, err error) {
	for _, kind := range []string{LogSuffix, IndexSuffix, TimeSuffix, SnapshotSuffix} {
		from := Name(s.dir, s.Base, kind)
		switch err := fsys.Rename(from, from+suffix); {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return names, err
		default:
			names = append(names, from+suffix)
		}
	}
	return names, s.Close()
}
