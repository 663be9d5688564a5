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
	number        int // of those of a workload
	before, after int
	what          string
	killed        bool // the kernel went on: what async acknowledged is there, too
}

// cuts takes cuts of a disk while a workload runs on it. Each is checked while the workload goes on, and let go: thousands of
// disks would not fit into memory. Where the checks are behind, the workload waits.
type cuts struct {
	disk   *fs.Crash
	a      *account
	queue  chan cut
	checks sync.WaitGroup
	end    sync.Once

	mu     sync.Mutex
	taken  int
	enough int // errors
	errs   []error
}

// newCuts has check look at every cut that is taken, until it has found enough errors.
func newCuts(t *testing.T, disk *fs.Crash, a *account, enough int, check func(*cut) error) *cuts {
	t.Helper()
	k := &cuts{disk: disk, a: a, queue: make(chan cut), enough: enough}
	for range 2 {
		k.checks.Add(1)
		go func() {
			defer k.checks.Done()
			for c := range k.queue {
				if k.isEnough() {
					continue
				}
				if err := check(&c); err != nil {
					k.mu.Lock()
					k.errs = append(k.errs, fmt.Errorf("%s: %w", c.what, err))
					k.mu.Unlock()
				}
			}
		}()
	}
	t.Cleanup(func() { k.finish() })
	return k
}

func (k *cuts) isEnough() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.errs) >= k.enough
}

func (k *cuts) take(p fs.Policy, what string) {
	if k.isEnough() {
		return
	}
	before := k.a.now()
	clone := k.disk.Clone(p)
	c := cut{disk: clone, before: before, after: k.a.now(), killed: p == fs.KeepAll}
	c.what = fmt.Sprintf("%s, %s", what, [...]string{"unflushed dropped", "all kept", "random"}[p])
	k.mu.Lock()
	c.number = k.taken
	k.taken++
	k.mu.Unlock()
	k.queue <- c
}

// finish returns the first errors of the checks, when all are done. No cut may be taken after it.
func (k *cuts) finish() []error {
	k.end.Do(func() {
		k.disk.SetHook(nil)
		close(k.queue)
	})
	k.checks.Wait()
	return k.errs[:min(len(k.errs), k.enough)]
}

// verified has the cuts of a disk verified.
func verified(t *testing.T, disk *fs.Crash, h how, enough int) *cuts {
	t.Helper()
	a := &account{}
	return newCuts(t, disk, a, enough, func(c *cut) error { return c.verify(a, h) })
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
		err := l.check(log)
		if err == nil && log != nil {
			err = eachFound(log, 3)
		}
		if err != nil {
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
		if err := errors.Join(goOn(l), eachFound(l, 1)); err != nil {
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
	for i := range 3 { // where others were before a cut, and not of their sizes
		if r := appendOne(l, batchOf(fmt.Sprint("more", i), 1, 90*i, testNow, -1, 0)); r.Err != nil {
			return r.Err
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

// runScript runs the script on the disk of k, with cuts at every n-th call.
func runScript(t *testing.T, k *cuts, seed uint64, h how, n int, plant planted) {
	t.Helper()
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
			k := verified(t, crashDisk(seed), h, 5)
			runScript(t, k, seed, h, n, planted{})
			if err := errors.Join(append(k.finish(), k.rules())...); err != nil {
				t.Error(err)
			}
			t.Logf("seed %d: %d cuts", seed, k.taken)
		})
	}
}
