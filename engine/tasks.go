package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// tasks are the engine's own goroutines.
type tasks struct {
	quit chan struct{}
	done sync.WaitGroup
}

// start runs what an engine does by itself.
func (e *Engine) start() {
	e.tasks.quit = make(chan struct{})
	e.every(e.opt.CheckpointInterval, func() {
		if err := e.Checkpoint(); err != nil && e.failed() == nil && !errors.Is(err, ErrClosed) {
			e.log.Error("checkpoint", "dir", e.opt.Dir, "error", err)
		}
	})
	e.every(time.Second, e.tick)
	if e.stage != nil {
		e.stage.grow()
		e.tasks.done.Go(func() { e.stage.resting.run(e.tasks.quit) })
		e.tasks.done.Go(func() { e.stage.tend(e.tasks.quit) })
	}
	if e.opt.RetentionInterval > 0 {
		e.every(e.opt.RetentionInterval, func() {
			if err := e.Retain(); err != nil && e.failed() == nil {
				e.log.Error("retention", "dir", e.opt.Dir, "error", err)
			}
		})
	}
	e.calibrateSoon()
	e.scrubSoon()
}

// every runs f again and again, d apart; never where d is negative.
func (e *Engine) every(d time.Duration, f func()) {
	if d < 0 {
		return
	}
	e.tasks.done.Add(1)
	go func() {
		defer e.tasks.done.Done()
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-e.tasks.quit:
				return
			}
		}
	}()
}

func (t *tasks) stop() {
	close(t.quit)
	t.done.Wait()
}

// tick is the work of each second: how much room there is, files whose time has come, and memory that nobody used.
func (e *Engine) tick() {
	e.space.measure(e)
	e.removals.run(e, e.opt.Now())
	if e.waiting.Load() == 0 {
		e.recent.dropAll(e)
		e.buffers.trim()
	}
	if e.stage != nil && e.failed() == nil {
		if err := e.stage.trim(); err != nil {
			e.fail(err)
		}
	}
}

// space says how much may still be appended. Between two measurements appends are taken off, so that what is on its
// way to the disk is counted.
type space struct{ left atomic.Int64 }

func (s *space) measure(e *Engine) {
	free, err := e.fs.Free(e.opt.Dir)
	if err != nil {
		e.log.Warn("free space is not known", "dir", e.opt.Dir, "error", err)
		return
	}
	s.left.Store((free-e.opt.ReserveBytes)/int64(e.opt.SpaceSharers) - e.waiting.Load())
}

// Room returns how many bytes appends may still take before they are refused with ErrNoSpace; it may be negative. It is measured each
// second, and does not ask the file system.
func (e *Engine) Room() int64 { return e.space.left.Load() }

// reserve makes room for n bytes of an append, in memory and on the disk, before it gets its offsets.
func (e *Engine) reserve(n int64) error {
	if e.space.left.Add(-n) < 0 {
		e.space.left.Add(n)
		return ErrNoSpace
	}
	if w := e.waiting.Add(n); w > 2*e.opt.MemoryBytes && w > n {
		e.waiting.Add(-n)
		e.space.left.Add(n)
		return ErrBusy
	}
	return nil
}

// release says that n bytes wait no longer.
func (e *Engine) release(n int64) {
	if e.waiting.Add(-n) < e.opt.MemoryBytes/2 {
		e.ready.fire()
	}
}

// ready holds who waits for room.
type ready struct {
	any  atomic.Bool
	mu   sync.Mutex
	wait []func()
}

// Busy reports whether so many bytes wait to be written that more should wait for Ready. Appends are taken all the same,
// up to twice that, since those who look may be many.
func (e *Engine) Busy() bool { return e.waiting.Load() > e.opt.MemoryBytes }

// Ready calls f once when appends have room again after ErrBusy: at once if they have. f must not block.
func (e *Engine) Ready(f func()) {
	r := &e.ready
	r.mu.Lock()
	if e.waiting.Load() < e.opt.MemoryBytes/2 {
		r.mu.Unlock()
		f()
		return
	}
	r.wait = append(r.wait, f)
	r.any.Store(true)
	r.mu.Unlock()
	if e.waiting.Load() < e.opt.MemoryBytes/2 {
		r.fire() // room came between the two looks
	}
}

func (r *ready) fire() {
	if !r.any.Load() {
		return
	}
	r.mu.Lock()
	wait := r.wait
	r.wait = nil
	r.any.Store(false)
	r.mu.Unlock()
	for _, f := range wait {
		f()
	}
}

// removals are files under their .deleted names, until their delay is over.
type removals struct {
	mu   sync.Mutex
	wait []removal
}

type removal struct {
	at    time.Time
	names []string
	dir   string // removed with all in it, after the names
}

func (r *removals) add(m removal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wait = append(r.wait, m)
}

// run removes what is due. What fails is left to the next start, which finds the names.
func (r *removals) run(e *Engine, now time.Time) {
	r.mu.Lock()
	var due []removal
	rest := r.wait[:0]
	for _, m := range r.wait {
		if m.at.After(now) {
			rest = append(rest, m)
		} else {
			due = append(due, m)
		}
	}
	r.wait = rest
	r.mu.Unlock()
	for _, m := range due {
		m.remove(e)
	}
}

// finish removes everything, due or not.
func (r *removals) finish(e *Engine) {
	r.mu.Lock()
	due := r.wait
	r.wait = nil
	r.mu.Unlock()
	for _, m := range due {
		m.remove(e)
	}
}

func (m removal) remove(e *Engine) {
	for _, name := range m.names {
		if err := e.removeIfThere(name); err != nil {
			e.log.Warn("remove a deleted file", "error", err)
		}
	}
	if m.dir != "" {
		if err := e.removeFolder(m.dir); err != nil {
			e.log.Warn("remove a deleted log", "error", err)
		}
	}
}
