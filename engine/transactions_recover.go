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
		if err := r.redoAborted(segs, start, func(s *segment.Segment, marker int64) bool { return marker >= from || redo[s] }); err != nil {
			return err
		}
	}
	return r.flushAborted(segs)
}

// redoAborted adds the aborted transactions whose marker lies at offset start or behind it and is wanted to the indexes.
func (r *recovering) redoAborted(segs []*segment.Segment, start int64, wanted func(s *segment.Segment, marker int64) bool) error {
	state := producer.New()
	return r.eachHeader(segs, r.stateBefore(start, state), func(f fs.File, p segment.Place, b record.Batch) error {
		return replayProducer(state, f, p, b, func(t producer.Ended) {
			s := segmentAt(segs, p.BaseOffset)
			if !t.Aborted || !wanted(s, t.LastOffset) {
				return
			}
			if err := s.NoteAborted(entryOf(t)); err != nil {
				r.e.log.Warn("an aborted transaction has no place in the index", "partition", r.name, "error", err)
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
