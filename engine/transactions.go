package engine

import (
	"slices"
	"sync/atomic"

	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// The read side of transactions (KIP-98). What a transaction has written is in the log at once, and readers of committed
// records see the log up to the last stable offset alone: where the first transaction begins that is still open, or whose
// marker lies at or above the high watermark. Of what lies below it they are told which transactions were aborted, and
// leave those out themselves.

// transactions is what readers look at of them. Both are replaced, never changed, by who holds the log's lock.
type transactions struct {
	// unstable is nil where no transaction keeps the last stable offset back.
	unstable atomic.Pointer[unstable]
	// aborted are the segments that have a transaction index, ascending; some may be gone. They are not found by the view:
	// records may be read before their segment has a file.
	aborted atomic.Pointer[[]*segment.Segment]
}

// unstable is where the first such transaction begins.
type unstable struct {
	first int64
	// ended: one of them is no longer open, and the high watermark may have passed its marker meanwhile.
	ended bool
}

// LastStableOffset returns the offset below which every transaction is decided and its marker below the high watermark:
// up to where committed records may be read. It never waits for a disk.
func (l *Log) LastStableOffset() int64 {
	high := l.readable().offset // before the look at what is unstable, which was noted before it was written
	u := l.txns.unstable.Load()
	if u != nil && u.ended && u.first < high {
		l.mu.Lock()
		l.mu.producers.HighWatermark(high)
		l.noteUnstable()
		u = l.txns.unstable.Load()
		l.mu.Unlock()
	}
	if u == nil || u.first >= high {
		return high
	}
	return min(max(u.first, l.start.Load()), high)
}

// noteUnstable makes what the producers' state says visible to readers. The log is locked.
func (l *Log) noteUnstable() {
	first, ok := l.mu.producers.FirstUnstableOffset()
	ended := l.mu.producers.Awaits()
	switch now := l.txns.unstable.Load(); {
	case !ok && now != nil:
		l.txns.unstable.Store(nil)
	case ok && (now == nil || now.first != first || now.ended != ended):
		l.txns.unstable.Store(&unstable{first, ended})
	}
}

// noteProducer takes a batch that has its place into the state of producers and, where it aborts a transaction, into the
// transaction index. The log is locked.
func (l *Log) noteProducer(info *record.Info, b record.Batch, last int64) {
	if !info.Control {
		l.mu.producers.Update(*info, b.BaseOffset(), last, info.MaxTimestamp)
		if info.Transactional {
			l.noteUnstable()
		}
		return
	}
	m, ok := markerOf(b)
	if !ok {
		return
	}
	l.mu.producers.HighWatermark(l.high.Load().offset) // what it has passed need not be remembered
	if t, ok := l.mu.producers.EndTransaction(*info, m, b.BaseOffset(), info.MaxTimestamp); ok && t.Aborted {
		if err := l.mu.active.NoteAborted(entryOf(t)); err != nil {
			panic(err) // markers are appended in order
		}
		l.noteAborted(l.mu.active)
	}
	l.noteUnstable()
}

// noteAborted adds a segment that has a transaction index now, if it is not there. The log is locked.
func (l *Log) noteAborted(s *segment.Segment) {
	list := l.abortedSegments()
	if n := len(list); n == 0 || list[n-1] != s {
		l.setAborted(append(slices.Clone(list), s))
	}
}

// setAborted replaces the list of segments, without those that are gone. The log is locked.
func (l *Log) setAborted(list []*segment.Segment) {
	list = slices.DeleteFunc(list, (*segment.Segment).Removed)
	l.txns.aborted.Store(&list)
}

func (l *Log) abortedSegments() []*segment.Segment {
	if p := l.txns.aborted.Load(); p != nil {
		return *p
	}
	return nil
}

// entryOf returns what the transaction index has of an aborted transaction.
func entryOf(t producer.Ended) index.AbortedTxn {
	return index.AbortedTxn{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset, LastOffset: t.LastOffset, LastStableOffset: t.LastStableOffset}
}

// markerOf returns the marker in a control batch; ok is false where it has none, since compaction has taken it out, or is
// of another kind.
func markerOf(b record.Batch) (m producer.Marker, ok bool) {
	for r, err := range b.Records(maxMarker) {
		if err != nil {
			return m, false
		}
		return producer.ParseMarker(r.Key, r.Value)
	}
	return m, false
}

// checkMarker says whether a control batch may be appended. version is that of the transaction: see producer.Marker. The
// log is locked.
func (l *Log) checkMarker(info record.Info, b record.Batch, version int16) error {
	m, ok := markerOf(b)
	if !ok {
		return nil
	}
	m.Version = version
	return l.mu.producers.CheckMarker(info, m)
}

// A Marker ends a transaction in one log.
type Marker struct {
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool // else abort
	// CoordinatorEpoch is that of the coordinator that writes it: one that is smaller than an earlier marker's is
	// producer.ErrCoordinatorFenced.
	CoordinatorEpoch int32
	// Version of the transaction, 0 to 2. From 2 on (KIP-890) the marker's epoch is above that of the records it ends.
	Version int16
}

// AppendMarker appends a control batch that ends a transaction, as Append does with records. Besides Append's errors there
// are producer.ErrInvalidEpoch for the marker of a zombie and producer.ErrCoordinatorFenced. A marker of a transaction that
// has no record here is appended, too.
func (l *Log) AppendMarker(m Marker, leaderEpoch int32, done func(Appended)) {
	rules := l.config.Load().Rules
	rules.Origin, rules.Now, rules.MaxBatchBytes = record.Coordinator, l.e.opt.Now().UnixMilli(), 0
	b := record.NewBuilder(record.None).Producer(m.ProducerID, m.ProducerEpoch, -1)
	b.Control, b.Transactional = true, true
	b.AddEndTxn(rules.Now, record.EndTxn{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch})
	var p record.Prepared
	var a Appended
	ended := false
	err := p.Prepare(b.Bytes(), rules)
	if err == nil {
		l.mu.Lock()
		if err = l.checkMarker(p.Batches[0], p.Batch(0), m.Version); err == nil {
			a, ended, err = l.appendLocked(&p, leaderEpoch, done)
		}
		l.mu.Unlock()
	}
	l.ended(a, ended, err, done)
}

// Producers lists what is known of the producers that write to the log, in the order of their ids.
func (l *Log) Producers() []producer.Producer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.producers.Producers()
}
