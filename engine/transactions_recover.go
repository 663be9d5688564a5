package engine

import (
	"errors"
	"math"
	"slices"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// loadTransactions reads the transaction indexes and the producers' state, and what of the transactions is open. What a
// transaction index may be:
//
//	what is found                              means                         then
//	a file that is garbage, or torn            a crash, or somebody else     made again from the log
//	entries at or beyond where a scan began    written, perhaps not flushed  made again from the log
//	entries at or beyond the log's end         their markers are lost        removed
//	no file                                    nothing was aborted           nothing: entries below the recovery point
//	                                                                         were flushed before it moved
func (r *recovering) loadTransactions(segs []*segment.Segment) error {
	if err := r.loadAborted(segs); err != nil {
		return err
	}
	if err := r.loadProducers(segs); err != nil {
		return err
	}
	r.mu.producers.HighWatermark(r.next)
	r.noteUnstable()
	return nil
}

// loadAborted opens the transaction indexes and brings them up to the end of the log.
func (r *recovering) loadAborted(segs []*segment.Segment) error {
	from := min(r.from, r.next)
	redo := map[*segment.Segment]bool{}
	start := int64(math.MaxInt64)
	if r.marked {
		start = from
	}
	for _, s := range segs {
		if !slices.Contains(r.txns, s.Base) {
			continue
		}
		switch err := s.OpenTxns(); {
		case errors.Is(err, index.ErrCorrupt):
			r.meet(TxnIndexDamaged, "file", segment.Name(r.dir, s.Base, segment.TxnSuffix), "error", err)
			if err := s.ResetTxns(); err != nil {
				return err
			}
			redo[s] = true
			start = min(start, s.Base)
		case err != nil:
			return err
		}
		if err := s.TrimTxns(from); err != nil {
			return err
		}
	}
	if start < r.next {
		err := r.eachAborted(segs, start, func(s *segment.Segment, t index.AbortedTxn) {
			if t.LastOffset < from && !redo[s] {
				return
			}
			if err := s.NoteAborted(t); err != nil {
				r.e.log.Warn("an aborted transaction has no place in the index", "partition", r.name, "error", err)
			}
		})
		if err != nil {
			return err
		}
	}
	return r.flushAborted(segs)
}

// eachAborted tells of the aborted transactions whose marker is in one of the segments, read from the log: of all of those
// from offset start on, and of some before.
func (r *recovering) eachAborted(segs []*segment.Segment, start int64, found func(*segment.Segment, index.AbortedTxn)) error {
	state := producer.New()
	return r.eachHeader(segs, r.stateBefore(start, state), func(f fs.File, p segment.Place, b record.Batch) error {
		return replayProducer(state, f, p, b, func(t producer.Ended) {
			if t.Aborted {
				found(segmentAt(segs, p.BaseOffset), entryOf(t))
			}
		})
	})
}

// stateBefore reads the newest sound snapshot of an offset that is at most start, and returns the offset; 0 without any.
func (r *recovering) stateBefore(start int64, into *producer.State) int64 {
	for i := len(r.snaps) - 1; i >= 0; i-- {
		offset := r.snaps[i]
		if offset > start {
			continue
		}
		b, err := r.e.readFile(segment.Name(r.dir, offset, segment.SnapshotSuffix))
		if err == nil && into.Unmarshal(b) == nil {
			return offset
		}
	}
	return 0
}

func segmentAt(segs []*segment.Segment, offset int64) *segment.Segment {
	i, found := slices.BinarySearchFunc(segs, offset, func(s *segment.Segment, offset int64) int {
		switch {
		case s.Base < offset:
			return -1
		case s.Base > offset:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return segs[max(i, 0)]
}

// flushAborted brings what was added to the files, lets go of the memory of all but the last index, and shows them to readers.
func (r *recovering) flushAborted(segs []*segment.Segment) error {
	var have []*segment.Segment
	for i, s := range segs {
		if s.HasAborted() {
			have = append(have, s)
		}
		made, err := s.SettleTxns(i+1 < len(segs))
		if err != nil {
			return err
		}
		if made {
			r.changed = true
			r.w.named.Add(1)
		}
	}
	r.setAborted(have)
	return nil
}

// damagedTxns says that the transaction index of a segment is not what it was while the log is in use.
type damagedTxns struct {
	seg *segment.Segment
	err error
}

func (d *damagedTxns) Error() string { return d.err.Error() }
func (d *damagedTxns) Unwrap() error { return d.err }

// repairTxns makes the transaction index of a segment anew from the log, beside readers and appends. That of the active
// segment, which is read from its file where it is very large alone, is left to the next start.
func (l *Log) repairTxns(d *damagedTxns) error {
	if err := l.e.enter(); err != nil {
		return err
	}
	defer l.e.life.RUnlock()
	l.settling.Lock() // nobody takes segments off, or cuts them
	defer l.settling.Unlock()
	if d.seg.Removed() {
		return nil
	}
	segs := *l.view.Load()
	i := slices.Index(segs, d.seg)
	if i < 0 || i+1 == len(segs) {
		return d
	}
	r := &recovering{Log: l}
	for _, s := range segs[:i+1] {
		r.snaps = append(r.snaps, s.Base)
	}
	r.meet(TxnIndexDamaged, "file", segment.Name(l.dir, d.seg.Base, segment.TxnSuffix), "error", d.err)
	var list []index.AbortedTxn
	err := r.eachAborted(segs[:i+1], d.seg.Base, func(s *segment.Segment, t index.AbortedTxn) {
		if s == d.seg {
			list = append(list, t)
		}
	})
	if err != nil {
		return err
	}
	if err := d.seg.ReplaceTxns(list); err != nil {
		return l.e.failIfFinal(err)
	}
	return nil
}
