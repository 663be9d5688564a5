package engine

import (
	"fmt"
	"io"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// A TimeOffset is a record's timestamp in milliseconds, its offset, and the leader epoch of its batch.
type TimeOffset struct {
	Timestamp, Offset int64
	LeaderEpoch       int32
}

// none is what look-ups answer that find no record.
var none = TimeOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}

// OffsetForTime returns the first record with a timestamp of at least t, or offset -1. It may read from the disk.
func (l *Log) OffsetForTime(t int64) (TimeOffset, error) {
	return l.lookUp(func(v view) (TimeOffset, *segment.Segment, error) {
		for _, s := range v.segs {
			if l.newestIn(s) < t {
				continue
			}
			if found, err := v.timeIn(s, t); err != io.EOF {
				return found, s, err
			}
		}
		return none, nil, nil
	})
}

// MaxTimestamp returns the first record with the greatest timestamp of the log, or offset -1. It may read from the disk.
func (l *Log) MaxTimestamp() (TimeOffset, error) {
	return l.lookUp(func(v view) (TimeOffset, *segment.Segment, error) {
		best := none
		for _, s := range v.segs {
			if l.newestIn(s) <= best.Timestamp {
				continue
			}
			found, err := v.newest(l, s)
			if err != nil && err != io.EOF {
				return none, s, err
			}
			if err == nil && found.Timestamp > best.Timestamp {
				best = found
			}
		}
		return best, nil, nil
	})
}

// view is what a look-up may look at: segments that hold a record from the log start on, and below the high watermark.
type view struct {
	segs  []*segment.Segment
	start int64
	high  *mark
}

// lookUp runs find until no truncation, no retention and no damaged index comes between.
func (l *Log) lookUp(find func(view) (TimeOffset, *segment.Segment, error)) (TimeOffset, error) {
	for tries := 0; ; tries++ {
		if p := l.corrupt.Load(); p != nil {
			return none, offline(*p)
		}
		cuts := l.cuts.Load()
		v := view{start: l.start.Load(), high: l.inFiles()}
		all := *l.view.Load()
		for i, s := range all {
			below := i+1 < len(all) && all[i+1].Base <= v.start
			if !below && s.Base <= v.high.seg.Base {
				v.segs = append(v.segs, s)
			}
		}
		found, s, err := find(v)
		if l.cuts.Load() != cuts || cuts%2 == 1 {
			l.LogEndOffset() // waits for the end of the truncation
			continue
		}
		if err == nil || tries > maxTries {
			return found, err
		}
		if again := l.readAgain(s, err); again != nil {
			return none, again
		}
	}
}

// inFiles returns where readers may read in the files, once what may be read now is there.
func (l *Log) inFiles() *mark {
	h := l.readable()
	if l.written.Load().offset < h.offset {
		l.mu.Lock()
		l.awaitWritten(h.offset)
		l.mu.Unlock()
	}
	if w := l.written.Load(); w.offset < h.offset {
		return w
	}
	return h
}

// end returns the position in a segment up to which records may be read.
func (v *view) end(s *segment.Segment) int64 {
	if s == v.high.seg {
		return v.high.position
	}
	return s.Size()
}

// timeIn looks in one segment, and returns io.EOF where no record will do.
func (v *view) timeIn(s *segment.Segment, t int64) (TimeOffset, error) {
	f, err := s.Acquire()
	if err != nil {
		return none, err
	}
	defer s.Release()
	// A batch may have such a timestamp in records below the log start alone: then the next one is looked at.
	for from := v.start; ; {
		p, err := s.FindTime(f, t, from, v.end(s))
		if err != nil {
			return none, err
		}
		found, err := recordIn(f, p, func(ts, offset int64) bool { return ts >= t && offset >= v.start })
		if err != io.EOF {
			return found, err
		}
		from = p.LastOffset + 1
	}
}

// newestIn returns the greatest timestamp of a segment, of records that are not to be read yet as well.
func (l *Log) newestIn(s *segment.Segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, _ := s.MaxTimestamp()
	return t
}

// newest returns the first record of a segment with the greatest timestamp of those that may be read, or io.EOF where it
// has none. What Note keeps is the answer where that batch may be read as a whole; else the headers are.
func (v *view) newest(l *Log, s *segment.Segment) (TimeOffset, error) {
	f, err := s.Acquire()
	if err != nil {
		return none, err
	}
	defer s.Release()
	l.mu.Lock()
	t, last := s.MaxTimestamp()
	l.mu.Unlock()
	p, err := s.Find(f, last, v.end(s))
	if err == nil && p.MaxTimestamp == t && p.BaseOffset >= v.start {
		return recordIn(f, p, func(ts, _ int64) bool { return ts >= t })
	}
	if err != nil && err != io.EOF {
		return none, err
	}
	return v.scanNewest(f, s)
}

// scanNewest is newest by the headers of all batches that may be read.
func (v *view) scanNewest(f fs.File, s *segment.Segment) (TimeOffset, error) {
	best := none
	var first *segment.Place // the batch that the log start is in
	var newest segment.Place
	err := segment.Headers(f, 0, v.end(s), func(p segment.Place, _ record.Batch) bool {
		switch {
		case p.LastOffset < v.start:
		case p.BaseOffset < v.start:
			first = &p
		case newest.Size == 0 || p.MaxTimestamp > newest.MaxTimestamp:
			newest = p
		}
		return true
	})
	if err == nil && first != nil {
		best, err = newestRecord(f, *first, v.start)
	}
	if err != nil && err != io.EOF || newest.Size == 0 || newest.MaxTimestamp <= best.Timestamp {
		if err == nil && best == none {
			err = io.EOF
		}
		return best, err
	}
	return recordIn(f, newest, func(ts, _ int64) bool { return ts >= newest.MaxTimestamp })
}

// newestRecord returns the first record with the greatest timestamp among those of a batch from an offset on.
func newestRecord(f fs.File, p segment.Place, from int64) (found TimeOffset, err error) {
	newest := int64(-1)
	_, err = recordIn(f, p, func(ts, offset int64) bool {
		if offset >= from {
			newest = max(newest, ts)
		}
		return false
	})
	if err != io.EOF || newest < 0 {
		return none, err
	}
	return recordIn(f, p, func(ts, offset int64) bool { return offset >= from && ts == newest })
}

// recordIn returns the first record of a batch that is wanted.
func recordIn(f fs.File, p segment.Place, want func(timestamp, offset int64) bool) (TimeOffset, error) {
	b := make(record.Batch, p.Size)
	if _, err := f.ReadAt(b, p.Position); err != nil {
		return none, fmt.Errorf("read the batch at position %d of %s: %w", p.Position, f.Name(), err)
	}
	for r, err := range b.Records(maxUnpacked) {
		if err != nil {
			return none, err
		}
		if want(r.Timestamp, r.Offset) {
			return TimeOffset{r.Timestamp, r.Offset, b.PartitionLeaderEpoch()}, nil
		}
	}
	return none, io.EOF
}

// maxUnpacked bounds what one stored batch may unpack to in a look-up. It was checked against less when it came.
const maxUnpacked = 1 << 30

// EndOffsetForEpoch returns the largest leader epoch of the log that is at most epoch, and where its records end, or -1
// and -1 (KIP-101, KIP-279).
func (l *Log) EndOffsetForEpoch(epoch int32) (found int32, endOffset int64) {
	l.mu.Lock()
	end, epochs := l.mu.end, l.mu.epochs
	l.mu.Unlock()
	return epochs.EndOffsetFor(epoch, end)
}

// EpochAt returns the leader epoch of the record at an offset, or of the last one before it; -1 where there is none.
func (l *Log) EpochAt(offset int64) int32 {
	l.mu.Lock()
	epochs := l.mu.epochs
	l.mu.Unlock()
	return epochs.EpochAt(offset)
}

// LatestEpoch returns the leader epoch of the newest records, or -1.
func (l *Log) LatestEpoch() int32 {
	l.mu.Lock()
	epochs := l.mu.epochs
	l.mu.Unlock()
	if e, ok := epochs.Latest(); ok {
		return e.Epoch
	}
	return -1
}

// AssignEpoch says that a leader of that epoch appends from here on. Nothing is on disk before it does: every start of a broker
// begins an epoch in each of its logs.
func (l *Log) AssignEpoch(epoch int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.mu.epochs.Latest(); !ok || e.Epoch < epoch {
		l.mu.epochAhead = l.mu.epochs.Assign(epoch, l.mu.end) || l.mu.epochAhead
	}
}
