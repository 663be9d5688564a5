package record

import (
	"math"
	"testing"
)

func TestAnEmptyBatchStandsForItsOffsets(t *testing.T) {
	for _, last := range []int64{7, 100, 7 + math.MaxInt32} {
		b := EmptyBatch(7, last, 3)
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records(0) {
			t.Errorf("a record: %v, %v", r, err)
		}
		if b.BaseOffset() != 7 || b.LastOffset() != last || b.Count() != 0 || b.PartitionLeaderEpoch() != 3 || b.ProducerID() != -1 ||
			b.MaxTimestamp() != -1 || b.IsControl() || b.IsTransactional() {
			t.Errorf("%x", []byte(b))
		}
	}
}
