package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Stream makes one request at a time.
type Stream struct {
	// Do makes a request that was due at a time and returns its bytes. ErrDone ends the stream in order. One that waits for others
	// ends waiting when stop is closed.
	Do func(stop <-chan struct{}, due time.Time) (bytes int64, err error)
	// Counts says that Do tells the meter itself: a call of it is not one request.
	Counts bool
	// End, where it is not nil, is called after the last Do, on the same goroutine.
	End func() error
	// Every is the time between two requests of an open loop, 0 for a closed one. With Poisson it is their mean.
	Every   time.Duration
	Poisson bool
	// Delay is how long after the others the stream starts.
	Delay time.Duration
	// Meter counts the stream's requests.
	Meter *Meter
}

// ErrDone is returned by a stream that has nothing more to do.
var ErrDone = errors.New("done")

// Timing says how long a run warms up and is measured.
type Timing struct {
	// Warm is the warm-up; 0 is until the rate is steady, MaxWarm at most, and a negative one is none.
	Warm, MaxWarm time.Duration
	// For is the measured time. 0 is until all streams are done, and then there is no warm-up.
	For time.Duration
	// Measured, where it is not nil, is called when the measured time begins and when it ends.
	Measured func(begins bool)
}

const (
	// windows in a row whose rates differ by less than steadyBy from their mean end a warm-up.
	windows  = 3
	steadyBy = 0.1
	// look is how often a run is looked at.
	look = 20 * time.Millisecond
	// noEnd is the measured time of a run that ends by itself.
	noEnd = 1000 * time.Hour
)

// Run runs streams until their time is over or one fails, waits for the last requests, and returns how long the
// warm-up was. progress is called with what was added to the time that has passed; it may be nil.
func Run(ctx context.Context, t Timing, streams []Stream, progress func(time.Duration)) (warm time.Duration, err error) {
	r := &run{streams: streams, start: time.Now(), stop: make(chan struct{}), meters: map[*Meter]bool{}}
	for _, s := range streams {
		r.meters[s.Meter] = true
	}
	if t.For == 0 { // all of it is measured, until it is done
		t.For, t.Warm = noEnd, -1
	}
	if t.Warm < 0 {
		r.begin(t)
	}
	for i := range streams {
		r.all.Go(func() { r.stream(i) })
	}
	ended := make(chan struct{})
	go func() {
		r.all.Wait()
		close(ended)
	}()
	warm, err = r.watch(ctx, t, ended, progress)
	r.halt()
	<-ended
	return warm, errors.Join(err, r.failure())
}

type run struct {
	streams []Stream
	meters  map[*Meter]bool
	start   time.Time
	all     sync.WaitGroup
	stop    chan struct{}
	halted  sync.Once
	failed  struct {
		sync.Mutex
		err error
	}
}

func (r *run) halt() { r.halted.Do(func() { close(r.stop) }) }

func (r *run) failure() error {
	r.failed.Lock()
	defer r.failed.Unlock()
	return r.failed.err
}

func (r *run) begin(t Timing) {
	if t.Measured != nil {
		t.Measured(true)
	}
	for m := range r.meters {
		m.Begin(t.For)
	}
}

func (r *run) end(t Timing) {
	for m := range r.meters {
		m.Stop()
	}
	if t.Measured != nil {
		t.Measured(false)
	}
}

// watch lets the time pass: warm-up, measured, over.
func (r *run) watch(ctx context.Context, t Timing, ended <-chan struct{}, progress func(time.Duration)) (warm time.Duration, err error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	w := &warmUp{timing: t, window: max(look, t.For/8)}
	measuring, last, begun := t.Warm < 0, r.start, r.start
	for {
		select {
		case <-ended:
			if measuring {
				r.end(t)
				return warm, nil
			}
			return warm, cmp.Or(r.failure(), fmt.Errorf("all was done within the warm-up of %v: a larger size, or time_based, makes it last", time.Since(r.start).Round(time.Millisecond)))
		case <-ctx.Done():
			return warm, context.Cause(ctx)
		case <-r.stop: // a stream failed
			return warm, nil
		case now := <-tick.C:
			if progress != nil {
				progress(now.Sub(last))
			}
			last = now
			switch {
			case !measuring && w.over(now.Sub(r.start), r.ops()):
				measuring, warm, begun = true, now.Sub(r.start), time.Now()
				r.begin(t)
			case measuring && time.Since(begun) >= t.For:
				r.end(t)
				return warm, nil
			}
		}
	}
}

func (r *run) ops() (n int64) {
	for m := range r.meters {
		n += m.ops.Load()
	}
	return n
}

// A warmUp finds out when a rate is steady.
type warmUp struct {
	timing Timing
	window time.Duration
	began  time.Duration // of the window
	before int64
	rates  []float64
}

// over reports whether the warm-up is, at a time from the start at which so many requests were done.
func (w *warmUp) over(at time.Duration, ops int64) bool {
	if w.timing.Warm > 0 {
		return at >= w.timing.Warm
	}
	if at >= w.timing.MaxWarm {
		return true
	}
	if at-w.began < w.window {
		return false
	}
	w.rates = append(w.rates, float64(ops-w.before)/(at-w.began).Seconds())
	w.began, w.before = at, ops
	return len(w.rates) >= windows && steady(w.rates[len(w.rates)-windows:])
}

// steady reports whether rates are near their mean.
func steady(rates []float64) bool {
	var sum float64
	for _, r := range rates {
		sum += r
	}
	mean := sum / float64(len(rates))
	for _, r := range rates {
		if mean == 0 || r < mean*(1-steadyBy) || r > mean*(1+steadyBy) {
			return false
		}
	}
	return true
}

// stream makes the requests of one stream.
func (r *run) stream(i int) {
	s := &r.streams[i]
	if s.End != nil {
		defer func() {
			if err := s.End(); err != nil {
				r.fail(err)
			}
		}()
	}
	due := r.start.Add(s.Delay)
	if s.Every > 0 { // streams of the same rate do not all start at once
		due = due.Add(time.Duration(rand.Int64N(int64(s.Every))))
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for waiting := s.Delay > 0 || s.Every > 0; ; waiting = s.Every > 0 {
		if wait := time.Until(due); waiting && wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-r.stop:
				return
			}
		}
		select {
		case <-r.stop:
			s.leave(i, due)
			return
		default:
		}
		start := time.Now()
		if s.Every == 0 {
			due = start
		} else if s.Meter.Over(due) {
			return
		}
		n, err := s.Do(r.stop, due)
		if err != nil {
			r.fail(err)
			return
		}
		if !s.Counts {
			s.Meter.Done(i, due, start, time.Now(), n)
		}
		due = due.Add(s.gap())
	}
}

// leave counts what was due when the run ended.
func (s *Stream) leave(i int, due time.Time) {
	for until := time.Now(); s.Every > 0 && due.Before(until) && !s.Meter.Over(due); due = due.Add(s.gap()) {
		s.Meter.Unsent(i, due, until)
	}
}

// gap is the time from one request to the next.
func (s *Stream) gap() time.Duration {
	if s.Poisson {
		return time.Duration(rand.ExpFloat64() * float64(s.Every))
	}
	return s.Every
}

// fail ends the run, unless the stream was only done.
func (r *run) fail(err error) {
	if errors.Is(err, ErrDone) {
		return
	}
	r.failed.Lock()
	if r.failed.err == nil {
		r.failed.err = err
	}
	r.failed.Unlock()
	r.halt()
}

// A Budget is bytes that streams share, for a run that ends when they are used up.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of n bytes; a negative one never ends.
func NewBudget(n int64) *Budget {
	b := &Budget{}
	if n < 0 {
		n = 1 << 62
	}
	b.left.Store(n)
	return b
}

// Take takes n bytes, and returns ErrDone where they are not there any more.
func (b *Budget) Take(n int64) error {
	if b.left.Add(-n) < 0 {
		return ErrDone
	}
	return nil
}
