package engine

import (
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// Each of these bugs was put in, on the disk or in the engine, and has to be found: else the tests above prove nothing.
func TestTheCrashCheckFindsPlantedBugs(t *testing.T) {
	for _, bug := range []struct {
		name   string
		faults fs.Faults
		plant  planted
		ways   []how
	}{
		{"the flush is taken out", fs.Faults{IgnoreDatasync: true}, planted{}, []how{ways[0], ways[3]}},
		{"durable writes are not", fs.Faults{IgnoreDurable: true}, planted{}, []how{ways[1], ways[2]}},
		{"names are not flushed", fs.Faults{IgnoreSyncDir: true}, planted{}, ways},
		{"an answer leaves before the flush", fs.Faults{}, planted{early: true}, ways},
		{"a duplicate is answered before the original is flushed", fs.Faults{}, planted{doubled: true}, ways},
	} {
		for i, h := range bug.ways {
			t.Run(bug.name+", "+h.name, func(t *testing.T) {
				t.Parallel()
				seed := uint64(200 + i)
				k := verified(t, crashDisk(seed), h, 1)
				k.disk.SetFaults(bug.faults)
				runScript(t, k, seed, h, 5, bug.plant)
				errs := k.finish()
				if len(errs) == 0 {
					t.Fatalf("seed %d: %d cuts and nothing was found", seed, k.taken)
				}
				t.Logf("seed %d: %v", seed, errs[0])
			})
		}
	}
}
