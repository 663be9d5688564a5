package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

const (
	// A run that is not settledBy better than the best before it ends the warm-up, from the warmRuns'th run on; there
	// are mostWarmRuns at most. The JIT needs some tens of seconds of load.
	settledBy    = 1.05
	warmRuns     = 3
	mostWarmRuns = 10
	warmSecs     = 4.0
	// fillMB is what a catch-up reads; no more than a quarter of the memory, so that it stays in the page cache.
	fillMB      = 4096
	quickFillMB = 256
	// catchUps is how often a warm log is read in a trial; the result has the median.
	catchUps = 5
	// idleTime is how long a broker is left alone before its memory is read.
	idleTime = 5 * time.Second
)

// A trial is one broker at one row's work, in one round.
type trial struct {
	*comparison
	ctx    context.Context
	row    *row
	round  int
	broker string
	order  int // 0 for the broker that came first
	dir    string
	live   *process
	topics int
}

// do runs the trial and leaves nothing of it.
func (t *trial) do() (err error) {
	t.dir = filepath.Join(t.scratch, fmt.Sprintf("%s-%s-%d", t.row.id, t.broker, t.round))
	defer func() {
		if t.live != nil {
			err = errors.Join(err, t.live.stop())
		}
		err = errors.Join(err, os.RemoveAll(t.dir))
	}()
	v, err := t.row.run(t)
	if err != nil {
		return err
	}
	return t.result(v)
}

// start starts the broker, on the trial's directory.
func (t *trial) start() (err error) {
	t.live, err = t.tools.start(t.ctx, t.broker, t.dir)
	return err
}

func (t *trial) stop() error {
	p := t.live
	t.live = nil
	return p.stop()
}

func (t *trial) secs() string {
	s := t.row.secs
	if t.options.quick {
		s = 1
	}
	if t.options.secs > 0 {
		s = t.options.secs
	}
	return strconv.FormatFloat(s, 'f', -1, 64)
}

// newTopic names a topic that this broker has not seen.
func (t *trial) newTopic() string {
	t.topics++
	return fmt.Sprintf("%s-%d", t.row.id, t.topics)
}

// warm runs work until the broker does not get faster, by the value named key.
func (t *trial) warm(key string, work func() (results.Values, error)) error {
	most := mostWarmRuns
	if t.options.quick {
		most = 1
	}
	var best float64
	for n := 1; n <= most; n++ {
		v, err := work()
		if err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		if n >= warmRuns && v[key] < best*settledBy {
			return nil
		}
		best = max(best, v[key])
	}
	return nil
}

func (t *trial) warmSecs() string {
	if t.options.quick {
		return "1"
	}
	return strconv.FormatFloat(warmSecs, 'f', -1, 64)
}

func runProduce(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	run := func(phase, secs string) (results.Values, error) {
		return t.drive(phase, append(t.row.load[:len(t.row.load):len(t.row.load)], "-topic", t.newTopic(), "-secs", secs)...)
	}
	key := t.row.figures[0].key
	if err := t.warm(key, func() (results.Values, error) { return run(results.PhaseWarm, t.warmSecs()) }); err != nil {
		return nil, err
	}
	// What the warm-up left dirty is not the measured run's to write back.
	t.writeBack()
	return run(results.PhaseSample, t.secs())
}

func runFetch(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	topic := t.newTopic()
	mb := min(fillMB, int(machine.Field("/proc/meminfo", "MemAvailable:")/1024/4))
	if t.options.quick {
		mb = quickFillMB
	}
	fill := append(produce(4, 5, 64, 1000, 4, "1"), "-topic", topic, "-total-mb", strconv.Itoa(mb))
	if _, err := t.drive(results.PhaseWarm, fill...); err != nil {
		return nil, err
	}
	t.writeBack()
	args := append(t.row.load[:len(t.row.load):len(t.row.load)], "-topic", topic)
	if err := t.warm("MB_s", func() (results.Values, error) { return t.drive(results.PhaseWarm, args...) }); err != nil {
		return nil, err
	}
	var all []results.Values
	for range catchUps {
		v, err := t.drive(results.PhaseSample, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return results.Medians(all), nil
}

// runEndToEnd warms up at the highest rate, whatever the row's own is: the JIT counts calls.
func runEndToEnd(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	runs := warmRuns
	if t.options.quick {
		runs = 1
	}
	for range runs {
		if _, err := t.drive(results.PhaseWarm, append(endToEnd(10000), "-topic", t.newTopic(), "-secs", t.warmSecs())...); err != nil {
			return nil, fmt.Errorf("warm-up: %w", err)
		}
	}
	t.writeBack()
	v, err := t.drive(results.PhaseSample, append(t.row.load[:len(t.row.load):len(t.row.load)], "-topic", t.newTopic(), "-secs", t.secs())...)
	if err == nil && v["seen"] < v["sent"] {
		err = fmt.Errorf("%.0f of %.0f records came back", v["seen"], v["sent"])
	}
	return v, err
}

// runIdle starts the broker twice: the first start also makes the directory, which Kafka's format does before it.
func runIdle(t *trial) (results.Values, error) {
	if err := t.start(); err != nil {
		return nil, err
	}
	first := t.live.ready
	if err := t.stop(); err != nil {
		return nil, err
	}
	if err := t.start(); err != nil {
		return nil, err
	}
	wait := idleTime
	if t.options.quick {
		wait /= 5
	}
	select {
	case <-time.After(wait):
	case <-t.ctx.Done():
		return nil, t.ctx.Err()
	}
	return results.Values{"first_ready_ms": ms(first), "ready_ms": ms(t.live.ready), "rss_MB": machine.ResidentMB(t.live.pid)}, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
