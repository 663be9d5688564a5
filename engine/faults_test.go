package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A trial is one run of the tour with faults, and what it found out.
type trial struct {
	h    how
	seed uint64
	disk *fs.Crash
	a    *account
	w    *watch
}

func newTrial(h how, seed uint64, fail choice) *trial {
	t := &trial{h: h, seed: seed, disk: crashDisk(seed), a: &account{}}
	t.w = watched(t.disk, fail)
	return t
}

// over ends the faults.
func (t *trial) over() { t.disk.SetHook(nil) }

// run runs the tour, with the faults of its watch, up to an orderly stop or to whatever the faults make of it, and holds the
// engine and what cuts leave against what was promised.
func (t *trial) run() error {
	e, err := Open(tourOptions(t.disk, t.h))
	if err != nil {
		t.over()
		if !t.w.names(err) {
			return fmt.Errorf("open: the error does not name the fault: %w", err)
		}
		if e, err = Open(tourOptions(t.disk, t.h)); err != nil {
			return fmt.Errorf("open again: %w", err)
		}
		return e.Close()
	}
	tour, err := newTour(e, t.a, t.h, t.seed, &t.w.gate)
	if err == nil {
		err = tour.run()
	}
	if err == nil && e.Err() == nil && len(t.w.hits()) == 0 {
		return t.stop(e)
	}
	t.over()
	if err := t.judge(e, err); err != nil {
		return errors.Join(err, e.Close())
	}
	if err := t.cuts("after it all", fs.DropUnflushed, fs.KeepAll, fs.Random); err != nil {
		return errors.Join(err, e.Close())
	}
	if closed := e.Close(); e.Err() == nil && closed != nil {
		return fmt.Errorf("close: %w", closed)
	}
	return t.cuts("after the stop", fs.DropUnflushed)
}

// judge holds a running engine, on a disk on which nothing fails any more, against what was promised. failed is the first
// error that it gave.
func (t *trial) judge(e *Engine, failed error) error {
	switch {
	case e.Err() != nil:
		if !t.w.names(e.Err()) {
			return fmt.Errorf("offline, and the error does not name the fault: %w", e.Err())
		}
		return errors.Join(offlineServesFlushed(e), t.servedIsDurable(e))
	case failed != nil && !t.w.names(failed) && !errors.Is(failed, ErrNoSpace):
		return fmt.Errorf("the error does not name the fault: %w", failed)
	}
	for _, h := range t.w.hits() {
		if h.mustStop() {
			return fmt.Errorf("%v failed with %s, and the directory is not offline", h.call, h.fault.name)
		}
	}
	e.space.measure(e) // it does so each second
	if err := goesOn(e, t.a); e.Err() != nil {
		return t.judge(e, err) // a write-back whose failure it has only been told of now
	} else if err != nil {
		return err
	}
	if err := t.serves(e); err != nil {
		return err
	}
	if files := logs(t.disk.ClosedUnflushed()); len(files) > 0 {
		return fmt.Errorf("closed with unflushed writes: %v", files)
	}
	return nil
}

// mustStop reports whether a fault may not pass without taking the directory offline: of a write or flush of records.
func (h hit) mustStop() bool {
	if !strings.HasSuffix(h.call.name, ".log") || h.operation == "recovery" {
		return false
	}
	return h.op == fs.OpDatasync || h.op == fs.OpWriteDurable || h.op == fs.OpWrite && h.fault != delayed
}

func logs(names []string) (of []string) {
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			of = append(of, n)
		}
	}
	return of
}

// serves checks that all logs have what was acknowledged, and nothing that is not theirs.
func (t *trial) serves(e *Engine) error {
	now := t.a.now()
	for n, l := range t.a.ledgers(now, now, true) {
		log, _ := e.Log(n)
		if log != nil && log.Err() != nil {
			continue
		}
		if err := l.check(log); err != nil {
			return fmt.Errorf("%s, still running: %w", n, err)
		}
	}
	return nil
}

// servedIsDurable checks that what an engine serves would be there after a power cut at this moment.
func (t *trial) servedIsDurable(e *Engine) error {
	left := t.disk.Clone(fs.DropUnflushed)
	next, err := Open(crashOptions(left, t.h))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer next.Close()
	for _, l := range e.Logs() {
		got, _ := readable(l) // up to what cannot be read, which is not served
		there := map[string]int64{}
		if after, ok := next.Log(l.name); ok {
			all, err := contents(after)
			if err != nil {
				return fmt.Errorf("%s after a cut: %w", l.name, err)
			}
			for _, s := range all {
				there[s.id] = s.base
			}
		}
		for _, s := range got {
			if at, ok := there[s.id]; !ok || at != s.base {
				return fmt.Errorf("%s is offline and serves batch %s at offset %d, which a power cut takes away", l.name, s.id, s.base)
			}
		}
	}
	return nil
}

// stop stops an engine to which nothing has happened yet: that may fail, too.
func (t *trial) stop(e *Engine) error {
	err := e.Close()
	t.over()
	if err != nil && !t.w.names(err) {
		return fmt.Errorf("stop: the error does not name the fault: %w", err)
	}
	for _, h := range t.w.hits() {
		if err == nil && h.mustStop() {
			return fmt.Errorf("%v failed with %s, and the stop was in order", h.call, h.fault.name)
		}
	}
	return t.cuts("after the stop", fs.DropUnflushed, fs.KeepAll, fs.Random)
}

// cuts verifies what cuts at this moment leave.
func (t *trial) cuts(what string, policies ...fs.Policy) error {
	for _, p := range policies {
		now := t.a.now()
		c := cut{disk: t.disk.Clone(p), before: now, after: now, killed: p == fs.KeepAll}
		if err := c.verify(t.a, t.h); err != nil {
			return fmt.Errorf("%s, policy %d: %w", what, p, err)
		}
	}
	return errors.Join(t.disk.Violations()...)
}

// enumerate runs try for each fault of each spot, or of one in n of them, and returns how many did not come to their call: the
// order of calls differs a little from run to run.
func enumerate(all []spot, n int, try func(spot, fault) (bool, error)) (tried, missed int, err error) {
	type one struct {
		s spot
		f fault
	}
	var todo []one
	i := 0
	for _, s := range all {
		for _, f := range faultsOf(s.call) {
			if !wanted(s, f) {
				continue
			}
			if i++; len(only) > 0 || i%n == 0 {
				todo = append(todo, one{s, f})
			}
		}
	}
	var mu sync.Mutex
	var workers sync.WaitGroup
	for k := range trialsAtOnce {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for j := k; j < len(todo); j += trialsAtOnce {
				s, f := todo[j].s, todo[j].f
				hit, failed := try(s, f)
				mu.Lock()
				tried++
				if !hit {
					missed++
				}
				if failed != nil {
					err = errors.Join(err, fmt.Errorf("%v, number %d, fails with %s: %w", s.call, s.nth, f.name, failed))
				}
				enough := err != nil
				mu.Unlock()
				if enough {
					return
				}
			}
		}()
	}
	workers.Wait()
	return tried, missed, err
}

// trialsAtOnce is more than the processors that are there: a trial waits for timers, too.
const trialsAtOnce = 4

func TestEachDiskCallThatFailsOnceCostsNothingThatWasPromised(t *testing.T) {
	var sum tally
	t.Run("ways", func(t *testing.T) {
		for i, h := range ways {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				seed := uint64(400 + i)
				plain := newTrial(h, seed, nil)
				must(t, plain.run())
				all := plain.w.spots()
				tried, missed, err := enumerate(all, int(stride(173)), func(s spot, f fault) (bool, error) {
					x := newTrial(h, seed, once(s, f))
					err := x.run()
					hit := len(x.w.hits()) > 0
					if hit {
						sum.add(s.operation, f.name)
					}
					return hit, err
				})
				t.Logf("seed %d: %d calls; %d faults, of which %d found no such call", seed, len(all), tried, missed)
				must(t, err)
				if len(only) == 0 && missed > tried/4+5 {
					t.Errorf("%d of %d faults found no call to fail", missed, tried)
				}
			})
		}
	})
	t.Log(sum.String())
}

// cutStride is how many calls the cuts go on by: nearly all where the tests look for a planted bug.
func cutStride() int64 {
	if os.Getenv("ZURAU_MUTANT") != "" {
		return 2
	}
	return stride(19)
}

func TestAKillOrAPowerCutInFrontOfEachDiskCallTakesNothingThatWasPromised(t *testing.T) {
	var sum tally
	t.Run("ways", func(t *testing.T) {
		for i, h := range ways {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				x := newTrial(h, uint64(450+i), nil)
				k := newCuts(t, x.disk, x.a, 1, func(c *cut) error { return c.verify(x.a, h) })
				var calls atomic.Int64
				x.w.each = func(s spot) {
					if !s.op.Changes() || calls.Add(1)%cutStride() != 0 {
						return
					}
					for _, p := range []fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random} {
						k.take(p, fmt.Sprintf("before %v, number %d", s.call, s.nth))
						sum.add(s.operation, map[bool]string{true: "killed", false: "power cut"}[p == fs.KeepAll])
					}
				}
				e := open(t, tourOptions(x.disk, h))
				tour, err := newTour(e, x.a, h, x.seed, &x.w.gate)
				must(t, err)
				must(t, tour.run())
				must(t, e.Close())
				k.take(fs.DropUnflushed, "after an orderly stop")
				if err := errors.Join(append(k.finish(), k.rules())...); err != nil {
					t.Errorf("seed %d: %v", x.seed, err)
				}
				t.Logf("seed %d: %d cuts", x.seed, k.taken)
			})
		}
	})
	t.Log(sum.String())
}
