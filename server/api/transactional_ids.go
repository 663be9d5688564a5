package api

import (
	"container/list"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
)

// transactionalIDs remembers who produces under a transactional id, so that who initialises it again gets the same
// producer id with a higher epoch, and who comes back with an older one is fenced.
//
// Transactions themselves are not served: nothing can be added to one, so there is nothing that would have to be ended,
// and nothing is written. Ids are forgotten when the broker stops, or when others need the room: who initialises one
// then is new, as in Kafka after transactional.id.expiration.ms. The zero value is ready.
type transactionalIDs struct {
	mu    sync.Mutex
	byID  map[string]*list.Element
	order list.List // of *transactionalID, the one that was used last in front
	bytes int
}

// maxTransactionalBytes bounds what all ids take together, in bytes of ids and their places: anybody may send ids of any
// length. It is enough for 100,000 of ordinary length.
const maxTransactionalBytes = 16 << 20

// placeBytes is about what an id takes beside its own bytes.
const placeBytes = 128

type transactionalID struct {
	id          string
	at          idAndEpoch
	before      int64 // the producer id before the last change of it, -1: none
	beforeEpoch int16 // the epoch before the last raise, where its producer asked for it by its epoch; -1: somebody else did
}

// exhausted says that an epoch has none after it: the last one is kept for the broker to fence with, as in Kafka.
func exhausted(epoch int16) bool { return epoch >= math.MaxInt16-1 }

// init returns the producer for an id. expected is who the client believes it is, or -1, -1. fresh gives a producer id
// that nobody had, without waiting; where it has none, nothing has changed and init returns false.
func (t *transactionalIDs) init(id string, expected idAndEpoch, fresh func() (int64, bool)) (p idAndEpoch, code int16, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[id]
	if e == nil {
		n, ok := fresh()
		if !ok {
			return idAndEpoch{}, 0, false
		}
		t.add(&transactionalID{id: id, at: idAndEpoch{n, 0}, before: -1, beforeEpoch: -1})
		return idAndEpoch{n, 0}, 0, true
	}
	t.order.MoveToFront(e)
	return e.Value.(*transactionalID).raise(expected, fresh)
}

// raise raises the epoch, or takes a new producer id where there is no epoch left.
//
//	the client names           then
//	nobody                     a new owner: whoever comes with the epoch before is fenced
//	the newest epoch           the same owner goes on, after an error
//	the epoch before, which    the same request once more, its answer was lost: the same answer
//	asked for the newest
//	anything else              fenced
func (t *transactionalID) raise(expected idAndEpoch, fresh func() (int64, bool)) (p idAndEpoch, code int16, ok bool) {
	named := expected != (idAndEpoch{-1, -1})
	retried := named && expected.epoch == t.beforeEpoch && expected.epoch != t.at.epoch
	switch {
	case named && expected.id != t.at.id && !(expected.id == t.before && exhausted(expected.epoch)),
		named && expected.epoch != t.at.epoch && !retried:
		return idAndEpoch{-1, -1}, kerr.ProducerFenced.Code, true
	case retried:
		return t.at, 0, true
	}
	next := idAndEpoch{t.at.id, t.at.epoch + 1}
	if exhausted(t.at.epoch) {
		n, ok := fresh()
		if !ok {
			return idAndEpoch{}, 0, false
		}
		t.before, next = t.at.id, idAndEpoch{n, 0}
	}
	t.beforeEpoch = -1
	if named {
		t.beforeEpoch = t.at.epoch
	}
	t.at = next
	return next, 0, true
}

// add adds an id, and forgets those that were not used for the longest time where there are too many. t is locked.
func (t *transactionalIDs) add(id *transactionalID) {
	if t.byID == nil {
		t.byID = make(map[string]*list.Element)
	}
	t.byID[id.id] = t.order.PushFront(id)
	t.bytes += len(id.id) + placeBytes
	for t.bytes > maxTransactionalBytes && t.order.Len() > 1 {
		old := t.order.Remove(t.order.Back()).(*transactionalID)
		delete(t.byID, old.id)
		t.bytes -= len(old.id) + placeBytes
	}
}
