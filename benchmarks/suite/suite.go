package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// Levels, from the bottom up. Giouring is the device by another binding of io_uring, in a program of its own: the reference for ours.
const (
	Giouring = "giouring"
	Device   = "device"
	Engine   = "engine"
	Broker   = "broker"
)

// Options say where and how stages run. Dir is required; the zero value of the others works.
type Options struct {
	// Dir is a folder on the disk that the figures are about. A run makes one of its own in it and removes it.
	Dir string
	// Fio is the fio program of the device level; empty is our own reads and writes.
	Fio string
	// Ring makes the rings of the device level where fio does not run it; nil is this project's.
	Ring func(entries int) (Ring, error)
	// Giouring is the program of that level: benchmarks/giouring.
	Giouring string
	// JobFile is the file that a stage is from, when it is as it was written: fio then runs that one.
	JobFile string
	// Bootstrap are addresses of brokers; none starts Serve.
	Bootstrap []string
	// Pid is the broker's process, 0 to look for it on this machine.
	Pid int
	// Serve is the command line of a broker of our own, to which --listen, --data and --set are added.
	Serve []string
	// Settle is called before each measurement and leaves nothing dirty in the page cache; nil is sync(2).
	Settle func()
	// Progress is called with the time that has passed, in pieces; it may be nil.
	Progress func(time.Duration)
}

// Measured is what one job of a stage came to.
type Measured struct {
	Job    *job.Job
	Values results.Values
	// Latency is in ns; nil where fio measured, which keeps its own.
	Latency *hdr.Histogram
}

// ErrNotHere says that a level has no way to do a job. The others may have.
var ErrNotHere = errors.New("not at this level")

// ErrNothing says that no request ended within the measured time: it was too short for a busy machine, or something hangs.
var ErrNothing = errors.New("nothing was done within the measured time")

// Run runs a stage at a level.
func Run(ctx context.Context, level string, s job.Stage, o Options) ([]Measured, error) {
	dir, err := os.MkdirTemp(o.Dir, "zurau-bench-")
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	defer os.RemoveAll(dir) // what is left of it is in nobody's way
	if o.Settle == nil {
		o.Settle = settle
	}
	var all []Measured
	switch level {
	case Giouring:
		all, err = runGiouring(ctx, s, o)
	case Device:
		all, err = device(ctx, s, o)
	case Engine:
		all, err = withTarget(ctx, s, o, openEngine)
	case Broker:
		all, err = withTarget(ctx, s, o, openBroker)
	default:
		err = fmt.Errorf("no level %q", level)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, [%s]: %w", level, s[0].Name, err)
	}
	return all, os.RemoveAll(dir)
}

// timing is how long a stage's jobs run.
func timing(s job.Stage) load.Timing {
	t := load.Timing{Warm: -1}
	repeats := true
	for _, j := range s {
		t.For = max(t.For, j.Runtime)
		t.Warm = max(t.Warm, j.Ramp, j.StartDelay)
		repeats = repeats && j.TimeBased
	}
	switch {
	case !repeats: // fio measures all of what ends by itself
		t.Warm = -1
	case t.Warm <= 0:
		t.Warm, t.MaxWarm = 0, min(max(2*t.For, 2*time.Second), 20*time.Second)
	}
	return t
}

// A gauge looks at the processes of a run when the measured time begins and ends.
type gauge struct {
	look           func() (server, client machine.Usage)
	s0, c0         machine.Usage
	server, client machine.Usage
}

// mark is load.Timing's Measured.
func (g *gauge) mark(begins bool) {
	s, c := g.look()
	if begins {
		g.s0, g.c0 = s, c
		return
	}
	g.server, g.client = s.Since(g.s0), c.Since(g.c0)
}

// add puts what processes used into values, for ops and bytes of the whole stage.
func (g *gauge) add(v results.Values, ops, bytes float64) {
	v["rss_MB"] = g.server.ResidentMB
	if g.server.PeakMB > 0 {
		v["cgroup_peak_MB"] = g.server.PeakMB
	}
	if g.client.ResidentMB > 0 {
		v["client_rss_MB"] = g.client.ResidentMB
	}
	if g.server.ResidentMB == 0 || ops == 0 {
		return // of a process elsewhere nothing is known
	}
	v["cpu_us_per_op"] = g.server.CPU * 1e6 / ops
	v["cpu_s_per_GB"] = g.server.CPU / (bytes / 1e9)
	v["switches_per_op"] = g.server.Switches / ops
	v["calls_per_op"] = g.server.Calls / ops
	if g.client.ResidentMB > 0 {
		v["client_cpu_us_per_op"] = g.client.CPU * 1e6 / ops
		v["client_cpu_s_per_GB"] = g.client.CPU / (bytes / 1e9)
	}
}

// gather makes the stage's Measured of what its meters counted.
func gather(s job.Stage, meters []*load.Meter, g *gauge, warm time.Duration, extra results.Values) []Measured {
	var all []Measured
	var ops, bytes float64
	for i, j := range s {
		r := meters[i].Result()
		r.WarmUp = warm
		ops, bytes = ops+float64(r.Ops), bytes+float64(r.Bytes)
		all = append(all, Measured{Job: j, Values: r.Values(), Latency: r.Latency})
	}
	for _, m := range all {
		g.add(m.Values, ops, bytes)
		for k, v := range extra {
			m.Values[k] = v
		}
	}
	return all
}
