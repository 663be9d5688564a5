package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The scrub reads what was flushed, slowly and past the page cache, and looks whether it is still what it was: the CRC of each batch,
// the chain of offsets, and the sums of the guards. What rots where nobody reads is found while a replica or a backup still has it.

const (
	// scrubDelay is how long a start has the disk for itself before the scrub goes on.
	scrubDelay = 5 * time.Minute
	// scrubLook is how often it is looked whether the next pass is due.
	scrubLook = time.Minute
	// scrubSave is how often a pass notes where it is.
	scrubSave = 30 * time.Second
)

// ScrubStatus is how far the scrub is.
type ScrubStatus struct {
	Running   bool
	Done, All int64     // bytes of the pass that runs, or was interrupted, or ended last; those of an earlier process included
	Read      int64     // bytes that this Engine has checked
	Began     time.Time // when that pass did; zero before the first
	Ended     time.Time // when the last whole pass did; zero before
	Findings  int       // places that are not what they were, those that an earlier process had found and are still there included
}

// scrubbing is the state of the scrub.
type scrubbing struct {
	one    sync.Mutex   // held by the pass that runs
	wanted atomic.Int32 // calls of Scrub: a pass in the background makes way for them
	read   atomic.Int64
	mu     struct {
		sync.Mutex
		status ScrubStatus
		notes  scrubNotes
		saved  time.Time // when notes was last written
	}
	file struct { // what is in it
		sync.Mutex
		notes []byte
	}
}

// ScrubStatus returns how far the scrub is.
func (e *Engine) ScrubStatus() ScrubStatus {
	s := &e.scrub
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.mu.status
	st.Read = s.read.Load()
	for _, x := range s.mu.notes.found {
		if l, ok := e.Log(x.name); ok && l.corrupt.Load() != nil {
			st.Findings++
		}
	}
	st.Began, st.Ended = timeOf(s.mu.notes.began), timeOf(s.mu.notes.ended)
	return st
}

func timeOf(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Scrub checks everything that is flushed now, once and from the start, at the given rate; 0 is as quick as the disk is. A pass in the
// background makes way for it. A finding is not an error of it: the log is offline (Log.Err),
// and ScrubStatus counts it. Errors are those of ctx, and ErrClosed.
func (e *Engine) Scrub(ctx context.Context, bytesPerSecond int64) error {
	e.scrub.wanted.Add(1)
	e.scrub.one.Lock()
	defer e.scrub.one.Unlock()
	e.scrub.wanted.Add(-1)
	if e.closed.Load() {
		return ErrClosed
	}
	return e.scrubFrom(scrubPlace{}, &pacer{ctx: ctx, e: e, rate: bytesPerSecond})
}

// scrubSoon runs the passes that are due, in the background.
func (e *Engine) scrubSoon() {
	if e.opt.ScrubBytesPerSecond < 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.tasks.done.Add(2)
	go func() {
		defer e.tasks.done.Done()
		<-e.tasks.quit
		cancel()
	}()
	go func() {
		defer e.tasks.done.Done()
		for wait := scrubDelay; pause(ctx, wait) == nil; wait = scrubLook {
			e.scrubDue(ctx)
		}
	}()
}

// scrubDue goes on with a pass that was interrupted, or begins one where the last is long enough ago.
func (e *Engine) scrubDue(ctx context.Context) {
	e.scrub.one.Lock()
	defer e.scrub.one.Unlock()
	e.scrub.mu.Lock()
	n := e.scrub.mu.notes
	e.scrub.mu.Unlock()
	if n.next == (scrubPlace{}) && n.ended > 0 && e.opt.Now().Sub(timeOf(n.began)) < e.opt.ScrubInterval {
		return
	}
	err := e.scrubFrom(n.next, &pacer{ctx: ctx, e: e, rate: e.opt.ScrubBytesPerSecond, yields: true})
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) && !errors.Is(err, errMadeWay) {
		e.log.Error("scrub", "dir", e.opt.Dir, "error", err)
	}
}

// scrubFrom is a pass, or the rest of one. The caller holds scrub.one.
func (e *Engine) scrubFrom(from scrubPlace, pace *pacer) error {
	logs := e.Logs()
	slices.SortFunc(logs, func(a, b *Log) int { return compareNames(a.name, b.name) })
	e.beginPass(logs, from)
	for _, l := range logs {
		at := scrubPlace{name: l.name}
		if l.name == from.name {
			at.base = from.base
		}
		if compareNames(l.name, from.name) < 0 {
			continue
		}
		if err := e.scrubLog(l, at, pace); err != nil {
			e.pausePass()
			return err
		}
	}
	e.endPass()
	return nil
}

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// scrubLog checks the segments of a log from a base offset on.
func (e *Engine) scrubLog(l *Log, at scrubPlace, pace *pacer) error {
	for {
		if l.corrupt.Load() != nil || l.w.closed.Load() != nil {
			return nil
		}
		segs := *l.view.Load() // each time: retention and rolls go on meanwhile
		i, _ := slices.BinarySearchFunc(segs, at.base, compareBase)
		if i == len(segs) {
			return nil
		}
		s := segs[i]
		if err := e.scrubSegment(l, s, pace); err != nil {
			return err
		}
		at.base = s.Base + 1
		e.passed(at, s.Size())
	}
}

// beginPass notes that a pass begins, or goes on.
func (e *Engine) beginPass(logs []*Log, from scrubPlace) {
	s := &e.scrub
	st := ScrubStatus{Running: true}
	for _, l := range logs {
		for _, seg := range *l.view.Load() {
			st.All += seg.Size()
			if c := compareNames(l.name, from.name); c < 0 || c == 0 && seg.Base < from.base {
				st.Done += seg.Size()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == (scrubPlace{}) || s.mu.notes.began == 0 {
		s.mu.notes.began = e.opt.Now().UnixMilli()
	}
	s.mu.status, s.mu.saved = st, time.Now()
	s.mu.notes.next = from
	e.log.Info("scrub", "dir", e.opt.Dir, "logs", len(logs), "bytes", st.All-st.Done, "of", st.All)
}

// passed notes that the pass has come to a place, behind a segment of so many bytes.
func (e *Engine) passed(at scrubPlace, n int64) {
	s := &e.scrub
	s.mu.Lock()
	s.mu.status.Done += n
	s.mu.status.All = max(s.mu.status.All, s.mu.status.Done)
	s.mu.notes.next = at
	due := time.Since(s.mu.saved) > scrubSave
	if due {
		s.mu.saved = time.Now()
	}
	s.mu.Unlock()
	if due {
		e.saveScrub()
	}
}

// pausePass notes where the next pass goes on.
func (e *Engine) pausePass() {
	e.scrub.mu.Lock()
	e.scrub.mu.status.Running = false
	e.scrub.mu.Unlock()
	e.saveScrub()
}

// endPass notes that a pass is whole.
func (e *Engine) endPass() {
	s := &e.scrub
	s.mu.Lock()
	s.mu.status.Running, s.mu.status.Done = false, s.mu.status.All
	s.mu.notes.ended, s.mu.notes.next = e.opt.Now().UnixMilli(), scrubPlace{}
	st, n := s.mu.status, s.mu.notes
	s.mu.Unlock()
	e.log.Info("scrub is through", "dir", e.opt.Dir, "bytes", st.All, "took", timeOf(n.ended).Sub(timeOf(n.began)), "findings", len(n.found))
	e.saveScrub()
}

// A pacer holds a pass to its rate.
type pacer struct {
	ctx    context.Context
	e      *Engine
	rate   int64 // bytes in a second; 0: any
	yields bool  // to a call of Scrub
	next   time.Time
}

var errMadeWay = errors.New("another pass was called for")

// wait returns when so many bytes more may be read: not while appends wait for memory.
func (p *pacer) wait(n int64) error {
	const patience = 50 * time.Millisecond
	for p.rate > 0 && p.e.Busy() {
		if err := pause(p.ctx, patience); err != nil {
			return err
		}
	}
	switch {
	case p.e.closed.Load():
		return ErrClosed
	case p.yields && p.e.scrub.wanted.Load() > 0:
		return errMadeWay
	}
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	if p.rate > 0 {
		p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	}
	return pause(p.ctx, p.next.Sub(now))
}

// pause returns after d, or with the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
