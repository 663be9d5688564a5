package load

import (
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// The histograms' range in ns and their digits.
	lowest  = int64(time.Microsecond)
	highest = int64(100 * time.Second)
	digits  = 3
	// shards bounds the histograms of a meter; streams beyond share them. One has 170 KB.
	shards = 16
	// A measured time is cut into slices to look at its course, an hour of them at most.
	slice     = 50 * time.Millisecond
	maxSlices = int(time.Hour / slice)
	// minSlices is how many there must be to speak of a course.
	minSlices = 6
)

// A Meter counts requests and their latencies within a measured time. Before Begin nothing counts.
type Meter struct {
	begin, end atomic.Int64 // ns since epoch; 0 is not yet
	epoch      time.Time
	ops        atomic.Int64 // all ever, for the warm-up's rate and progress
	parts      [shards]part
}

type part struct {
	mu            sync.Mutex
	latency, late *hdr.Histogram
	ops, bytes    int64
	unsent        int64
	course        []int64 // requests in each slice
}

// NewMeter returns a meter that counts nothing yet.
func NewMeter() *Meter {
	m := &Meter{epoch: time.Now()}
	for i := range m.parts {
		m.parts[i].latency, m.parts[i].late = hdr.New(lowest, highest, digits), hdr.New(lowest, highest, digits)
	}
	return m
}

// Begin starts the measured time, which ends after d.
func (m *Meter) Begin(d time.Duration) {
	now := time.Since(m.epoch).Nanoseconds()
	m.end.Store(now + d.Nanoseconds())
	m.begin.Store(max(now, 1))
}

// Stop ends the measured time now, where it has not ended.
func (m *Meter) Stop() {
	if now := time.Since(m.epoch).Nanoseconds(); now < m.end.Load() {
		m.end.Store(now)
	}
}

// Over reports whether the measured time has passed.
func (m *Meter) Over(at time.Time) bool {
	return m.begin.Load() != 0 && at.Sub(m.epoch).Nanoseconds() >= m.end.Load()
}

// Done counts a request of a stream: when it was due, when it started and ended, and its bytes.
func (m *Meter) Done(stream int, due, start, end time.Time, bytes int64) {
	m.ops.Add(1)
	begin := m.begin.Load()
	if begin == 0 {
		return
	}
	stop, at, ended := m.end.Load(), due.Sub(m.epoch).Nanoseconds(), end.Sub(m.epoch).Nanoseconds()
	p := &m.parts[stream%shards]
	p.mu.Lock()
	defer p.mu.Unlock()
	if at >= begin && at < stop {
		record(p.latency, end.Sub(due))
		record(p.late, start.Sub(due))
	}
	if ended >= begin && ended < stop {
		p.ops++
		p.bytes += bytes
		p.inSlice(int((ended - begin) / int64(slice)))
	}
}

// Unsent counts a request that was due in the measured time and was not sent before the run ended, at the latency that it has by
// then: it would have had more.
func (m *Meter) Unsent(stream int, due, now time.Time) {
	begin, at := m.begin.Load(), due.Sub(m.epoch).Nanoseconds()
	if begin == 0 || at < begin || at >= m.end.Load() {
		return
	}
	p := &m.parts[stream%shards]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsent++
	record(p.latency, now.Sub(due))
}

func (p *part) inSlice(n int) {
	for len(p.course) <= min(n, maxSlices) {
		p.course = append(p.course, 0)
	}
	p.course[min(n, maxSlices)]++
}

// record puts a latency into a histogram's range.
func record(h *hdr.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Nanoseconds(), lowest), highest)) // the one error is a value out of range
}

// Secs returns the measured time in seconds.
func (m *Meter) Secs() float64 { return float64(m.end.Load()-m.begin.Load()) / 1e9 }

// A Result is what a meter counted.
type Result struct {
	Ops, Bytes    int64
	Unsent        int64 // requests that were due and not sent; they are in Latency
	Secs          float64
	Latency, Late *hdr.Histogram // ns
	Drift         float64        // of the rate, from the begin to the end, as part of its mean
	WarmUp        time.Duration
}

// Result adds the parts up. Nothing may be counted meanwhile.
func (m *Meter) Result() *Result {
	r := &Result{Secs: m.Secs(), Latency: hdr.New(lowest, highest, digits), Late: hdr.New(lowest, highest, digits)}
	course := make([]float64, min(int(r.Secs/slice.Seconds()), maxSlices)) // whole slices alone
	for i := range m.parts {
		p := &m.parts[i]
		p.mu.Lock()
		r.Ops += p.ops
		r.Bytes += p.bytes
		r.Unsent += p.unsent
		r.Latency.Merge(p.latency)
		r.Late.Merge(p.late)
		for s := range min(len(course), len(p.course)) {
			course[s] += float64(p.course[s])
		}
		p.mu.Unlock()
	}
	if len(course) >= minSlices {
		r.Drift = drift(course)
	}
	return r
}

// drift is the rise of the line of least squares through ys from the first to the last, as part of their mean.
func drift(ys []float64) float64 {
	n := float64(len(ys))
	var sx, sy, sxx, sxy float64
	for i, y := range ys {
		x := float64(i)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if sy == 0 {
		return 0
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return slope * (n - 1) / (sy / n)
}
