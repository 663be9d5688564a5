package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/results"
)

// ringed reports whether all jobs of a stage keep their requests in a ring.
func ringed(s job.Stage) bool {
	return !slices.ContainsFunc(s, func(j *job.Job) bool { return !queued(j) || j.Sync == job.Fdatasync || j.Sync == job.Fsync })
}

// runGiouring has the program of that level run a stage. It is this package's own device level, with another Ring in it.
func runGiouring(ctx context.Context, s job.Stage, o Options) ([]Measured, error) {
	if !ringed(s) {
		return nil, fmt.Errorf("%w: no ring, or one that would have to flush behind its writes", ErrNotHere)
	}
	if o.Giouring == "" {
		return nil, errors.New("no program for that level: benchmarks/giouring")
	}
	file, lines := filepath.Join(o.Dir, "stage.fio"), filepath.Join(o.Dir, "lines.jsonl")
	if err := writeStage(s, file); err != nil {
		return nil, err
	}
	o.Settle()
	c := exec.CommandContext(ctx, o.Giouring, "-directory", o.Dir, "-results", lines, file)
	var said bytes.Buffer
	c.Stderr = &said
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = stopTime
	if err := c.Start(); err != nil {
		return nil, err
	}
	if err := pass(o, c.Wait); err != nil {
		return nil, errors.Join(context.Cause(ctx), fmt.Errorf("%s: %w: %s", filepath.Base(o.Giouring), err, bytes.TrimSpace(said.Bytes())))
	}
	all, err := results.Read(lines)
	if err != nil {
		return nil, err
	}
	return measuredOf(s, all)
}

// measuredOf finds each job's line.
func measuredOf(s job.Stage, lines []results.Line) ([]Measured, error) {
	var all []Measured
	for _, j := range s {
		i := slices.IndexFunc(lines, func(l results.Line) bool { return l.Row == j.Name && l.Measured() })
		if i < 0 {
			return nil, fmt.Errorf("[%s]: no line of it", j.Name)
		}
		m := Measured{Job: j, Values: lines[i].Values}
		if h := lines[i].Histogram; h != "" {
			var err error
			if m.Latency, err = load.Decoded(h); err != nil {
				return nil, err
			}
		}
		all = append(all, m)
	}
	return someDone(all)
}

func writeStage(s job.Stage, name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = s.WriteTo(f)
	return errors.Join(err, f.Close())
}
