package engine

import (
	"fmt"
	"io"
	"math"

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
	if err := l.Err(); err != nil {
		return none, err
	}
	h, from := l.readable(), l.start.Load()
	for _, s := range *l.view.Load() {
		end := s.Size()
		if s == h.seg {
			end = h.position
		} else if s.Base > h.seg.Base {
			break
		}
		found, err := l.timeIn(s, t, from, end)
		if err != io.EOF {
			return found, err
		}
	}
	return none, nil
}

// timeIn looks in one segment.
func (l *Log) timeIn(s *segment.Segment, t, from, end int64) (TimeOffset, error) {
	if newest := l.newestIn(s); newest < t && s != l.high.Load().seg {
		return none, io.EOF
	}
	f, err := s.Acquire()
	if err != nil {
		return none, err
	}
	defer s.Release()
	p, err := s.FindTime(f, t, from, end)
	if err != nil {
		return none, err
	}
	return recordIn(f, p, func(ts, offset int64) bool { return ts >= t && offset >= from })
}

// newestIn returns the greatest timestamp of a segment.
func (l *Log) newestIn(s *segment.Segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, _ := s.MaxTimestamp()
	return t
}

// MaxTimestamp returns the first record with the greatest timestamp of the log, or offset -1. It may read from the disk.
func (l *Log) MaxTimestamp() (TimeOffset, error) {
	if err := l.Err(); err != nil {
		return none, err
	}
	h, from := l.readable(), l.start.Load()
	newest, in := int64(-1), (*segment.Segment)(nil)
	for _, s := range *l.view.Load() {
		if t := l.newestIn(s); t > newest && s.Base <= h.seg.Base {
			newest, in = t, s
		}
	}
	if in == nil {
		return none, nil
	}
	end := in.Size()
	if in == h.seg {
		end = h.position
	}
	return l.maxIn(in, from, end)
}

// maxIn finds the first record with the greatest timestamp among the batches of a segment that may be read: what Note
// knows also counts appends that may not.
func (l *Log) maxIn(s *segment.Segment, from, end int64) (TimeOffset, error) {
	f, err := s.Acquire()
	if err != nil {
		return none, err
	}
	defer s.Release()
	l.mu.Lock()
	t, last := s.MaxTimestamp()
	l.mu.Unlock()
	p, err := s.Find(f, last, end)
	if err == io.EOF || err == nil && p.MaxTimestamp != t {
		p, err = newestBatch(f, end)
	}
	if err != nil {
		return none, err
	}
	return recordIn(f, p, func(ts, offset int64) bool { return ts >= p.MaxTimestamp && offset >= from })
}

// newestBatch returns the first batch below end with the greatest timestamp.
func newestBatch(f fs.File, end int64) (segment.Place, error) {
	best := segment.Place{MaxTimestamp: math.MinInt64}
	err := segment.Headers(f, 0, end, func(p segment.Place, _ record.Batch) bool {
		if p.MaxTimestamp > best.MaxTimestamp {
			best = p
		}
		return true
	})
	if err == nil && best.Size == 0 {
		err = io.EOF
	}
	return best, err
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

// AssignEpoch says that a leader of that epoch appends from here on.
func (l *Log) AssignEpoch(epoch int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.mu.epochs.Latest(); !ok || e.Epoch < epoch {
		l.mu.epochsNew = l.mu.epochs.Assign(epoch, l.mu.end) || l.mu.epochsNew
	}
}
