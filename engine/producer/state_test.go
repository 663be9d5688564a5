package producer

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// batchOf builds the header of a batch of count records.
func batchOf(id int64, epoch int16, first int32, count int32) record.Info {
	last := int32((int64(first) + int64(count) - 1) % (math.MaxInt32 + 1))
	return record.Info{ProducerID: id, ProducerEpoch: epoch, BaseSequence: first, LastSequence: last,
		LastOffsetDelta: count - 1, Count: count}
}

func transactional(b record.Info) record.Info { b.Transactional = true; return b }

// log is an append-only log as far as producers go.
type log struct {
	*State
	end int64
}

// append checks and updates, at 1000 ms per offset.
func (l *log) append(b record.Info) (*Appended, error) {
	dup, err := l.Check(b, true)
	if dup != nil || err != nil {
		return dup, err
	}
	last := l.end + int64(b.LastOffsetDelta)
	l.Update(b, l.end, last, last*1000)
	l.end = last + 1
	return nil, nil
}

func (l *log) must(t *testing.T, batches ...record.Info) {
	t.Helper()
	for _, b := range batches {
		if dup, err := l.append(b); dup != nil || err != nil {
			t.Fatalf("%d sequences from %d: %v, %v", b.Count, b.BaseSequence, dup, err)
		}
	}
}

func (l *log) refused(t *testing.T, b record.Info, want error) {
	t.Helper()
	before := string(l.Marshal())
	if dup, err := l.append(b); dup != nil || !errors.Is(err, want) {
		t.Errorf("epoch %d, %d sequences from %d: %v, %v; want %v", b.ProducerEpoch, b.Count, b.BaseSequence, dup, err, want)
	}
	if string(l.Marshal()) != before {
		t.Error("a refusal changed the state")
	}
}

func newLog() *log { return &log{State: New()} }

func TestAnyOfTheLastFiveBatchesIsADuplicateWithItsFirstOffsets(t *testing.T) {
	l := newLog()
	for i := range int32(7) {
		l.must(t, batchOf(1, 0, 10*i, 10))
	}
	for i := int32(2); i < 7; i++ {
		dup, err := l.append(batchOf(1, 0, 10*i, 10))
		want := Appended{int64(10 * i), int64(10*i + 9), int64(10*i+9) * 1000}
		if err != nil || dup == nil || *dup != want {
			t.Errorf("batch %d: %v, %v; want %v", i, dup, err, want)
		}
	}
	l.refused(t, batchOf(1, 0, 10, 10), ErrOutOfOrderSequence) // the sixth last
	l.refused(t, batchOf(1, 0, 60, 5), ErrOutOfOrderSequence)  // part of a known one
	l.must(t, batchOf(1, 0, 70, 1))
	if l.end != 71 {
		t.Errorf("the log ends at %d", l.end)
	}
}

func TestAGapIsOutOfOrder(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 0, 0, 3))
	l.refused(t, batchOf(1, 0, 4, 1), ErrOutOfOrderSequence)
	l.refused(t, batchOf(1, 0, 2, 1), ErrOutOfOrderSequence)
	l.must(t, batchOf(1, 0, 3, 1))
}

func TestSequencesGoOnAtZeroAfterTheLargest(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 0, math.MaxInt32-1, 2)) // ends at the largest
	l.refused(t, batchOf(1, 0, 1, 1), ErrOutOfOrderSequence)
	l.must(t, batchOf(1, 0, 0, 1))
	l.must(t, batchOf(2, 0, math.MaxInt32-1, 4)) // wraps inside: ..46, ..47, 0, 1
	if dup, err := l.append(batchOf(2, 0, math.MaxInt32-1, 4)); dup == nil || err != nil || dup.BaseOffset != 3 {
		t.Errorf("the same again: %v, %v", dup, err)
	}
	l.must(t, batchOf(2, 0, 2, 1))
}

func TestOfAnUnknownProducerAnySequenceIsAccepted(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 5, 1234, 2), batchOf(1, 5, 1236, 1))
}

func TestAnOldEpochIsFencedAndANewOneStartsAtZero(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 3, 0, 2))
	l.refused(t, batchOf(1, 2, 2, 1), ErrInvalidEpoch)
	l.refused(t, batchOf(1, 2, 0, 2), ErrInvalidEpoch)
	l.refused(t, batchOf(1, 4, 2, 1), ErrOutOfOrderSequence)
	l.must(t, batchOf(1, 4, 0, 2))
	l.refused(t, batchOf(1, 3, 0, 2), ErrInvalidEpoch)
	if dup, err := l.append(batchOf(1, 4, 0, 2)); dup == nil || err != nil || dup.BaseOffset != 2 {
		t.Errorf("the new epoch's batch again: %v, %v", dup, err)
	}
}

func TestACoordinatorHasAnEpochAndNoSequences(t *testing.T) {
	l := newLog()
	b := record.Info{ProducerID: 1, ProducerEpoch: 3, BaseSequence: -1, LastSequence: -1}
	for range 2 {
		if dup, err := l.Check(b, false); dup != nil || err != nil {
			t.Fatalf("%v, %v", dup, err)
		}
		l.Update(b, 0, 0, 0)
	}
	b.ProducerEpoch = 2
	if _, err := l.Check(b, false); !errors.Is(err, ErrInvalidEpoch) {
		t.Errorf("old epoch: %v", err)
	}
}

func TestBatchesWithoutProducerIDPassAndLeaveNothing(t *testing.T) {
	l := newLog()
	for range 2 {
		l.must(t, record.Info{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, LastSequence: -1})
	}
	if l.Len() != 0 {
		t.Errorf("%d producers", l.Len())
	}
}

func TestProducersExpireByTheirLastTimestampUnlessATransactionIsOpen(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 0, 0, 1), batchOf(2, 0, 0, 1), transactional(batchOf(3, 0, 0, 1)), batchOf(4, 0, 0, 1))
	if n := l.Expire(11_000, 10_000); n != 2 || l.Len() != 2 { // the first two, of 0 and 1000 ms
		t.Errorf("%d expired, %d left", n, l.Len())
	}
	if n := l.Expire(1_000_000, 10_000); n != 1 || l.Producers()[0].ID != 3 {
		t.Errorf("%d expired, left %v", n, l.Producers())
	}
	l.must(t, batchOf(1, 0, 77, 1)) // forgotten: any sequence
}

func TestMemoryFallsWhenProducersExpire(t *testing.T) {
	l := newLog()
	for i := range int64(100_000) {
		l.Update(batchOf(i, 0, 0, 1), i, i, i)
	}
	l.Expire(100_000, 100)
	if l.Len() != 99 || l.peak != 99 {
		t.Errorf("%d producers in a map that was made for %d", l.Len(), l.peak)
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 0, 0, 1))
	b := batchOf(1, 0, 1, 1)
	allocs := testing.AllocsPerRun(1000, func() {
		if dup, err := l.Check(b, true); dup != nil || err != nil {
			t.Fatal(dup, err)
		}
		l.Update(b, l.end, l.end, 0)
		l.end++
		b.BaseSequence++
		b.LastSequence++
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}

// TestRandomClientsGetEachBatchStoredOnce lets clients send, resend and lose answers: each batch is stored once, in
// order, and its answer is always the same.
func TestRandomClientsGetEachBatchStoredOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	l := newLog()
	type sent struct {
		b    record.Info
		base int64
	}
	history := map[int64][]sent{}
	for range 20_000 {
		id := r.Int64N(8)
		h := history[id]
		if len(h) > 0 && r.IntN(3) == 0 {
			i := r.IntN(min(len(h), kept))
			old := h[len(h)-1-i]
			if dup, err := l.append(old.b); err != nil || dup == nil || dup.BaseOffset != old.base {
				t.Fatalf("resend of %v: %v, %v", old, dup, err)
			}
			continue
		}
		first := int32(math.MaxInt32 - 20) // wraps soon
		if len(h) > 0 {
			first = int32((int64(h[len(h)-1].b.LastSequence) + 1) % (math.MaxInt32 + 1))
		}
		b, base := batchOf(id, 0, first, 1+r.Int32N(10)), l.end
		l.must(t, b)
		history[id] = append(h, sent{b, base})
		if r.IntN(100) == 0 { // a restart: of five batches the last one is left
			if err := l.Unmarshal(l.Marshal()); err != nil {
				t.Fatal(err)
			}
			for id, h := range history {
				history[id] = h[len(h)-1:]
			}
		}
	}
}
