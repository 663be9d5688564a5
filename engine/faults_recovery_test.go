package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A wreck is a disk that a cut left, with what is promised of it, and the calls that a recovery of it makes.
type wreck struct {
	cut
	spots []spot
}

// wrecks runs the tour and keeps the disks whose recovery meets a state of the table or makes a kind of call that those before
// did not: a few out of the cuts at every n-th call.
func wrecks(t *testing.T, h how, seed uint64, n int) (a *account, kept []wreck) {
	t.Helper()
	disk, a := crashDisk(seed), &account{}
	var mu sync.Mutex
	known := map[string]bool{}
	k := newCuts(t, disk, a, 1, func(c *cut) error {
		clone := c.disk.Clone(fs.KeepAll)
		w := watched(clone, nil)
		e, err := Open(crashOptions(clone, h))
		if err != nil {
			return err
		}
		clone.SetHook(nil)
		mu.Lock()
		defer mu.Unlock()
		before := len(known)
		for s := range e.Recovery().States {
			known[string(s)] = true
		}
		spots := w.spots()
		for _, s := range spots {
			known[fmt.Sprint(s.op, filepath.Ext(s.name))] = true
		}
		if len(known) > before {
			kept = append(kept, wreck{*c, spots})
		}
		return e.Close()
	})
	k.everyCall(n, fs.KeepAll, fs.Random, fs.DropUnflushed)
	e := open(t, tourOptions(disk, h))
	tour, err := newTour(e, a, h, seed, new(gate))
	must(t, err)
	must(t, tour.run())
	must(t, e.Close())
	k.take(fs.DropUnflushed, "after an orderly stop")
	must(t, errors.Join(k.finish()...))
	t.Logf("seed %d: %d of %d cuts, for %d states and kinds of calls", seed, len(kept), k.taken, len(known))
	return a, kept
}

// recovers opens a wreck with faults, holds what is served against what was promised, and recovers it once more from what a kill,
// a power cut and an orderly stop leave then.
func (x wreck) recovers(a *account, h how, fail choice) (hits []hit, err error) {
	disk := x.disk.Clone(fs.KeepAll)
	w := watched(disk, fail)
	e, err := Open(crashOptions(disk, h))
	disk.SetHook(nil)
	if err != nil && !w.names(err) {
		return w.hits(), fmt.Errorf("open: the error does not name the fault: %w", err)
	}
	left := []*fs.Crash{disk.Clone(fs.DropUnflushed), disk.Clone(fs.KeepAll), disk}
	if err == nil {
		if err := x.opened(e, a, w); err != nil {
			return w.hits(), errors.Join(err, e.Close())
		}
		if err := e.Close(); err != nil && e.Err() == nil && e.Recovery().Offline == 0 {
			return w.hits(), fmt.Errorf("close: %w", err)
		}
	}
	for i, d := range left {
		// A power cut takes what async acknowledged and the killed process had not flushed.
		next := cut{disk: d, before: x.before, after: x.after, killed: x.killed && i > 0}
		if err := next.verify(a, h); err != nil {
			return w.hits(), fmt.Errorf("after %s: %w", []string{"a power cut", "a kill", "the stop"}[i], err)
		}
	}
	return w.hits(), errors.Join(disk.Violations()...)
}

// opened checks an engine whose recovery came through: a log that could not be read says so and serves nothing, and all others
// have what was promised.
func (x wreck) opened(e *Engine, a *account, w *watch) error {
	for n, l := range a.ledgers(x.before, x.after, x.killed) {
		log, _ := e.Log(n)
		if log == nil || log.Err() == nil {
			if err := l.check(log); err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
			continue
		}
		if !errors.Is(log.Err(), ErrOffline) || !w.names(log.Err()) {
			return fmt.Errorf("%s: offline, and the error does not name the fault: %w", n, log.Err())
		}
		if _, err := log.Read(log.LogStartOffset(), 1, true); !errors.Is(err, ErrOffline) {
			return fmt.Errorf("%s: offline, and a read gets %w", n, errOr(err))
		}
	}
	return nil
}

func TestARecoveryMayFailAtAnyCallAndBeTriedAgain(t *testing.T) {
	var sum tally
	t.Run("ways", func(t *testing.T) {
		for i, h := range []how{ways[0], ways[2]} {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				seed := uint64(500 + i)
				a, kept := wrecks(t, h, seed, int(stride(29)))
				for _, x := range kept {
					tried, missed, err := enumerate(x.spots, int(stride(211)), func(s spot, f fault) (bool, error) {
						hits, err := x.recovers(a, h, once(s, f))
						if len(hits) > 0 {
							sum.add("recovery", f.name)
						}
						return len(hits) > 0, err
					})
					if err != nil {
						t.Fatalf("seed %d, %s: %v", seed, x.what, err)
					}
					if missed > 0 {
						t.Logf("%s: %d of %d faults found no call to fail", x.what, missed, tried)
					}
				}
			})
		}
	})
	t.Log(sum.String())
}
