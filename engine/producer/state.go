package producer

import (
	"fmt"
	"slices"

	"github.com/zurau/zurau/engine/record"
)

// State is the producer state of one log.
type State struct {
	producers map[int64]*entry
	// peak is the largest size of producers since it was made: a Go map keeps the memory of its largest size.
	peak int
	txns transactions
}

// New returns an empty state, which costs next to nothing until a producer comes.
func New() *State { return &State{} }

// Appended says where a batch went.
type Appended struct {
	BaseOffset, LastOffset int64
	Timestamp              int64 // largest of the batch, ms: its append time where the log sets that
}

// Check says whether b may be appended: nil, nil; or that it is a duplicate: where the original went; or an error that
// wraps one of the package's. It changes nothing, and allocates nothing for a batch that may be appended. Batches
// without producer id pass, and so do control batches: see CheckMarker.
//
// client asks for all rules; without it (a coordinator's write) only the epoch and the transaction are looked at. A
// replica that copies its leader, and recovery, do not call it. Of several batches of one producer in one request each
// must be updated before the next is checked; clients send one.
func (s *State) Check(b record.Info, client bool) (dup *Appended, err error) {
	if b.ProducerID < 0 || b.Control {
		return nil, nil
	}
	e := s.producers[b.ProducerID]
	if e == nil {
		return nil, nil
	}
	if client && b.ProducerEpoch == e.epoch {
		if d, ok := e.find(b.BaseSequence, b.LastSequence); ok {
			return &Appended{d.lastOffset - int64(d.delta), d.lastOffset, d.timestamp}, nil
		}
	}
	if b.ProducerEpoch < e.epoch {
		return nil, fmt.Errorf("%w: producer %d has epoch %d, and %d has written", ErrInvalidEpoch,
			b.ProducerID, b.ProducerEpoch, e.epoch)
	}
	if client {
		if err := e.checkSequence(b); err != nil {
			return nil, err
		}
	}
	if e.firstOffset >= 0 && !b.Transactional {
		return nil, fmt.Errorf("%w: producer %d has had a transaction open since offset %d", ErrInvalidTxnState,
			b.ProducerID, e.firstOffset)
	}
	return nil, nil
}

func (e *entry) checkSequence(b record.Info) error {
	if b.ProducerEpoch != e.epoch {
		if b.BaseSequence == 0 || e.epoch < 0 {
			return nil
		}
		return fmt.Errorf("%w: producer %d starts epoch %d with %d, expected 0", ErrOutOfOrderSequence,
			b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	}
	last := e.lastSequence()
	if follows(last, b.BaseSequence) {
		return nil
	}
	return fmt.Errorf("%w: producer %d sends %d after %d in epoch %d", ErrOutOfOrderSequence,
		b.ProducerID, b.BaseSequence, last, b.ProducerEpoch)
}

// Update takes in a data batch that was appended with these offsets; timestamp is its largest, in ms. Control batches
// are EndTransaction's and are passed over here, as are batches without producer id.
func (s *State) Update(b record.Info, baseOffset, lastOffset, timestamp int64) {
	if b.ProducerID < 0 || b.Control {
		return
	}
	e := s.entry(b.ProducerID, b.ProducerEpoch)
	e.enter(b.ProducerEpoch)
	e.add(batch{
		lastOffset:   lastOffset,
		timestamp:    timestamp,
		lastSequence: b.LastSequence,
		delta:        int32(lastOffset - baseOffset),
	})
	e.timestamp = timestamp
	if b.Transactional && e.firstOffset < 0 {
		e.firstOffset = baseOffset
		s.txns.begin(b.ProducerID, baseOffset)
	}
}

// entry returns what is known of the producer, making it if need be.
func (s *State) entry(id int64, epoch int16) *entry {
	e := s.producers[id]
	if e == nil {
		e = &entry{epoch: epoch, firstOffset: -1, coordinatorEpoch: -1}
		s.put(id, e)
	}
	return e
}

func (s *State) put(id int64, e *entry) {
	if s.producers == nil {
		s.producers = make(map[int64]*entry)
	}
	s.producers[id] = e
	s.peak = max(s.peak, len(s.producers))
}

// Recall takes over the batches that o remembers of producers whose last one is the same in both: a snapshot has the last
// batch alone, and a state that was built from the log has up to five.
func (s *State) Recall(o *State) {
	for id, e := range s.producers {
		if d := o.producers[id]; d != nil && d.epoch == e.epoch && d.n > e.n && e.n > 0 && d.batches[d.n-1] == e.batches[e.n-1] {
			e.n, e.batches = d.n, d.batches
		}
	}
}

// Expire forgets producers whose last batch or marker is expirationMs old or more and that have no open transaction,
// and returns how many. It looks at all of them: call it once in a while (producer.id.expiration.check.interval.ms).
func (s *State) Expire(nowMs, expirationMs int64) int {
	gone := 0
	for id, e := range s.producers {
		if e.firstOffset < 0 && nowMs-e.timestamp >= expirationMs {
			delete(s.producers, id)
			gone++
		}
	}
	s.shrink()
	return gone
}

// shrink gives back the memory of a map that has become much too large.
func (s *State) shrink() {
	if s.peak < 64 || len(s.producers) > s.peak/4 {
		return
	}
	smaller := make(map[int64]*entry, len(s.producers))
	for id, e := range s.producers {
		smaller[id] = e
	}
	s.producers, s.peak = smaller, len(smaller)
}

// Reset forgets everything: before a snapshot is loaded and the log behind it replayed, or when the log is emptied.
func (s *State) Reset() { *s = State{} }

// Len returns the number of producers that are known.
func (s *State) Len() int { return len(s.producers) }

// Producer is what DescribeProducers says of one.
type Producer struct {
	ID                    int64
	Epoch                 int16
	LastSequence          int32 // -1: none in this epoch
	LastTimestamp         int64 // ms
	CoordinatorEpoch      int32 // -1: no marker yet
	CurrentTxnStartOffset int64 // -1: no transaction is open
}

// Producers lists the producers in the order of their ids.
func (s *State) Producers() []Producer {
	list := make([]Producer, 0, len(s.producers))
	for _, id := range s.ids() {
		e := s.producers[id]
		list = append(list, Producer{id, e.epoch, e.lastSequence(), e.timestamp, e.coordinatorEpoch, e.firstOffset})
	}
	return list
}

func (s *State) ids() []int64 {
	ids := make([]int64, 0, len(s.producers))
	for id := range s.producers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
