package suite

import (
	"slices"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/record"
)

func TestABatchHasItsSizeAndIsGoodAlsoWithAStamp(t *testing.T) {
	for _, n := range []int64{smallest, 100, 1000, 4096, 16 << 10, 64 << 10, 1 << 20} {
		for _, size := range []int64{8, 100, 1000, 100000} {
			b, err := newBatch(n, size)
			if err != nil {
				t.Fatalf("%d bytes of records of %d: %v", n, size, err)
			}
			if l := int64(len(b.bytes)); l > n || l < n-3 {
				t.Errorf("%d bytes for %d", l, n)
			}
			due := time.Unix(12, 345)
			b.stamp(due)
			var p record.Prepared
			if err := p.Prepare(slices.Clone(b.bytes), rules()); err != nil {
				t.Fatalf("%d bytes of records of %d: %v", n, size, err)
			}
			seen := 0
			log := slices.Concat(b.bytes, b.bytes, b.bytes[:len(b.bytes)-1])
			if got := b.stamps(log, func(at time.Time, bytes int64) {
				if seen++; !at.Equal(due) || bytes != int64(len(b.bytes)) {
					t.Errorf("a stamp of %v", at)
				}
			}); got != 2 || seen != 2 {
				t.Errorf("%d stamps", got)
			}
		}
	}
	for _, bad := range [][2]int64{{smallest - 1, 1000}, {4096, 7}} {
		if _, err := newBatch(bad[0], bad[1]); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
