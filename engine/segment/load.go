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

// Known is what is known of a segment in whose indexes a power cut may have left out entries: for its batches below
// Offset the greatest timestamp and the last offset of the batch that has it first. With an Offset of -1 nothing is known.
type Known struct{ Offset, MaxTimestamp, MaxOffset int64 }

// Load takes the log file as it is, all of it whole batches, and brings the indexes and what Note keeps up to date:
// from the indexes where they are sound, and from the log where they are missing, short or wrong. With check every
// entry is looked at. An unflushed time index may lack its last entries: with known the batches are read again from
// where it can. It returns the offset after the last record.
func (s *Segment) Load(size int64, interval int32, check bool, known *Known) (next int64, err error) {
	f, err := s.Acquire()
	if err != nil {
		return 0, err
	}
	defer s.Release()
	s.size.Store(size)
	s.damaged = nil
	switch sound, err := s.soundIndexes(f, size, check); {
	case err != nil:
		return 0, err
	case !sound:
		return s.Rebuild(f, size, interval)
	}
	times, missing := s.times.Entries(), s.index.Entries() == 0 && s.isMissing(IndexSuffix)
	next, err = s.resume(f, size, interval, known)
	if errors.Is(err, index.ErrCorrupt) {
		s.damaged = append(s.damaged, IndexSuffix)
		return s.Rebuild(f, size, interval)
	}
	if missing && s.index.Entries() > 0 { // one that is empty may be that of a topic with few entries
		s.damaged = append(s.damaged, IndexSuffix)
		if times == 0 && s.times.Entries() > 0 {
			s.damaged = append(s.damaged, TimeSuffix)
		}
	}
	return next, err
}

// Damaged returns the endings of the indexes that the last Load has made again, or more of them.
func (s *Segment) Damaged() []string { return s.damaged }

func (s *Segment) isMissing(suffix string) bool {
	_, err := s.fsys.Stat(Name(s.dir, s.Base, suffix))
	return errors.Is(err, os.ErrNotExist)
}

// wrong notes an index that Load makes again.
func (s *Segment) wrong(suffix string) bool {
	s.damaged = append(s.damaged, suffix)
	return false
}

// soundIndexes reports whether the indexes can belong to the log file. The last entries must name the batches that they
// point at, which those of another segment do not.
func (s *Segment) soundIndexes(f fs.File, size int64, check bool) (bool, error) {
	if check {
		wrong, timesWrong := s.index.Check(size), s.times.Check()
		if errors.Is(wrong, index.ErrCorrupt) {
			wrong = nil
			s.wrong(IndexSuffix)
		}
		if errors.Is(timesWrong, index.ErrCorrupt) {
			timesWrong = nil
			s.wrong(TimeSuffix)
		}
		if err := errors.Join(wrong, timesWrong); err != nil || len(s.damaged) > 0 {
			return false, err
		}
	}
	if offset, at, ok := s.index.Last(); ok {
		if at <= 0 || int64(at)+header > size {
			return s.wrong(IndexSuffix), nil
		}
		if sound, err := s.names(f, int64(at), size, func(p Place) bool { return p.BaseOffset <= offset }); !sound {
			return s.wrong(IndexSuffix), err
		}
	}
	t, o, ok := s.times.Last()
	if !ok {
		if _, _, ok = s.index.Last(); !ok {
			return true, nil
		}
		// The first offset entry comes with a time entry, unless the records have no time.
		sound, err := s.names(f, 0, size, func(p Place) bool { return p.MaxTimestamp < 0 })
		return sound || s.wrong(TimeSuffix), err
	}
	p, err := s.Find(f, o, size)
	if err == io.EOF || errors.Is(err, index.ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.wrong(TimeSuffix), nil
	}
	return err == nil && p.MaxTimestamp == t && p.BaseOffset <= o || s.wrong(TimeSuffix), err
}

// names reports whether the batch at a position is the one that is meant.
func (s *Segment) names(f fs.File, at, size int64, meant func(Place) bool) (is bool, err error) {
	err = Headers(f, at, size, func(p Place, _ record.Batch) bool {
		is = meant(p)
		return false
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return is, err
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
func (s *Segment) resume(f fs.File, size int64, interval int32, known *Known) (next int64, err error) {
	s.stats = stats{firstTimestamp: -1, maxTimestamp: -1, offsetOfMax: s.Base}
	if size == 0 {
		return s.Base, nil
	}
	if err := s.readFirst(f, size); err != nil {
		return 0, err
	}
	_, at, _ := s.index.Last()
	t, o, timed := s.times.Last()
	if timed {
		s.stats.maxTimestamp, s.stats.offsetOfMax = t, o
	}
	if known != nil {
		from := o
		if known.Offset >= 0 {
			from = known.Offset
			if known.MaxTimestamp > t {
				s.stats.maxTimestamp, s.stats.offsetOfMax = known.MaxTimestamp, known.MaxOffset
			}
		}
		_, low, err := s.index.Lookup(from)
		if err != nil {
			return 0, err
		}
		at = min(at, low)
	}
	if next, err = s.noteAll(f, int64(at), size, interval); err == nil && known != nil {
		s.noteTime() // in place of the entries that were lost
	}
	return next, err
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
	if err := s.own(); err != nil {
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
	return errors.Join(s.index.TruncateTo(next), s.times.TruncateTo(next), s.TrimTxns(next))
}

// Remove renames the files so that a start does not find them, and returns the new names, to be removed when the
// readers have gone. Missing files are passed over.
func (s *Segment) Remove(fsys fs.FS, suffix string) (names []string, err error) {
	for _, kind := range []string{LogSuffix, IndexSuffix, TimeSuffix, TxnSuffix, SnapshotSuffix} {
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
