package engine

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// long says that the tests may take minutes.
func long() bool { return os.Getenv("ZURAU_LONG") == "1" }

// A cut is a disk after a power cut, or the end of the process alone, and how many events there were before and after it.
type cut struct {
	disk          *fs.Crash
	before, after int
	what          string
	killed        bool // the kernel went on: what async acknowledged is there, too
}

// cuts takes cuts of a disk while a workload runs on it.
type cuts struct {
	disk *fs.Crash
	a    *account
	mu   sync.Mutex
	all  []cut
}

func (k *cuts) take(p fs.Policy, what string) {
	before := k.a.now()
	clone := k.disk.Clone(p)
	c := cut{clone, before, k.a.now(), fmt.Sprintf("%s, %s", what, [...]string{"unflushed dropped", "all kept", "random"}[p]), p == fs.KeepAll}
	k.mu.Lock()
	k.all = append(k.all, c)
	k.mu.Unlock()
}

// everyCall takes cuts before each n-th call that changes the disk.
func (k *cuts) everyCall(n int, policies ...fs.Policy) {
	k.disk.SetHook(func(op fs.Op, name string, call int) error {
		if op.Changes() && call%n == 0 {
			for _, p := range policies {
				k.take(p, fmt.Sprintf("before call %d, %v %s", call, op, name))
			}
		}
		return nil
	})
}

// verify opens an engine on the disk of a cut and holds it against the account, then goes on with it: producers retry and
// go on, and more cuts and an orderly stop follow.
func (c *cut) verify(a *account, h how) error {
	e, err := Open(crashOptions(c.disk, h))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for n, l := range a.ledgers(c.before, c.after, c.killed) {
		log, _ := e.Log(n)
		if err := l.check(log); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", n, err), e.Close())
		}
	}
	for _, l := range e.Logs() {
		if err := guarded(c.disk, l, false); err != nil {
			return errors.Join(err, e.Close())
		}
	}
	// What a recovery serves has to be there after the next cut, too.
	if err := sameAfter(e, c.disk, fs.DropUnflushed, h); err != nil {
		return errors.Join(fmt.Errorf("a cut right after recovery: %w", err), e.Close())
	}
	for _, l := range e.Logs() {
		l.SetConfig(crashConfig(h, true))
		if err := goOn(l); err != nil {
			return errors.Join(fmt.Errorf("%s goes on: %w", l.name, err), e.Close())
		}
	}
	err = sameAfter(e, c.disk, fs.Random, h)
	if err == nil {
		err = errors.Join(append(c.disk.Violations(), e.Err())...)
	}
	return errors.Join(err, e.Close())
}

// goOn has each producer of a log send its last batch again, which must be found to be a duplicate, and the next one.
func goOn(l *Log) error {
	all, err := contents(l)
	if err != nil {
		return err
	}
	last := map[int64]stored{}
	for _, s := range all {
		if s.b.ProducerID() >= 0 {
			last[s.b.ProducerID()] = s
		}
	}
	for id, s := range last {
		again := batchOf(s.id, int(s.last-s.base)+1, 0, testNow, id, s.b.BaseSequence())
		if r := appendOne(l, again); r.Err != nil || !r.Duplicate || r.BaseOffset != s.base || r.LastOffset != s.last {
			return fmt.Errorf("producer %d sent batch %s at offset %d again: %+v", id, s.id, s.base, r)
		}
		end := l.LogEndOffset()
		next := batchOf(s.id+"+", 1, 0, testNow, id, s.b.LastSequence()+1)
		if r := appendOne(l, next); r.Err != nil || r.Duplicate || r.BaseOffset != end {
			return fmt.Errorf("producer %d went on after %s: %+v", id, s.id, r)
		}
	}
	return nil
}

func appendOne(l *Log, p *record.Prepared) Appended {
	done := make(chan Appended, 1)
	l.Append(p, 0, func(a Appended) { done <- a })
	return <-done
}

// sameAfter holds what a recovery after one more cut finds against what the engine serves now.
func sameAfter(e *Engine, disk *fs.Crash, p fs.Policy, h how) (err error) {
	second, err := Open(crashOptions(disk.Clone(p), h))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	for _, l := range e.Logs() {
		want, err := contents(l)
		if err != nil {
			return err
		}
		l2, ok := second.Log(l.name)
		if !ok && len(want) == 0 {
			continue
		}
		if !ok {
			return fmt.Errorf("%s is gone", l.name)
		}
		got, err := contents(l2)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if err := same(got, want); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func same(got, want []stored) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d batches, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].id != want[i].id || got[i].base != want[i].base {
			return fmt.Errorf("batch %s at offset %d, want %s at %d", got[i].id, got[i].base, want[i].id, want[i].base)
		}
	}
	return nil
}

// runScript runs the script on a disk, with cuts at every n-th call.
func runScript(t *testing.T, seed uint64, h how, n int, f fs.Faults, plant planted) *cuts {
	t.Helper()
	k := &cuts{disk: crashDisk(seed), a: &account{}}
	k.disk.SetFaults(f)
	k.everyCall(n, fs.DropUnflushed, fs.KeepAll, fs.Random)
	e, err := Open(crashOptions(k.disk, h))
	if err != nil {
		t.Fatal(err)
	}
	if err := script(e, h, k.a, seed, plant); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	k.take(fs.DropUnflushed, "after an orderly stop")
	k.disk.SetHook(nil)
	return k
}

// verify verifies the cuts that were taken, until some errors are found.
func (k *cuts) verify(h how, enough int) (errs []error) {
	for _, c := range k.all {
		if err := c.verify(k.a, h); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
		}
		if len(errs) == enough {
			break
		}
	}
	return errs
}

// rules returns what the disk that the workload ran on has to say of how it was used.
func (k *cuts) rules() error {
	errs := k.disk.Violations()
	if files := closedUnflushed(k.disk); len(files) > 0 {
		errs = append(errs, fmt.Errorf("closed with unflushed writes: %v", files))
	}
	return errors.Join(errs...)
}

func TestACutBeforeAnyDiskCallKeepsWhatWasPromised(t *testing.T) {
	n := 17
	if long() {
		n = 1
	}
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(100 + i)
			k := runScript(t, seed, h, n, fs.Faults{}, planted{})
			t.Logf("seed %d: %d cuts", seed, len(k.all))
			if err := errors.Join(append(k.verify(h, 5), k.rules())...); err != nil {
				t.Error(err)
			}
		})
	}
}
