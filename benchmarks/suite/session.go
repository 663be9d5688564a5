package suite

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// A Session runs job files at some levels, in rounds, and keeps a line of each run.
type Session struct {
	Files   []*job.File
	Levels  []string
	Rounds  int
	First   int // the number of the first round, 1 or behind those that a file has already
	Options Options
	Journal *results.Journal
	// Unchanged says that the files are as they were written.
	Unchanged bool
	// Only, where it is not empty, is a pattern (path.Match) of the stages that run, by the names of their sections.
	Only string
	// Said is called after each run; it may be nil.
	Said func(results.Line)
}

// Lasts is about how long the session takes by what its jobs say, without what is done between runs.
func (s *Session) Lasts() (d time.Duration) {
	for _, f := range s.Files {
		for _, stage := range s.stages(f) {
			t := timing(stage)
			d += (t.For + max(t.Warm, 0)) * time.Duration(s.Rounds*len(s.levels(stage)))
		}
	}
	return d
}

// stages are those of a file that run.
func (s *Session) stages(f *job.File) (all []job.Stage) {
	for _, stage := range f.Stages() {
		if s.Only == "" || slices.ContainsFunc(stage, func(j *job.Job) bool {
			ok, err := path.Match(s.Only, j.Name)
			return ok && err == nil
		}) {
			all = append(all, stage)
		}
	}
	return all
}

// levels are those that a stage runs at: another ring is of interest where there is one.
func (s *Session) levels(stage job.Stage) (all []string) {
	for _, level := range s.Levels {
		if level != Giouring || ringed(stage) {
			all = append(all, level)
		}
	}
	return all
}

// Run runs everything. A run that fails does not end the others: its line says why, and the errors are returned at the end.
func (s *Session) Run(ctx context.Context) error {
	var failed error
	ran := false
	for round := range s.Rounds {
		for _, f := range s.Files {
			for i, stage := range s.stages(f) {
				levels := s.levels(stage)
				if (round+i)%2 == 1 { // whatever grows with the run hits each level in turn
					slices.Reverse(levels)
				}
				for _, level := range levels {
					ran = true
					failed = errors.Join(failed, s.one(ctx, level, f, stage, s.First+round))
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
				}
			}
		}
	}
	if !ran {
		return fmt.Errorf("no section is named like %q", s.Only)
	}
	return failed
}

// tries is how often a stage runs that did nothing within its time, which on a busy machine a short one may.
const tries = 3

// one runs a stage at a level and writes its lines.
func (s *Session) one(ctx context.Context, level string, f *job.File, stage job.Stage, round int) error {
	o := s.Options
	if s.Unchanged {
		o.JobFile = f.Name
	}
	base := results.Line{Kind: results.KindRun, Time: time.Now(), Profile: f.Base(), Level: level, Round: round,
		LoadBefore: machine.LoadAverage(), DirtyBeforeMB: machine.DirtyMB()}
	busy, own := machine.Busy(), ownCPU(o.Pid)
	all, err := Run(ctx, level, stage, o)
	for n := 1; n < tries && errors.Is(err, ErrNothing); n++ {
		all, err = Run(ctx, level, stage, o)
	}
	base.Secs = time.Since(base.Time).Seconds()
	base.OtherCores = (machine.Busy() - busy - (ownCPU(o.Pid) - own)) / base.Secs
	base.LoadAfter, base.DirtyAfterMB = machine.LoadAverage(), machine.DirtyMB()
	if err != nil {
		base.Row, base.Error = stage[0].Name, err.Error()
		s.say(base)
		if errors.Is(err, ErrNotHere) {
			err = nil // said, and no failure
		}
		return errors.Join(err, s.Journal.Add(base))
	}
	for _, m := range all {
		l := base
		l.Row, l.Values, l.Params = m.Job.Name, m.Values, params(m.Job)
		if m.Latency != nil {
			if l.Histogram, err = load.Encoded(m.Latency); err != nil {
				return err
			}
		}
		s.say(l)
		if err := s.Journal.Add(l); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) say(l results.Line) {
	if s.Said != nil {
		s.Said(l)
	}
}

// params are what rows of a profile differ in.
func params(j *job.Job) results.Values {
	v := results.Values{"bs": float64(j.Batch()), "files": float64(j.Logs()), "streams": float64(j.Streams()), "read": 0}
	switch j.Pattern {
	case job.Read:
		v["read"] = 100
	case job.Mixed:
		v["read"] = float64(j.ReadPercent)
	}
	return v
}

// ownCPU are the seconds of this process, of its children that have ended, and of a broker elsewhere on the machine.
func ownCPU(pid int) (s float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if unix.Getrusage(who, &r) == nil {
			s += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
		}
	}
	if pid != 0 {
		s += machine.CPU(pid)
	}
	return s
}
