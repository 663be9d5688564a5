package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
)

// device runs a stage on files, by fio or by our own reads and writes.
func device(ctx context.Context, s job.Stage, o Options) ([]Measured, error) {
	if o.Fio != "" {
		return runFio(ctx, s, o)
	}
	d := &deviceRun{dir: o.Dir, stage: s, ring: o.Ring}
	defer d.close()
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	o.Settle()
	g := &gauge{look: func() (server, client machine.Usage) { return machine.Use(os.Getpid()), machine.Usage{} }}
	t := timing(s)
	t.Measured = g.mark
	warm, err := load.Run(ctx, t, d.streams, o.Progress)
	if err != nil {
		return nil, err
	}
	return someDone(gather(s, d.meters, g, warm, nil))
}

// someDone returns ErrNothing where a job has no request that ended in time.
func someDone(all []Measured) ([]Measured, error) {
	for _, m := range all {
		if m.Values["ops"] == 0 {
			return nil, fmt.Errorf("[%s]: %w", m.Job.Name, ErrNothing)
		}
	}
	return all, nil
}

// A deviceRun is a stage of our own reads and writes.
type deviceRun struct {
	dir     string
	stage   job.Stage
	ring    func(entries int) (Ring, error)
	meters  []*load.Meter
	streams []load.Stream
	files   map[string]*os.File
}

// prepare lays the files and makes a stream for each request in flight, or for each ring.
func (d *deviceRun) prepare(ctx context.Context) error {
	d.files = map[string]*os.File{}
	for _, j := range d.stage {
		m := load.NewMeter()
		d.meters = append(d.meters, m)
		for c := range j.Clones {
			files, err := d.open(ctx, j, c)
			if err != nil {
				return err
			}
			w := &blocks{job: j, files: files, left: load.NewBudget(blockBudget(j)), each: j.Size / int64(j.Files) / j.BlockSize}
			if err := d.clone(j, w, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// blockBudget is the bytes that a clone moves.
func blockBudget(j *job.Job) int64 {
	if j.TimeBased {
		return -1
	}
	return j.Size
}

// clone makes the streams of one clone.
func (d *deviceRun) clone(j *job.Job, w *blocks, m *load.Meter) error {
	if queued(j) {
		r, err := newRing(j, w, m, len(d.streams), d.ring)
		if err != nil {
			return err
		}
		d.streams = append(d.streams, load.Stream{Meter: m, Delay: j.StartDelay, Counts: true, Do: r.do, End: r.end})
		return nil
	}
	for range j.Depth {
		p, err := newPlain(j, w)
		if err != nil {
			return err
		}
		s := load.Stream{Meter: m, Delay: j.StartDelay, Poisson: j.Poisson, Do: p.do, End: p.end}
		s.Every = gap(j, float64(j.Depth*j.Clones))
		d.streams = append(d.streams, s)
	}
	return nil
}

// open opens a clone's files, which share a name with other jobs' where the job says one.
func (d *deviceRun) open(ctx context.Context, j *job.Job, clone int) ([]*os.File, error) {
	var files []*os.File
	for i := range j.Files {
		name := j.Name + "." + strconv.Itoa(clone) + "." + strconv.Itoa(i)
		if j.Filename != "" {
			name = j.Filename
		}
		f, err := openBlocks(filepath.Join(d.dir, filepath.Base(name)), j)
		if err != nil {
			return nil, err
		}
		d.files[j.Name+"/"+name+strconv.Itoa(clone)] = f
		if j.Overwrite || j.Pattern != job.Write {
			if err := lay(ctx, f.Name(), j.Size/int64(j.Files)); err != nil {
				return nil, err
			}
		}
		if j.PreRead {
			if err := warmFile(f.Name()); err != nil {
				return nil, err
			}
		} else if j.Invalidate {
			if err := chill(d.dir, filepath.Base(name)); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	return files, nil
}

func (d *deviceRun) close() {
	for _, f := range d.files {
		_ = f.Close() // what was to be durable was flushed; the file goes now
	}
}
