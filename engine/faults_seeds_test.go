package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// byChance chooses one call in rate, with any of the faults that it may have, and most of them in all.
func byChance(rng *rand.Rand, rate, most int) choice {
	var mu sync.Mutex
	return func(s spot) (f fault, fails bool) {
		mu.Lock()
		defer mu.Unlock()
		if most == 0 || rng.IntN(rate) != 0 {
			return f, false
		}
		most--
		all := faultsOf(s.call)
		return all[rng.IntN(len(all))], true
	}
}

// ordeal runs the tour with some faults, and then recovers what a cut leaves, with some more, until a start comes through
// without one. It returns how many there were.
func ordeal(h how, seed uint64) (faults int, err error) {
	rng := rand.New(rand.NewPCG(seed, 6))
	t := newTrial(h, seed, byChance(rng, 50+rng.IntN(300), 1+rng.IntN(4)))
	err = t.run()
	faults = len(t.w.hits())
	if err != nil {
		return faults, fmt.Errorf("%v: %w", t.w.hits(), err)
	}
	now := t.a.now()
	killed := rng.IntN(2) == 0
	policy := fs.Random
	if killed {
		policy = fs.KeepAll
	}
	left := wreck{cut: cut{disk: t.disk.Clone(policy), before: now, after: now, killed: killed}}
	for range 3 {
		hits, err := left.recovers(t.a, h, byChance(rng, 20+rng.IntN(100), 3))
		faults += len(hits)
		if err != nil {
			return faults, fmt.Errorf("recovery, after %v: %v: %w", t.w.hits(), hits, err)
		}
	}
	return faults, nil
}

func TestSeveralFaultsInOneRunCostNothingThatWasPromised(t *testing.T) {
	seeds := 3
	if long() {
		seeds = 500
	}
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			total := 0
			for n := range seeds {
				seed := uint64(10_000*(i+1) + n)
				faults, err := ordeal(h, seed)
				total += faults
				if err != nil {
					t.Fatal(errors.Join(fmt.Errorf("seed %d", seed), err))
				}
			}
			t.Logf("seeds %d to %d: %d injected faults", 10_000*(i+1), 10_000*(i+1)+seeds-1, total)
		})
	}
}
