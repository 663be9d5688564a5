package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// drive has the load tool do work, writes the line of it and returns what it measured. The phase says what for.
func (t *trial) drive(phase string, args ...string) (results.Values, error) {
	full := append([]string{args[0], "-addr", t.live.addr, "-pid", strconv.Itoa(t.live.pid)}, args[1:]...)
	l := t.line(phase)
	l.Args = args
	brokerCPU := machine.CPU(t.live.pid)
	out, err := t.watched(&l, func() (string, float64, error) { return timed(t.ctx, t.scratch, t.load, full...) })
	// What neither the broker nor the load tool used: other work, and the kernel's own threads, writeback among them.
	l.OtherCores -= (machine.CPU(t.live.pid) - brokerCPU) / l.Secs
	if err == nil {
		l.Values, err = parseLoad(out)
	}
	if err != nil {
		select {
		case <-t.live.exited:
			err = fmt.Errorf("%w; the broker is gone: %s", err, lastLines(t.live.log))
		default:
		}
		l.Error = err.Error()
	}
	t.say("%s: %s", phase, summary(&l, t.row))
	return l.Values, errors.Join(err, t.journal.Add(l))
}

// result writes the line that the report is made of.
func (t *trial) result(v results.Values) error {
	l := t.line(results.PhaseResult)
	l.Values, l.LoadBefore, l.LoadAfter = v, machine.LoadAverage(), machine.LoadAverage()
	return t.journal.Add(l)
}

func (t *trial) line(phase string) results.Line {
	return results.Line{Kind: results.KindRun, Time: time.Now(), Row: t.row.id, Round: t.round, Broker: t.broker, Order: t.order, Phase: phase}
}

func (t *trial) say(format string, a ...any) {
	progress("round %d of %d, %s, %s: %s", t.round, t.options.rounds, t.row.id, t.broker, fmt.Sprintf(format, a...))
}

// watched runs f and notes what the machine did meanwhile. f returns its output and the CPU that it used.
func (c *comparison) watched(l *results.Line, f func() (string, float64, error)) (string, error) {
	l.LoadBefore, l.DirtyBeforeMB = machine.LoadAverage(), machine.DirtyMB()
	begin, all := time.Now(), machine.Busy()
	out, own, err := f()
	l.Secs = time.Since(begin).Seconds()
	l.OtherCores = (machine.Busy() - all - own) / l.Secs
	l.LoadAfter, l.DirtyAfterMB = machine.LoadAverage(), machine.DirtyMB()
	return out, err
}

// timed runs a program to its end and returns its output and the CPU that it and its children used.
func timed(ctx context.Context, dir, name string, args ...string) (string, float64, error) {
	var out, problems bytes.Buffer
	c := child(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &problems
	err := c.Run()
	var used time.Duration
	if s := c.ProcessState; s != nil {
		used = s.UserTime() + s.SystemTime()
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("%s: %w: %s", args[0], err, bytes.TrimSpace(problems.Bytes()))
	}
	return out.String(), used.Seconds(), err
}

// parseLoad reads the load tool's line: numbers, and objects of numbers for latencies, whose members become
// lat_p99_ms for p99 in lat_ms.
func parseLoad(out string) (results.Values, error) {
	var raw map[string]any
	if err := json.Unmarshal([]byte(out), &raw); err != nil {
		return nil, fmt.Errorf("the load tool said %q: %w", out, err)
	}
	v := results.Values{}
	for k, x := range raw {
		switch x := x.(type) {
		case float64:
			v[k] = x
		case map[string]any:
			for q, y := range x {
				if f, ok := y.(float64); ok {
					v[strings.TrimSuffix(k, "_ms")+"_"+q+"_ms"] = f
				}
			}
		}
	}
	return v, nil
}

var limitLine = regexp.MustCompile(`: ([0-9.]+) MB/s, ([0-9.]+) cpu-s/GB, machine (?:with client )?([0-9.]+) cpu-s/GB`)

// parseLimit reads the limit tool's line.
func parseLimit(out string) (results.Values, error) {
	m := limitLine.FindStringSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("the limit tool said %q", out)
	}
	return results.Values{"MB_s": number(m[1]), "cpu_s_per_GB": number(m[2]), "machine_cpu_s_per_GB": number(m[3])}, nil
}
