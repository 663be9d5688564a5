package suite

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// A target has the logs of a stage: an engine, or a broker.
type target interface {
	// create makes n logs for jobs that share a name; durable and the like are as the first of them that writes says.
	create(ctx context.Context, name string, n int, j *job.Job) error
	// fill appends equal batches to each log of a name until it has bytes, on stable storage; cold says that the page cache
	// is not to have them.
	fill(ctx context.Context, name string, b *batch, bytes int64, cold bool) error
	// writer, reader and tail are for one stream of a job each.
	writer(name string, j *job.Job, stream int, b *batch) (writer, error)
	reader(name string, part int, bytes int64, b *batch) (reader, error)
	tail(name string, part int, b *batch) (tail, error)
	// look is what the processes have used.
	look() (server, client machine.Usage)
	// beside runs with the load, until the context ends, and returns values of its own.
	beside(ctx context.Context, s job.Stage) (results.Values, error)
	close() error
}

// A writer appends the stream's batch to one of its job's logs and returns when that is acknowledged.
type writer interface {
	write(part int) error
	io.Closer
}

// A reader reads a log in order, some bytes at a time; io.EOF is its end, and rewind goes back to its start.
type reader interface {
	read() (bytes int64, err error)
	rewind()
	io.Closer
}

// A tail waits for what is appended, and tells of each batch when it was due and how large it is; load.ErrDone when it is
// stopped and there is nothing more.
type tail interface {
	follow(stop <-chan struct{}, got func(due time.Time, bytes int64)) error
	io.Closer
}

// lagTime is how long consumers may take to see what was appended, once a run is over.
const lagTime = 10 * time.Second

// fillBatch is the most bytes of the batches of a log that is made to be read.
const fillBatch = 64 << 10

// withTarget opens a target, runs the stage on it and closes it.
func withTarget(ctx context.Context, s job.Stage, o Options, open func(context.Context, job.Stage, Options) (target, error)) (all []Measured, err error) {
	t, err := open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	r := stageRun{target: t, stage: s, options: o}
	defer func() { err = errors.Join(err, r.end()) }()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	o.Settle()
	return r.run(ctx)
}

// A stageRun is a stage on its way.
type stageRun struct {
	target  target
	stage   job.Stage
	options Options
	meters  []*load.Meter
	streams []load.Stream
	closers []io.Closer
	made    map[string]bool
}

// named is what a job's logs are called: they are shared with jobs of the same filename.
func named(j *job.Job) string {
	if j.Filename != "" {
		return "f-" + j.Filename
	}
	return "j-" + j.Name
}

// written returns the job of the stage that writes the log which j reads, or nil.
func (r *stageRun) written(j *job.Job) *job.Job {
	for _, w := range r.stage {
		if w != j && w.Pattern == job.Write && j.Pattern == job.Read && j.Filename != "" && w.Filename == j.Filename {
			return w
		}
	}
	return nil
}

// followed reports whether a job of the stage waits for what j writes.
func (r *stageRun) followed(j *job.Job) bool {
	for _, t := range r.stage {
		if r.written(t) == j {
			return true
		}
	}
	return false
}

// prepare makes the logs and the streams of all jobs: those that write first, since the logs are theirs.
func (r *stageRun) prepare(ctx context.Context) error {
	r.made = map[string]bool{}
	r.meters = make([]*load.Meter, len(r.stage))
	for i := range r.meters {
		r.meters[i] = load.NewMeter()
	}
	for _, writes := range []bool{true, false} {
		for i, j := range r.stage {
			if (j.Pattern != job.Read) != writes {
				continue
			}
			if err := r.logs(ctx, j); err != nil {
				return err
			}
			for k := range j.Streams() {
				if err := r.stream(j, r.meters[i], k); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// logs makes a job's logs, and what is to be read of them.
func (r *stageRun) logs(ctx context.Context, j *job.Job) error {
	name := named(j)
	if r.made[name] {
		return nil
	}
	r.made[name] = true
	if err := r.target.create(ctx, name, j.Logs(), j); err != nil {
		return err
	}
	if j.Pattern == job.Write {
		return nil
	}
	b, err := batchOf(j, fillBatch)
	if err != nil {
		return err
	}
	each := j.Size * int64(j.Clones) / int64(j.Logs())
	if j.Filename != "" {
		each = j.Size
	}
	cold := j.Pattern == job.Read && !j.PreRead && (j.Invalidate || j.Direct)
	return r.target.fill(ctx, name, b, each, cold)
}

// stream makes the k'th stream of a job.
func (r *stageRun) stream(j *job.Job, m *load.Meter, k int) error {
	s := load.Stream{Meter: m, Poisson: j.Poisson}
	if n := j.PerSecond(j.Batch()); n > 0 {
		s.Every = time.Duration(float64(time.Second) * float64(j.Streams()) / n)
	}
	var err error
	switch {
	case r.written(j) != nil:
		s.Every, s.Counts = 0, true // the writer sets the pace
		s.Do, s.End, err = r.tails(j, r.written(j), m, k)
	case j.Pattern == job.Write:
		s.Delay = j.StartDelay
		s.Do, err = r.writes(j, k)
	case j.Pattern == job.Read:
		s.Delay = j.StartDelay
		s.Do, err = r.reads(j, k)
	default:
		s.Delay = j.StartDelay
		s.Do, err = r.mixed(j, k)
	}
	if err != nil {
		return err
	}
	r.streams = append(r.streams, s)
	return nil
}

type doFunc = func(<-chan struct{}, time.Time) (int64, error)

// budget is what a stream of a job may move.
func budget(j *job.Job) int64 {
	if j.TimeBased {
		return -1
	}
	return j.Size * int64(j.Clones) / int64(j.Streams())
}

// writes appends to the job's logs in turn, streams beside each other starting at different ones.
func (r *stageRun) writes(j *job.Job, k int) (doFunc, error) {
	b, err := batchOf(j, unlimited)
	if err != nil {
		return nil, err
	}
	w, err := r.target.writer(named(j), j, k, b)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, w)
	left, part, stamped := load.NewBudget(max(budget(j), int64(len(b.bytes))*sign(budget(j)))), k, r.followed(j)
	return func(_ <-chan struct{}, due time.Time) (int64, error) {
		if err := left.Take(int64(len(b.bytes))); err != nil {
			return 0, err
		}
		if stamped {
			b.stamp(due)
		}
		err := w.write(part % j.Logs())
		part += j.Streams()
		return int64(len(b.bytes)), err
	}, nil
}

// sign is -1 of a negative number and else 1: a budget that ends has one request at least.
func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// reads reads one of the job's logs from its start, again and again where the job is of a time.
func (r *stageRun) reads(j *job.Job, k int) (doFunc, error) {
	b, err := batchOf(j, fillBatch)
	if err != nil {
		return nil, err
	}
	c, err := r.target.reader(named(j), k%j.Logs(), j.Batch(), b)
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, c)
	return func(<-chan struct{}, time.Time) (int64, error) { return readOn(c, j.TimeBased) }, nil
}

// readOn reads, from the start again at the end where that is wanted.
func readOn(c reader, again bool) (int64, error) {
	n, err := c.read()
	if errors.Is(err, io.EOF) && again {
		c.rewind()
		n, err = c.read()
	}
	if errors.Is(err, io.EOF) {
		return 0, load.ErrDone
	}
	return n, err
}

// mixed reads and writes in the job's proportion.
func (r *stageRun) mixed(j *job.Job, k int) (doFunc, error) {
	write, err := r.writes(j, k)
	if err != nil {
		return nil, err
	}
	again := *j
	again.TimeBased = true
	read, err := r.reads(&again, k)
	if err != nil {
		return nil, err
	}
	owed := 0
	return func(stop <-chan struct{}, due time.Time) (int64, error) {
		if owed += j.ReadPercent; owed >= 100 {
			owed -= 100
			return read(stop, due)
		}
		return write(stop, due)
	}, nil
}

// tails follows the log of a writer. What was due in the measured time and is not seen at its end is followed further, for a while: left
// out, a consumer that lags would look like one that does not.
func (r *stageRun) tails(j, w *job.Job, m *load.Meter, k int) (do doFunc, end func() error, err error) {
	if w.Own.Codec != "" && w.Own.Codec != "none" {
		return nil, nil, errNoStamp
	}
	b, err := batchOf(w, unlimited)
	if err != nil {
		return nil, nil, err
	}
	t, err := r.target.tail(named(j), 0, b)
	if err != nil {
		return nil, nil, err
	}
	r.closers = append(r.closers, t)
	do = func(stop <-chan struct{}, _ time.Time) (int64, error) {
		start := time.Now()
		return 0, t.follow(stop, func(due time.Time, bytes int64) { m.Done(k, due, start, time.Now(), bytes) })
	}
	end = func() error {
		stopped := make(chan struct{})
		close(stopped)
		for until := time.Now().Add(lagTime); time.Now().Before(until); {
			if _, err := do(stopped, time.Time{}); err != nil {
				return err // ErrDone: there is no more
			}
		}
		return nil
	}
	return do, end, nil
}

func (r *stageRun) end() (err error) {
	for _, c := range r.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// run measures.
func (r *stageRun) run(ctx context.Context) ([]Measured, error) {
	g := &gauge{look: r.target.look}
	t := timing(r.stage)
	t.Measured = g.mark
	bctx, cancel := context.WithCancel(ctx)
	type outcome struct {
		values results.Values
		err    error
	}
	beside := make(chan outcome, 1)
	go func() {
		v, err := r.target.beside(bctx, r.stage)
		beside <- outcome{v, err}
	}()
	warm, err := load.Run(ctx, t, r.streams, r.options.Progress)
	cancel()
	other := <-beside
	if err := errors.Join(err, other.err); err != nil {
		return nil, err
	}
	return someDone(gather(r.stage, r.meters, g, warm, other.values))
}
