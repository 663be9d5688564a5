package producer

import "math"

// kept is how many batches of a producer are remembered: clients send up to five at a time
// (max.in.flight.requests.per.connection), and any of them may be sent again.
const kept = 5

// batch is one remembered batch.
type batch struct {
	lastOffset   int64
	timestamp    int64 // largest of the batch, ms
	lastSequence int32
	delta        int32 // last minus first offset, and so of the sequences
}

func (b batch) firstSequence() int32 {
	if b.lastSequence >= b.delta {
		return b.lastSequence - b.delta
	}
	// The sequence wrapped from 2^31-1 to 0 inside the batch.
	return math.MaxInt32 - (b.delta - b.lastSequence) + 1
}

// entry is what is known of one producer. Its size times the number of producers is the memory of a State.
type entry struct {
	timestamp        int64 // of the last batch or marker, ms
	firstOffset      int64 // of the open transaction, -1 without
	coordinatorEpoch int32 // of the last marker, -1 without
	epoch            int16
	// batches[:n] are remembered, oldest first.
	n       int8
	batches [kept]batch
}

// lastSequence is -1 when no batch of the epoch is known: then the next one must be 0.
func (e *entry) lastSequence() int32 {
	if e.n == 0 {
		return -1
	}
	return e.batches[e.n-1].lastSequence
}

// enter makes epoch the current one; batches of another are forgotten.
func (e *entry) enter(epoch int16) {
	if e.epoch != epoch {
		e.epoch, e.n = epoch, 0
	}
}

func (e *entry) add(b batch) {
	if e.n == kept {
		copy(e.batches[:], e.batches[1:])
		e.n--
	}
	e.batches[e.n] = b
	e.n++
}

// find returns the remembered batch with exactly these sequences.
func (e *entry) find(first, last int32) (batch, bool) {
	for _, b := range e.batches[:e.n] {
		if b.lastSequence == last && b.firstSequence() == first {
			return b, true
		}
	}
	return batch{}, false
}

// follows reports whether next is the sequence after last.
func follows(last, next int32) bool {
	return next == last+1 && last != math.MaxInt32 || next == 0 && last == math.MaxInt32
}
