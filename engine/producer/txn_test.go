package producer

import (
	"errors"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// finish appends a marker.
func (l *log) finish(id int64, epoch int16, m Marker) (Ended, bool) {
	b := record.Info{ProducerID: id, ProducerEpoch: epoch, BaseSequence: -1, LastSequence: -1, Control: true, Transactional: true}
	t, ok := l.EndTransaction(b, m, l.end, l.end*1000)
	l.end++
	return t, ok
}

func (l *log) checkMarker(id int64, epoch int16, m Marker) error {
	return l.CheckMarker(record.Info{ProducerID: id, ProducerEpoch: epoch, Control: true}, m)
}

func (l *log) offsets(t *testing.T, undecided, unstable int64) {
	t.Helper()
	get := func(offset int64, ok bool) int64 {
		if !ok {
			return -1
		}
		return offset
	}
	if d, u := get(l.FirstUndecidedOffset()), get(l.FirstUnstableOffset()); d != undecided || u != unstable {
		t.Errorf("end %d: first undecided %d, unstable %d; want %d, %d", l.end, d, u, undecided, unstable)
	}
}

func TestTheFirstUnstableOffsetPassesATransactionOnceItsMarkerIsReplicated(t *testing.T) {
	l := newLog()
	l.offsets(t, -1, -1)
	l.must(t, batchOf(9, 0, 0, 1))                 // 0
	l.must(t, transactional(batchOf(1, 0, 0, 1)))  // 1
	l.must(t, batchOf(9, 0, 1, 1))                 // 2
	l.must(t, transactional(batchOf(2, 0, 0, 1)))  // 3
	l.must(t, transactional(batchOf(1, 0, 1, 10))) // 4 to 13: the same transaction
	l.offsets(t, 1, 1)
	// The one that began later ends first: the transaction index must not say that 1 is stable.
	if e, ok := l.finish(2, 0, Marker{Commit: true}); !ok || e != (Ended{2, 3, 14, false, 1}) {
		t.Errorf("%+v, %v", e, ok)
	}
	l.offsets(t, 1, 1)
	if e, ok := l.finish(1, 0, Marker{}); !ok || e != (Ended{1, 1, 15, true, 16}) {
		t.Errorf("%+v, %v", e, ok)
	}
	l.offsets(t, -1, 1)
	l.HighWatermark(15) // marker 14 is below it, 15 is not
	l.offsets(t, -1, 1)
	l.HighWatermark(16)
	l.offsets(t, -1, -1)
}

func TestAMarkerWithoutRecordsEndsNothing(t *testing.T) {
	l := newLog()
	if e, ok := l.finish(1, 0, Marker{Commit: true, CoordinatorEpoch: 4}); ok {
		t.Errorf("%+v", e)
	}
	l.offsets(t, -1, -1)
	if p := l.Producers(); len(p) != 1 || p[0].CoordinatorEpoch != 4 || p[0].LastSequence != -1 {
		t.Errorf("%+v", p)
	}
	l.must(t, transactional(batchOf(1, 0, 0, 1))) // no batch of this epoch is known: it starts at 0
}

func TestAMarkerKeepsTheBatchesOfItsEpochAndForgetsOthers(t *testing.T) {
	l := newLog()
	l.must(t, transactional(batchOf(1, 0, 0, 5)))
	l.finish(1, 0, Marker{Commit: true})
	l.refused(t, transactional(batchOf(1, 0, 0, 1)), ErrOutOfOrderSequence)
	l.must(t, transactional(batchOf(1, 0, 5, 5)))
	l.finish(1, 1, Marker{}) // a bumped epoch: abort by the coordinator
	l.refused(t, transactional(batchOf(1, 0, 10, 1)), ErrInvalidEpoch)
	l.refused(t, transactional(batchOf(1, 1, 10, 1)), ErrOutOfOrderSequence)
	l.must(t, transactional(batchOf(1, 1, 0, 1)))
}

func TestAPlainBatchInAnOpenTransactionIsRefused(t *testing.T) {
	l := newLog()
	l.must(t, transactional(batchOf(1, 0, 0, 1)))
	l.refused(t, batchOf(1, 0, 1, 1), ErrInvalidTxnState)
	l.finish(1, 0, Marker{Commit: true})
	l.must(t, batchOf(1, 0, 1, 1))
}

func TestMarkersOfZombiesAreRefused(t *testing.T) {
	l := newLog()
	if err := l.checkMarker(1, 0, Marker{}); err != nil {
		t.Errorf("nothing known: %v", err)
	}
	l.must(t, transactional(batchOf(1, 3, 0, 1)))
	if err := l.checkMarker(1, 2, Marker{}); !errors.Is(err, ErrInvalidEpoch) {
		t.Errorf("old producer epoch: %v", err)
	}
	l.finish(1, 3, Marker{CoordinatorEpoch: 7})
	if err := l.checkMarker(1, 3, Marker{CoordinatorEpoch: 6}); !errors.Is(err, ErrCoordinatorFenced) {
		t.Errorf("old coordinator epoch: %v", err)
	}
	if err := l.checkMarker(1, 3, Marker{CoordinatorEpoch: 7}); err != nil {
		t.Errorf("the same coordinator: %v", err)
	}
}

func TestMarkersOfVersionTwoAreAheadOfTheirRecords(t *testing.T) {
	l := newLog()
	l.must(t, transactional(batchOf(1, 3, 0, 1)))
	two := Marker{Version: 2}
	if err := l.checkMarker(1, 3, two); !errors.Is(err, ErrInvalidEpoch) {
		t.Errorf("the epoch of the open transaction: %v", err)
	}
	if err := l.checkMarker(1, 4, two); err != nil {
		t.Error(err)
	}
	l.finish(1, 4, two)
	if err := l.checkMarker(1, 4, two); err != nil { // KAFKA-19999: the coordinator writes it again
		t.Errorf("the same marker again: %v", err)
	}
	if err := l.checkMarker(1, 3, two); !errors.Is(err, ErrInvalidEpoch) {
		t.Errorf("an earlier marker: %v", err)
	}
	// KIP-890: a batch that was delayed until after the marker is refused.
	l.refused(t, transactional(batchOf(1, 3, 1, 1)), ErrInvalidEpoch)
}

func TestOnlyMarkersThatEndTransactionsAreParsed(t *testing.T) {
	value := []byte{0, 0, 0, 0, 0, 9}
	for _, c := range []struct {
		key, value []byte
		want       Marker
		ok         bool
	}{
		{[]byte{0, 0, 0, 0}, value, Marker{CoordinatorEpoch: 9}, true},
		{[]byte{0, 0, 0, 1}, value, Marker{Commit: true, CoordinatorEpoch: 9}, true},
		{[]byte{0, 1, 0, 1, 7}, append(value, 7), Marker{Commit: true, CoordinatorEpoch: 9}, true}, // a later version
		{[]byte{0, 0, 0, 2}, value, Marker{}, false},                                               // leader change
		{[]byte{0xff, 0xff, 0, 1}, value, Marker{}, false},
		{[]byte{0, 0, 0}, value, Marker{}, false},
		{[]byte{0, 0, 0, 1}, value[:5], Marker{}, false},
		{nil, nil, Marker{}, false},
	} {
		if m, ok := ParseMarker(c.key, c.value); m != c.want || ok != c.ok {
			t.Errorf("%v %v: %+v, %v", c.key, c.value, m, ok)
		}
	}
}

func FuzzMarker(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, key, value []byte) { ParseMarker(key, value) })
}
