package logfile

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
)

// TestRandomDamageIsRepairedAndCostsOnlyWhatItHit hurts a log at random, lets a repair skip the damage, and expects each batch
// that was not hit, below the recovery point, to be served, and nothing that is not what was written.
func TestRandomDamageIsRepairedAndCostsOnlyWhatItHit(t *testing.T) {
	rounds := 30
	if os.Getenv("ZURAU_LONG") != "" {
		rounds = 2000
	}
	seed := uint64(time.Now().UnixNano())
	for round := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, round))
		h := how{sync: rng.IntN(2) == 0, clean: rng.IntN(2) == 0}
		d := make1(t, h)
		hit := map[int64]bool{}
		for range 1 + rng.IntN(4) {
			d.hurt(rng, hit)
		}
		if rng.IntN(4) == 0 {
			d.remove(d.at(checkpoint.LogStarts))
		}
		plan := d.repair(Repair{Choice: Skip})
		_, l := d.start()
		if l == nil || l.Err() != nil {
			t.Fatalf("seed %d, round %d: %v, after %v", seed, round, l.Err(), plan.Steps)
		}
		got := offsets(t, l, 100)
		for o := range int64(60) {
			if !hit[o] && !slices.Contains(got, o) {
				t.Errorf("seed %d, round %d: offset %d was not hit, and is gone: %v; hit were %v", seed, round, o, plan.Steps, hit)
			}
		}
		states, problems := d.verify()
		for _, s := range chosen {
			if states[s] > 0 {
				t.Errorf("seed %d, round %d: %s is left: %v", seed, round, s, problems)
			}
		}
		if t.Failed() {
			return
		}
		e, _ := engine.Open(engine.Options{Dir: d.root})
		if e != nil {
			t.Fatal("two engines on one directory")
		}
	}
}

// hurt changes bytes of a batch below the recovery point, and notes which.
func (d *made) hurt(rng *rand.Rand, hit map[int64]bool) {
	offset := rng.Int64N(60)
	if hit[offset] {
		return
	}
	path, at, size := d.batchAt(offset)
	hit[offset] = true
	d.change(path, func(b []byte) []byte {
		batch := b[at : at+size]
		switch rng.IntN(5) {
		case 0: // a bit, anywhere but in the leader epoch, which nothing covers
			i := rng.IntN(len(batch))
			if i < 12 || i >= 16 {
				batch[i] ^= 1 << rng.IntN(8)
			} else {
				batch[40] ^= 1
			}
		case 1: // all of it
			clear(batch)
		case 2: // a sector's worth of something else
			for i := range batch[:rng.IntN(len(batch))] {
				batch[i] = byte(rng.Uint32())
			}
		case 3: // taken out
			return append(b[:at:at], b[at+size:]...)
		case 4: // something is put before it
			junk := make([]byte, 1+rng.IntN(300))
			for i := range junk {
				junk[i] = byte(rng.Uint32())
			}
			return slices.Insert(b, int(at), junk...)
		}
		return b
	})
}
