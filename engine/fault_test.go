package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"golang.org/x/sys/unix"
)

// failing makes a disk fail one call, the n-th from 1 of all kinds. It returns the count of calls so far, and what
// the one that failed was.
func failing(disk *fs.Crash, n int64, fault error) (calls *atomic.Int64, what *atomic.Pointer[string]) {
	calls, what = new(atomic.Int64), new(atomic.Pointer[string])
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		if calls.Add(1) != n {
			return nil
		}
		s := fmt.Sprintf("%v %s", op, name)
		what.Store(&s)
		return fault
	})
	return calls, what
}

// stride is how many calls the enumerations go on by: all when there is time, primes that differ else.
func stride(short int64) int64 {
	if long() {
		return 1
	}
	return short
}

func TestADiskCallThatFailsOnceCostsNothingThatWasPromised(t *testing.T) {
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(400 + i)
			n := int64(1)
			for ; ; n += stride(37) {
				disk := crashDisk(seed)
				fault := []error{unix.EIO, unix.ENOSPC}[n/stride(37)%2]
				_, what := failing(disk, n, fault)
				if err := runFaulty(disk, h, seed); err != nil {
					t.Fatalf("seed %d, call %d fails with %v: %s: %v", seed, n, fault, text(what), err)
				}
				if what.Load() == nil {
					break
				}
			}
			t.Logf("seed %d: one in %d of %d calls", seed, stride(37), n)
		})
	}
}

func text(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return "nothing"
}

// runFaulty runs the script on a disk on which something fails, and sees that the engine does what it says of failures.
func runFaulty(disk *fs.Crash, h how, seed uint64) error {
	a := &account{}
	e, err := Open(crashOptions(disk, h))
	if err != nil {
		disk.SetHook(nil)
		if e, err = Open(crashOptions(disk, h)); err != nil {
			return fmt.Errorf("open again: %w", err)
		}
		return e.Close()
	}
	failed := script(e, h, a, seed, planted{})
	disk.SetHook(nil)
	if e.Err() != nil {
		err = offlineServesFlushed(e)
	} else if failed != nil {
		err = goesOn(e, a)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("after %w", errOr(failed)), err, e.Close())
	}
	k := &cuts{disk: disk, a: a}
	for _, p := range []fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random} {
		k.take(p, "after it all")
	}
	closed := e.Close()
	if e.Err() == nil && closed != nil {
		return fmt.Errorf("close: %w", closed)
	}
	k.take(fs.DropUnflushed, "after the stop")
	return errors.Join(append(k.verify(h, 2), disk.Violations()...)...)
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// offlineServesFlushed checks an engine that is offline: it takes nothing, and serves nothing that is not flushed.
func offlineServesFlushed(e *Engine) error {
	if !errors.Is(e.Err(), ErrOffline) {
		return fmt.Errorf("offline with %w", e.Err())
	}
	for _, l := range e.Logs() {
		if l.HighWatermark() > l.FlushedOffset() {
			return fmt.Errorf("%s: offline, and serves up to %d of %d flushed", l.name, l.HighWatermark(), l.FlushedOffset())
		}
		if r := appendOne(l, batchOf("late", 1, 0, testNow, -1, 0)); !errors.Is(r.Err, ErrOffline) && !errors.Is(r.Err, ErrDeleted) {
			return fmt.Errorf("%s: offline, and an append gets %+v", l.name, r)
		}
	}
	return nil
}

// goesOn checks an engine that refused something: the next tries succeed.
func goesOn(e *Engine, a *account) error {
	for _, l := range e.Logs() {
		a.add(event{kind: startMay, log: l.name, offset: l.LogEndOffset()}) // for the retention below
		if l.mu.deleted {
			if err := e.Delete(l.name); err != nil {
				return fmt.Errorf("%s: delete again: %w", l.name, err)
			}
			continue
		}
		if _, err := l.Read(l.LogStartOffset(), 1, true); err != nil {
			return err
		}
		if err := l.Flush(); err != nil {
			return fmt.Errorf("%s: flush: %w", l.name, err)
		}
	}
	return errors.Join(e.Retain(), e.Checkpoint())
}

func TestARecoveryMayFailAtAnyCallAndBeTriedAgain(t *testing.T) {
	for i, h := range []how{ways[0], ways[2]} {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(500 + i)
			k := runScript(t, seed, h, 40, fs.Faults{}, planted{})
			for j, c := range k.all {
				if j%int(stride(9)) == 0 {
					if err := recoverFaulty(k.a, c, h); err != nil {
						t.Fatalf("seed %d, %s: %v", seed, c.what, err)
					}
				}
			}
		})
	}
}

// recoverFaulty opens a disk with a failure at each call in turn, and then without, and then after another cut.
func recoverFaulty(a *account, c cut, h how) error {
	for n := int64(1); ; n += stride(17) {
		disk := c.disk.Clone(fs.KeepAll)
		calls, what := failing(disk, n, unix.EIO)
		e, err := Open(crashOptions(disk, h))
		disk.SetHook(nil)
		if err == nil {
			if err := e.Close(); err != nil && e.Err() == nil && e.Recovery().Offline == 0 {
				return fmt.Errorf("call %d, %s: close: %w", n, text(what), err)
			}
		}
		for _, again := range []*fs.Crash{disk.Clone(fs.DropUnflushed), disk} {
			next := cut{disk: again, before: c.before, after: c.after}
			if err := next.verify(a, h); err != nil {
				return fmt.Errorf("call %d, %s: %w", n, text(what), err)
			}
		}
		if n > calls.Load() {
			return nil
		}
	}
}
