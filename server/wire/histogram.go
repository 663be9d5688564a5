package wire

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A Histogram counts durations. Its zero value is empty. To count one costs two additions.
type Histogram struct {
	counts [buckets + 1]atomic.Uint64
	nanos  atomic.Int64
}

// Each bucket ends at twice the one before: 100 µs to 26 s, and what is longer is behind the last.
const (
	firstBucket = 100 * time.Microsecond
	buckets     = 19
)

// Observe counts a duration.
func (h *Histogram) Observe(d time.Duration) {
	n := 0
	if d > 0 {
		n = min(bits.Len64(uint64((d-1)/firstBucket)), buckets)
	}
	h.counts[n].Add(1)
	h.nanos.Add(int64(d))
}

// Snapshot returns how many durations there are, their sum in seconds, and how many are at most as long as each bound, in
// seconds. The three are read one after the other.
func (h *Histogram) Snapshot() (count uint64, sum float64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, buckets)
	bound := firstBucket
	for i := range buckets {
		count += h.counts[i].Load()
		upTo[bound.Seconds()] = count
		bound *= 2
	}
	return count + h.counts[buckets].Load(), time.Duration(h.nanos.Load()).Seconds(), upTo
}
