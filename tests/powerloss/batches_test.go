package powerloss

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/zurau/zurau/engine/record"
)

// A batchID is what all of a batch follows from: its records, how many, how large. It is also its first timestamp, in
// milliseconds behind epoch, so that a batch that is found says which it is.
type batchID int64

const (
	epoch = 1_700_000_000_000
	// perRound is above the number of batches of one round.
	perRound = 1_000_000
)

func (id batchID) round() int { return int(id / perRound) }

// build makes the batch of an id in a log. One of twenty is of one record of up to large bytes.
func (id batchID) build(log string, large int) record.Batch {
	h := fnv.New64a()
	h.Write([]byte(log))
	rng := rand.New(rand.NewPCG(h.Sum64(), uint64(id)))
	n, most := 1+rng.IntN(20), 400
	if rng.IntN(20) == 0 {
		n, most = 1, large
	}
	b := record.NewBuilder(record.None)
	for i := range n {
		value := make([]byte, 1+rng.IntN(most))
		for at := range value {
			value[at] = byte(rng.Uint32())
		}
		b.Add(epoch+int64(id)+int64(i), fmt.Appendf(nil, "%d/%d", id, i), value)
	}
	return b.Bytes()
}

// prepared is the batch, ready to be appended.
func (id batchID) prepared(log string, large int) *record.Prepared {
	p := new(record.Prepared)
	if err := p.Prepare(id.build(log, large), record.DefaultRules(epoch+int64(id))); err != nil {
		panic(err)
	}
	return p
}

const (
	lengthAt = 8  // behind the base offset, which the log gives
	epochAt  = 12 // of the leader
	magicAt  = 16
)

// idOf says which batch this is, where all of its bytes are those that were appended.
func idOf(log string, large int, b record.Batch) (batchID, error) {
	id := batchID(b.BaseTimestamp() - epoch)
	if id < 0 {
		return id, fmt.Errorf("offset %d: a batch of nobody", b.BaseOffset())
	}
	want := id.build(log, large)
	if len(want) != len(b) || !bytes.Equal(b[lengthAt:epochAt], want[lengthAt:epochAt]) || !bytes.Equal(b[magicAt:], want[magicAt:]) {
		return id, fmt.Errorf("offset %d: not the bytes of batch %d of %s", b.BaseOffset(), id, log)
	}
	return id, nil
}
