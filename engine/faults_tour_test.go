package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// A tour is a workload that comes to every kind of disk call that the engine makes, and is short, since it is run once for
// each call and fault. Appends to its three logs come at the same time, so that direct writes are in flight beside each other.
type tour struct {
	e                  *Engine
	a                  *account
	h                  how
	gate               *gate
	sync, async, plain *client
}

// A gate holds writes to log files back until all appends of a round were made.
type gate struct{ shut atomic.Pointer[chan struct{}] }

func (g *gate) pass(op fs.Op, name string) {
	if ch := g.shut.Load(); ch != nil && (op == fs.OpWrite || op == fs.OpWriteDurable) && strings.HasSuffix(name, ".log") {
		<-*ch
	}
}

// tourOptions have descriptors closed, memory in the stage, and checkpoints of single logs.
func tourOptions(disk fs.FS, h how) Options {
	o := crashOptions(disk, h)
	o.Descriptors = 4 // two for three logs' writers, and two for readers
	o.CheckpointBytes = 8 << 10
	return o
}

func tourConfig(h how, sync bool) Config {
	c := crashConfig(h, sync)
	c.SegmentBytes, c.IndexInterval = 3<<10, 200
	return c
}

func newTour(e *Engine, a *account, h how, seed uint64, g *gate) (*tour, error) {
	t := &tour{e: e, a: a, h: h, gate: g}
	var errs []error
	for i, c := range []**client{&t.sync, &t.async, &t.plain} {
		l, err := newClient(e, a, []string{"sync", "async", "plain"}[i], tourConfig(h, i != 1), rand.New(rand.NewPCG(seed, uint64(i))),
			[]int64{7, 8, -1}[i], planted{})
		*c = l
		errs = append(errs, err)
	}
	return t, errors.Join(errs...)
}

// run goes all the way, or to the first error.
func (t *tour) run() error {
	for i, step := range []func() error{
		t.round,
		t.e.Checkpoint,
		t.round,
		func() error { return t.replaceTail(t.plain) },
		func() error { return t.flush(t.async) },
		t.round,
		func() error { return t.replaceTail(t.sync) },
		func() error { return cutBack(t.a, t.async, 3) },
		func() error { return t.cutUnderReader(t.plain) },
		t.round,
		func() error { return retire(t.e, t.a, t.sync, 1500) },
		func() error { return deleteRecords(t.a, t.plain) },
		func() error { return t.change(t.async) },
		t.round,
		t.e.Checkpoint,
		func() error { return recreate(t.e, t.a, t.plain, tourConfig(t.h, true), planted{}) },
		func() error { return cutBack(t.a, t.sync, 6) },
		t.round,
		func() error { return t.change(t.async) },
		t.round,
		t.look,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// round appends to all logs at once, twice.
func (t *tour) round() error {
	for range 2 {
		shut := make(chan struct{})
		t.gate.shut.Store(&shut)
		var waits []func() error
		for _, c := range []*client{t.sync, t.async, t.plain} {
			waits = append(waits, c.start())
		}
		t.gate.shut.Store(nil)
		close(shut)
		var errs []error
		for _, wait := range waits {
			errs = append(errs, wait())
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for _, c := range []*client{t.sync, t.async, t.plain} {
			c.look()
		}
	}
	return nil
}

// replaceTail takes two of three batches of one size off and puts one of that size in their place, so that nothing but the cut
// ends the log where it should: what is left of the old ones would go on from there.
func (t *tour) replaceTail(c *client) error {
	for _, n := range []int{3, 1} {
		for range n {
			if err := c.sendSized(1, 200); err != nil {
				return err
			}
			c.look()
		}
		if n == 3 {
			if err := cutBack(t.a, c, 2); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutUnderReader truncates a log while a reader holds the file.
func (t *tour) cutUnderReader(c *client) error {
	r, err := c.log.Read(c.log.HighWatermark()-1, 100, true)
	if err != nil {
		return err
	}
	defer r.Release()
	return cutBack(t.a, c, 2)
}

func (t *tour) flush(c *client) error {
	end := c.log.LogEndOffset()
	if err := c.log.Flush(); err != nil {
		return err
	}
	if flushed := c.log.FlushedOffset(); flushed < end {
		return fmt.Errorf("%s: flushed, and %d of %d are", c.log.name, flushed, end)
	}
	c.look()
	return nil
}

// change goes from sync mode to async or back.
func (t *tour) change(c *client) error {
	c.mode.Add(1)
	c.log.SetConfig(tourConfig(t.h, c.mode.Load()%2 == 1))
	return nil
}

// look reads all logs through their indexes.
func (t *tour) look() error {
	for _, c := range []*client{t.sync, t.async, t.plain} {
		if err := eachFound(c.log, 4); err != nil {
			return fmt.Errorf("%s: %w", c.log.name, err)
		}
		if _, err := c.log.OffsetForTime(testNow - 50_000); err != nil {
			return fmt.Errorf("%s: %w", c.log.name, err)
		}
	}
	return nil
}

// eachFound looks one in n offsets of a log up and reads its batch.
func eachFound(l *Log, n int64) error {
	for at := l.LogStartOffset(); at < l.HighWatermark(); at += n {
		r, err := l.Read(at, 1, true)
		if err != nil {
			return err
		}
		b, err := r.Bytes()
		r.Release()
		if err != nil {
			return err
		}
		if batch, _, err := record.Next(b); err != nil || batch.BaseOffset() > at || batch.LastOffset() < at {
			return fmt.Errorf("offset %d is not in the %d bytes that were read for it", at, len(b))
		}
	}
	return nil
}
