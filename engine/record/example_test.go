package record_test

import (
	"fmt"

	"github.com/zurau/zurau/engine/record"
)

// A log takes what a producer sent, gives it offsets, and a reader gets the records back.
func Example() {
	sent := record.NewBuilder(record.Zstd).
		Add(1_700_000_000_000, []byte("k"), []byte("one")).
		Add(1_700_000_000_005, nil, []byte("two"), record.Header{Key: "h", Value: []byte("1")}).
		Bytes()

	var p record.Prepared // one for each goroutine that prepares, used again and again
	if err := p.Prepare(sent, record.DefaultRules(1_700_000_001_000)); err != nil {
		fmt.Println(err)
		return
	}
	next := int64(42)
	for i, info := range p.Batches {
		p.Batch(i).SetBaseOffset(next)
		p.Batch(i).SetPartitionLeaderEpoch(7)
		next += int64(info.LastOffsetDelta) + 1
	}

	for log := p.Bytes; len(log) > 0; {
		batch, rest, err := record.Next(log)
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for r, err := range batch.Records(0) {
			fmt.Printf("%d %q %q %d %v\n", r.Offset, r.Key, r.Value, len(r.Headers), err)
		}
		log = rest
	}
	// Output:
	// 42 "k" "one" 0 <nil>
	// 43 "" "two" 1 <nil>
}
