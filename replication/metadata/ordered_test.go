package metadata

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAnOrderedSetHoldsWhatWasAddedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set ordered
		want := map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			changes := map[string]bool{}
			first, n := rapid.IntRange(0, 2000).Draw(t, "first"), rapid.IntRange(0, 1500).Draw(t, "n")
			add, step := rapid.Bool().Draw(t, "add"), rapid.IntRange(1, 3).Draw(t, "step")
			for i := range n {
				changes[fmt.Sprintf("%05d", first+i*step)] = add
			}
			before := slices.Collect(set.from(""))
			next := set.with(changes)
			if !slices.Equal(slices.Collect(set.from("")), before) {
				t.Fatal("the old set changed")
			}
			set = next
			for name, add := range changes {
				if want[name] = add; !add {
					delete(want, name)
				}
			}
			checkOrdered(t, set, slices.Sorted(maps.Keys(want)), fmt.Sprintf("%05d", rapid.IntRange(0, 4000).Draw(t, "start")))
		}
	})
}

func checkOrdered(t *rapid.T, set ordered, want []string, start string) {
	if got := slices.Collect(set.from("")); !slices.Equal(got, want) {
		t.Fatalf("%d names, want %d", len(got), len(want))
	}
	i, _ := slices.BinarySearch(want, start)
	if got := slices.Collect(set.from(start)); !slices.Equal(got, want[i:]) {
		t.Fatalf("from %s: %d names, want %d", start, len(got), len(want)-i)
	}
	for _, chunk := range set.chunks {
		if len(chunk) == 0 || len(chunk) > chunkMax {
			t.Fatalf("a chunk of %d names", len(chunk))
		}
	}
}

func TestOneNameCopiesOneChunk(t *testing.T) {
	changes := map[string]bool{}
	for i := range 10_000 {
		changes[fmt.Sprintf("%05d", i)] = true
	}
	set := ordered{}.with(changes)
	next := set.with(map[string]bool{"05000x": true})
	shared := 0
	for _, chunk := range next.chunks {
		for _, old := range set.chunks {
			if &chunk[0] == &old[0] {
				shared++
			}
		}
	}
	if shared != len(set.chunks)-1 {
		t.Fatalf("%d of %d chunks are shared", shared, len(set.chunks))
	}
}
