package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/zurau/zurau/engine/fs"
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

func text(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return "nothing"
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

func errOr(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}
