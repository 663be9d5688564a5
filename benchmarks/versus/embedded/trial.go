package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// A row is one line of the comparison.
type row struct {
	writers, bytes int
	// goal is what the engine's throughput must be to the best of the others.
	goal float64
}

func (r row) name() string { return fmt.Sprintf("%d x %d B", r.writers, r.bytes) }

var rows = []row{{1, 1000, 1.2}, {32, 1000, 1.5}, {32, 64 << 10, 3}}

// goalUnsynced is what the engine without a flush must be to JetStream without one, in every row.
const goalUnsynced = 10

// one is a trial in this process: it prints the values as JSON.
func one(ctx context.Context, name, dir string, writers, size int, secs float64) error {
	for _, r := range rivals {
		if r.name != name {
			continue
		}
		s, err := r.open(dir)
		if err != nil {
			return errors.Join(err, closeOf(s))
		}
		v, err := measure(ctx, s, writers, size, time.Duration(secs*float64(time.Second)))
		if err := errors.Join(err, s.close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return json.NewEncoder(os.Stdout).Encode(v)
	}
	return fmt.Errorf("no store %q", name)
}

// closeOf closes a store that was opened in part; the error of opening is the one that counts.
func closeOf(s store) error {
	if s == nil {
		return nil
	}
	return s.close()
}

func measure(ctx context.Context, s store, writers, size int, d time.Duration) (results.Values, error) {
	m := load.NewMeter()
	var streams []load.Stream
	for range writers {
		add, value := s.appender(), make([]byte, size)
		for i := range value {
			value[i] = byte('a' + i%26)
		}
		streams = append(streams, load.Stream{Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) { return int64(size), add(value) }})
	}
	var before, used machine.Usage
	t := load.Timing{For: d, MaxWarm: d, Measured: func(begins bool) {
		if now := machine.Use(os.Getpid()); begins {
			before = now
		} else {
			used = now.Since(before)
		}
	}}
	warm, err := load.Run(ctx, t, streams, nil)
	if err != nil {
		return nil, err
	}
	r := m.Result()
	r.WarmUp = warm
	v := r.Values()
	if r.Ops == 0 {
		return nil, errors.New("nothing was appended within the time")
	}
	v["cpu_us_per_op"], v["cpu_s_per_GB"] = used.CPU*1e6/float64(r.Ops), used.CPU/(float64(r.Bytes)/1e9)
	v["rss_MB"], v["switches_per_op"] = used.ResidentMB, used.Switches/float64(r.Ops)
	return v, nil
}

// trial runs one in a process and a folder of its own.
func trial(ctx context.Context, o *options, r row, name string) (v results.Values, err error) {
	dir, err := os.MkdirTemp(o.dir, "zurau-embedded-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(2*o.secs*float64(time.Second))+time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, self, "one", name, filepath.Join(dir), strconv.Itoa(r.writers), strconv.Itoa(r.bytes), strconv.FormatFloat(o.secs, 'f', -1, 64))
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", name, r.name(), errors.Join(context.Cause(ctx), err))
	}
	return v, json.Unmarshal(out, &v)
}
