package producer

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zurau/zurau/engine/record"
)

// Marker is the content of the control record that ends a transaction.
type Marker struct {
	Commit           bool  // else abort
	CoordinatorEpoch int32 // of the coordinator that wrote it
	// Version of transactions that the coordinator asked with, 0 to 2. It is not in the record: 0 where unknown (replica,
	// recovery). From 2 on (KIP-890) a marker has an epoch of its own, above that of the records it ends.
	Version int16
}

// ParseMarker reads a marker from key and value of a control record; ok is false for control records of other kinds
// and for garbage.
//
//	key:   version int16, type int16 (0 abort, 1 commit)      value: version int16, coordinator epoch int32
func ParseMarker(key, value []byte) (m Marker, ok bool) {
	if len(key) < 4 || len(value) < 6 {
		return Marker{}, false
	}
	kind := int16(binary.BigEndian.Uint16(key[2:]))
	if int16(binary.BigEndian.Uint16(key)) < 0 || int16(binary.BigEndian.Uint16(value)) < 0 || kind < 0 || kind > 1 {
		return Marker{}, false
	}
	return Marker{Commit: kind == 1, CoordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:]))}, true
}

// CheckMarker says whether the control batch b with the marker m may be appended on a leader: its epoch must not be
// behind (from version 2 on: must be ahead, or the same when no transaction is open, which is a marker written again),
// and neither may its coordinator's.
func (s *State) CheckMarker(b record.Info, m Marker) error {
	e := s.producers[b.ProducerID]
	if e == nil {
		return nil
	}
	stale := b.ProducerEpoch < e.epoch
	if m.Version >= 2 && b.ProducerEpoch == e.epoch && e.firstOffset >= 0 {
		stale = true
	}
	if stale {
		return fmt.Errorf("%w: marker of producer %d has epoch %d, and %d has written", ErrInvalidEpoch,
			b.ProducerID, b.ProducerEpoch, e.epoch)
	}
	if m.CoordinatorEpoch < e.coordinatorEpoch {
		return fmt.Errorf("%w: marker of producer %d is by coordinator epoch %d, and %d has written",
			ErrCoordinatorFenced, b.ProducerID, m.CoordinatorEpoch, e.coordinatorEpoch)
	}
	return nil
}

// Ended is a transaction that a marker ended: what an entry of the transaction index says of it.
type Ended struct {
	ProducerID              int64
	FirstOffset, LastOffset int64 // LastOffset is the marker's
	Aborted                 bool
	// LastStableOffset is the first offset of the first transaction that is still open, else that after the marker.
	LastStableOffset int64
}

// EndTransaction takes in the control batch b with the marker m that was appended at offset; timestamp is the record's,
// in ms. ok is false when the transaction had no record in this log: nothing to index then.
func (s *State) EndTransaction(b record.Info, m Marker, offset, timestamp int64) (t Ended, ok bool) {
	if b.ProducerID < 0 {
		return Ended{}, false
	}
	e := s.entry(b.ProducerID, b.ProducerEpoch)
	first := e.firstOffset
	e.enter(b.ProducerEpoch)
	e.coordinatorEpoch, e.timestamp, e.firstOffset = m.CoordinatorEpoch, timestamp, -1
	if first < 0 {
		return Ended{}, false
	}
	s.txns.end(first, offset)
	t = Ended{b.ProducerID, first, offset, !m.Commit, offset + 1}
	if next, open := s.txns.firstOpen(); open {
		t.LastStableOffset = next
	}
	return t, true
}

// FirstUndecidedOffset returns the first offset of the first transaction that is still open.
func (s *State) FirstUndecidedOffset() (offset int64, ok bool) { return s.txns.firstOpen() }

// FirstUnstableOffset returns the first offset of the first transaction that is open, or whose marker was not below the
// high watermark yet when HighWatermark was called last. The last stable offset is the smaller of this and the high
// watermark.
func (s *State) FirstUnstableOffset() (offset int64, ok bool) { return s.txns.firstUnstable() }

// Awaits reports whether a transaction has ended whose marker was not below the high watermark yet when HighWatermark was
// called last: FirstUnstableOffset may then be more once the high watermark has moved.
func (s *State) Awaits() bool { return len(s.txns.ended) > 0 }

// HighWatermark says that the high watermark (or the log start offset, when it passes that) is now offset: transactions
// with a marker below it are stable.
func (s *State) HighWatermark(offset int64) { s.txns.replicated(offset) }

// transactions orders those of one log by their first offsets.
type transactions struct {
	open []openTxn
	// ended have their marker at or above the high watermark.
	ended []endedTxn
}

type openTxn struct{ first, producer int64 }

type endedTxn struct{ first, last int64 }

func compareOpen(t openTxn, first int64) int   { return cmp.Compare(t.first, first) }
func compareEnded(t endedTxn, first int64) int { return cmp.Compare(t.first, first) }

// begin adds a transaction. Its first offset is nearly always the largest: offsets are given out in order.
func (t *transactions) begin(producer, first int64) {
	i, _ := slices.BinarySearchFunc(t.open, first, compareOpen)
	t.open = slices.Insert(t.open, i, openTxn{first, producer})
}

func (t *transactions) end(first, last int64) {
	if i, ok := slices.BinarySearchFunc(t.open, first, compareOpen); ok {
		t.open = slices.Delete(t.open, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(t.ended, first, compareEnded)
	t.ended = slices.Insert(t.ended, i, endedTxn{first, last})
}

func (t *transactions) replicated(offset int64) {
	t.ended = slices.DeleteFunc(t.ended, func(e endedTxn) bool { return e.last < offset })
}

func (t *transactions) firstOpen() (int64, bool) {
	if len(t.open) == 0 {
		return 0, false
	}
	return t.open[0].first, true
}

func (t *transactions) firstUnstable() (int64, bool) {
	first, ok := t.firstOpen()
	if len(t.ended) > 0 && (!ok || t.ended[0].first < first) {
		return t.ended[0].first, true
	}
	return first, ok
}
