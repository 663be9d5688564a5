package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// TestReadersOfCommittedRecordsNeverSeeAbortedOnes lets readers run after transactions, over rolls, checkpoints, retention and
// truncations. Producers of odd ids abort always, those of even ids commit.
func TestReadersOfCommittedRecordsNeverSeeAbortedOnes(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		c := small()
		c.Writer = h.writer
		l := b.create("t", c)
		var stop atomic.Bool
		var readers sync.WaitGroup
		for i := range 3 {
			readers.Add(1)
			go func() {
				defer readers.Done()
				for at := int64(0); !stop.Load(); {
					next, err := followed(l, at, i == 0)
					if errors.Is(err, ErrOffsetOutOfRange) {
						next, err = l.LogStartOffset(), nil
					}
					if err != nil {
						t.Errorf("%s: %v", h.name, err)
						return
					}
					if at = next; at == l.LastStableOffset() && i == 2 {
						at = l.LogStartOffset() // once more
					}
				}
			}()
		}
		for n := range int32(150) {
			id := int64(n % 6)
			b.add(l, inTxn(id, nextOf(l, id), 1+int(n%3)))
			if n%2 == 0 {
				b.end(l, id, id%2 == 0)
			}
			switch n % 50 {
			case 20:
				must(t, b.e.Checkpoint())
			case 30:
				must(t, l.Truncate(l.LogEndOffset()-4))
			case 40:
				_, err := l.DeleteRecordsTo((l.LogStartOffset() + l.HighWatermark()) / 2)
				must(t, err)
				must(t, b.e.Retain())
			}
		}
		stop.Store(true)
		readers.Wait()
		b.stop()
	}
}

func nextOf(l *Log, id int64) int32 {
	for _, p := range l.Producers() {
		if p.ID == id {
			return p.LastSequence + 1
		}
	}
	return 0
}

// followed reads once, and returns where to go on.
func followed(l *Log, at int64, noWait bool) (int64, error) {
	read := l.ReadCommitted
	if noWait {
		read = l.ReadCommittedNoWait
	}
	c, err := read(at, 200+rand.IntN(2000), true)
	if errors.Is(err, ErrWouldBlock) {
		c, err = l.ReadCommitted(at, 1<<20, true)
	}
	if err != nil {
		return at, err
	}
	defer c.Release()
	buf, err := c.Bytes()
	if err != nil {
		return at, err
	}
	kept := keeper{aborted: c.Aborted}
	for len(buf) > 0 {
		batch, rest, err := record.Next(buf)
		if err != nil {
			break // cut off by the limit
		}
		if kept.keeps(batch) && !batch.IsControl() && batch.ProducerID()%2 == 1 {
			return at, fmt.Errorf("aborted records of producer %d at offset %d are shown: read from %d to %d, aborted %v",
				batch.ProducerID(), batch.BaseOffset(), at, c.LastStableOffset, c.Aborted)
		}
		if batch.LastOffset() >= c.LastStableOffset {
			return at, fmt.Errorf("records up to %d, and the last stable offset is %d", batch.LastOffset(), c.LastStableOffset)
		}
		buf, at = rest, batch.LastOffset()+1
	}
	return at, nil
}
