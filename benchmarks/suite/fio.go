package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/results"
)

// FindFio returns fio and its version, or an empty path where there is none.
func FindFio(ctx context.Context) (path, version string) {
	path, err := exec.LookPath("fio")
	if err != nil {
		return "", ""
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", ""
	}
	return path, strings.TrimSpace(string(out))
}

// runFio has fio run a stage: the sections of the file as it was written, or of a copy with other times and sizes.
func runFio(ctx context.Context, s job.Stage, o Options) ([]Measured, error) {
	args := []string{"--output-format=json", "--directory=" + o.Dir}
	file := o.JobFile
	if file == "" || len(s) > 1 { // fio reports jobs of one group as one, unless they say otherwise: the copy does
		file = filepath.Join(o.Dir, "stage.fio")
		if err := writeStage(s, file); err != nil {
			return nil, err
		}
	}
	for _, j := range s {
		args = append(args, "--section="+j.Name)
	}
	o.Settle()
	out, err := fioOutput(ctx, o, append(args, file))
	if err != nil {
		return nil, err
	}
	return readFio(s, out)
}

// fioOutput runs fio and lets the progress know how time passes. What it prints goes to files: a pipe would be held by its jobs.
func fioOutput(ctx context.Context, o Options, args []string) ([]byte, error) {
	out, err := os.Create(filepath.Join(o.Dir, "fio.out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	problems, err := os.Create(filepath.Join(o.Dir, "fio.err"))
	if err != nil {
		return nil, err
	}
	defer problems.Close()
	c := exec.CommandContext(ctx, o.Fio, args...)
	c.Dir, c.Stdout, c.Stderr = o.Dir, out, problems // fio leaves files where it runs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it ends its jobs in order
	c.WaitDelay = stopTime
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("fio: %w", err)
	}
	err = pass(o, c.Wait)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), endJobs("--directory="+o.Dir))
	}
	said, rerr := os.ReadFile(out.Name())
	if err != nil {
		why, _ := os.ReadFile(problems.Name()) // without it there is still the status
		return nil, fmt.Errorf("fio: %w: %s%s", err, bytes.TrimSpace(why), fioSaid(said))
	}
	return said, rerr
}

// pass waits, and tells the progress of the time.
func pass(o Options, wait func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case now := <-tick.C:
			if o.Progress != nil {
				o.Progress(now.Sub(last))
			}
			last = now
		case err := <-ended:
			return err
		}
	}
}

// endJobs ends fio's jobs that have outlived it. They are processes in sessions of their own, and one that fio was about to start when it
// was told to end is not told by it. They are known by the argument that names this run's folder, which no other process has.
func endJobs(argument string) error {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, name := range all {
		line, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(line), "\x00"), argument) {
			continue // it has gone, or is another's
		}
		pid, err := strconv.Atoi(strings.Split(name, "/")[2])
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end fio's job %d: %w", pid, err)
		}
	}
	return nil
}

// fioSaid is what fio printed instead of JSON.
func fioSaid(out []byte) string {
	text, _, _ := strings.Cut(string(out), "{")
	return strings.TrimSpace(text)
}

// The parts of fio's JSON that are read here; fio(1) does not describe them, but they have been the same since 3.0.
type fioReport struct {
	Jobs []fioJob `json:"jobs"`
}

type fioJob struct {
	Name     string  `json:"jobname"`
	Error    int     `json:"error"`
	Read     fioSide `json:"read"`
	Write    fioSide `json:"write"`
	Sync     fioSync `json:"sync"`
	Runtime  float64 `json:"job_runtime"` // ms, of all clones together
	UserCPU  float64 `json:"usr_cpu"`     // percent of that
	SysCPU   float64 `json:"sys_cpu"`
	Switches float64 `json:"ctx"`
}

type fioSide struct {
	Bytes   float64 `json:"io_bytes"`
	Runtime float64 `json:"runtime"` // ms
	Ops     float64 `json:"total_ios"`
	IOPS    float64 `json:"iops"`
	Latency fioLat  `json:"lat_ns"`
	Clat    fioLat  `json:"clat_ns"`
}

type fioSync struct {
	Latency fioLat `json:"lat_ns"`
}

type fioLat struct {
	N           float64            `json:"N"`
	Max         float64            `json:"max"`
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
}

// readFio takes each job's figures out of fio's report. Warnings may stand before the JSON.
func readFio(s job.Stage, out []byte) ([]Measured, error) {
	i := bytes.IndexByte(out, '{')
	if i < 0 {
		return nil, fmt.Errorf("fio said %q instead of JSON", out[:min(len(out), 200)])
	}
	var r fioReport
	if err := json.NewDecoder(bytes.NewReader(out[i:])).Decode(&r); err != nil {
		return nil, fmt.Errorf("fio's JSON: %w", err)
	}
	var all []Measured
	for _, j := range s {
		v, err := r.values(j)
		if err != nil {
			return nil, err
		}
		all = append(all, Measured{Job: j, Values: v})
	}
	return all, nil
}

// values are those of a job: its clones are one where group_reporting is set, and else several of its name.
func (r *fioReport) values(j *job.Job) (results.Values, error) {
	v := results.Values{}
	var bytes, ops, cpu, n float64
	for _, f := range r.Jobs {
		if f.Name != j.Name {
			continue
		}
		if f.Error != 0 {
			return nil, fmt.Errorf("fio: job %s ended with errno %d", j.Name, f.Error)
		}
		n++
		for _, side := range []fioSide{f.Read, f.Write} {
			if side.Ops == 0 || side.Runtime == 0 {
				continue
			}
			v["MB_s"] += side.Bytes / 1e6 / (side.Runtime / 1e3)
			v["ops_s"] += side.IOPS
			bytes, ops = bytes+side.Bytes, ops+side.Ops
			side.latencies(j, f.Sync, v)
		}
		cpu += (f.UserCPU + f.SysCPU) / 100 * f.Runtime / 1e3
		v["switches_per_op"] += f.Switches
	}
	if n == 0 || ops == 0 {
		return nil, fmt.Errorf("fio, job %s: %w", j.Name, ErrNothing)
	}
	v["ops"] = ops
	v["cpu_s_per_GB"], v["cpu_us_per_op"] = cpu/(bytes/1e9), cpu*1e6/ops
	v["switches_per_op"] /= ops
	return v, nil
}

// latencies puts percentiles into v; of several clones those of the slowest. Where a flush follows each write fio has two
// distributions, and v gets that of the flushes, which are the longer part, with the mean of the writes added.
func (s *fioSide) latencies(j *job.Job, sync fioSync, v results.Values) {
	lat, more := s.Clat, 0.0
	if sync.Latency.N > 0 && j.SyncEvery == 1 {
		lat, more = sync.Latency, s.Clat.Mean
	}
	for name, p := range map[string]string{"p50": "50.000000", "p90": "90.000000", "p99": "99.000000", "p999": "99.900000", "p9999": "99.990000"} {
		k := "lat_" + name + "_ms"
		v[k] = max(v[k], (lat.Percentiles[p]+more)/1e6)
	}
	v["lat_max_ms"] = max(v["lat_max_ms"], (lat.Max+more)/1e6)
}
