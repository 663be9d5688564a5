package suite

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

const (
	// fillFlight is how many appends are in flight on a log that is filled.
	fillFlight = 64
	// glance is how often bytes at risk are looked at.
	glance = 20 * time.Millisecond
)

// engineTarget is an engine in this process.
type engineTarget struct {
	dir string
	e   *engine.Engine

	mu   sync.Mutex
	logs map[string][]*engineLog
}

// An engineLog is a log with what is known of its records, and who waits at its end.
type engineLog struct {
	*engine.Log
	// recordBytes is what a record takes of the log, for bytes at risk.
	recordBytes atomic.Int64

	mu    sync.Mutex
	moved chan struct{} // closed at the next advance
}

func openEngine(_ context.Context, s job.Stage, o Options) (target, error) {
	opt, err := engineOptions(s)
	if err != nil {
		return nil, err
	}
	t := &engineTarget{dir: filepath.Join(o.Dir, "engine"), logs: map[string][]*engineLog{}}
	opt.Dir = t.dir
	opt.OnAdvance = func(l *engine.Log) {
		if e, ok := l.Attached().(*engineLog); ok {
			e.wake()
		}
	}
	if err := os.Mkdir(t.dir, 0o755); err != nil {
		return nil, err
	}
	if t.e, err = engine.Open(opt); err != nil {
		return nil, err
	}
	return t, nil
}

// engineOptions are what a stage's writers say together, since an engine has them for all its logs.
func engineOptions(s job.Stage) (opt engine.Options, err error) {
	opt.RetentionInterval = time.Second
	ring := map[bool]bool{}
	for _, j := range s {
		if j.Pattern == job.Read {
			continue
		}
		if j.Direct {
			ring[queued(j)] = true
		}
		switch {
		case j.Sync == job.Fdatasync || j.Sync == job.Fsync:
			opt.SyncMethod = engine.SyncFdatasync
		case j.Sync == job.Dsync || j.Sync == job.FullSync:
			opt.SyncMethod = engine.SyncDsync
		}
	}
	if len(ring) == 2 {
		return opt, errors.New("one stage has direct writers with a ring and others without: an engine has one or the other")
	}
	opt.NoRing = ring[false]
	return opt, nil
}

// queued reports whether a job's ioengine keeps several requests in flight by itself.
func queued(j *job.Job) bool { return j.Engine == "io_uring" || j.Engine == "libaio" }

// logConfig is what a job says of its logs.
func logConfig(j *job.Job) engine.Config {
	c := engine.Config{
		Writer: engine.WriterBuffered, DeleteDelay: -1, RetentionBytes: j.Own.Retention,
		SegmentBytes: int32(min(j.Own.Segment, 1<<30)), FlushInterval: time.Duration(j.Own.FlushMs) * time.Millisecond,
	}
	if j.Direct && j.Pattern != job.Read {
		c.Writer = engine.WriterDirect
	}
	switch {
	case j.Durable():
		c.FlushMessages = 1
	case j.SyncEvery > 1:
		c.FlushMessages = int64(j.SyncEvery) * max(1, j.Batch()/j.Record())
	}
	return c
}

func (t *engineTarget) create(_ context.Context, name string, n int, j *job.Job) error {
	for i := range n {
		l, err := t.e.Create(engine.Name{Topic: name, Partition: int32(i)}, [16]byte{1}, logConfig(j))
		if err != nil {
			return err
		}
		e := &engineLog{Log: l, moved: make(chan struct{})}
		l.Attach(e)
		t.mu.Lock()
		t.logs[name] = append(t.logs[name], e)
		t.mu.Unlock()
	}
	return nil
}

func (l *engineLog) wake() {
	l.mu.Lock()
	close(l.moved)
	l.moved = make(chan struct{})
	l.mu.Unlock()
}

// next returns what is closed at the log's next advance.
func (l *engineLog) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}

func (t *engineTarget) fill(ctx context.Context, name string, b *batch, bytes int64, cold bool) error {
	for _, l := range t.logs[name] {
		l.recordBytes.Store(int64(len(b.bytes)) / b.records)
		if err := fillLog(ctx, l.Log, b, bytes); err != nil {
			return err
		}
	}
	if err := t.e.Checkpoint(); err != nil {
		return err
	}
	if !cold {
		return t.warm(name)
	}
	return chill(t.dir, ".log")
}

// warm reads the logs once.
func (t *engineTarget) warm(name string) error {
	for part := range t.logs[name] {
		c, err := t.reader(name, part, 1<<20, nil)
		if err != nil {
			return err
		}
		for err == nil {
			_, err = c.read()
		}
		if err := errors.Join(err, c.Close()); !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

func fillLog(ctx context.Context, l *engine.Log, b *batch, bytes int64) error {
	slots := make(chan error, fillFlight)
	for range cap(slots) {
		slots <- nil
	}
	var p record.Prepared
	var failed error
	for at := int64(0); at < bytes && failed == nil; at += int64(len(b.bytes)) {
		if failed = <-slots; failed != nil {
			slots <- nil
			break
		}
		if failed = errors.Join(ctx.Err(), p.Prepare(b.bytes, rules())); failed != nil {
			slots <- nil
			break
		}
		l.Append(&p, 0, func(a engine.Appended) { slots <- a.Err })
	}
	for range cap(slots) {
		failed = errors.Join(failed, <-slots)
	}
	if failed != nil {
		return failed
	}
	return l.Flush()
}

// rules are a topic's defaults but for the size of a batch, which is the job's.
func rules() record.Rules {
	r := record.DefaultRules(time.Now().UnixMilli())
	r.MaxBatchBytes = 0
	return r
}

func (t *engineTarget) writer(name string, _ *job.Job, _ int, b *batch) (writer, error) {
	for _, l := range t.logs[name] {
		l.recordBytes.Store(int64(len(b.bytes)) / b.records)
	}
	w := &engineWriter{logs: t.logs[name], batch: b, done: make(chan error, 1)}
	w.rules = rules()
	w.answer = func(a engine.Appended) { w.done <- a.Err }
	return w, nil
}

type engineWriter struct {
	logs     []*engineLog
	batch    *batch
	rules    record.Rules
	prepared record.Prepared
	done     chan error
	answer   func(engine.Appended)
}

func (w *engineWriter) write(part int) error {
	if err := w.prepared.Prepare(w.batch.bytes, w.rules); err != nil {
		return err
	}
	w.logs[part].Append(&w.prepared, 0, w.answer)
	return <-w.done
}

func (w *engineWriter) Close() error { return nil }

func (t *engineTarget) reader(name string, part int, bytes int64, _ *batch) (reader, error) {
	l := t.logs[name][part]
	return &engineReader{log: l.Log, bytes: int(bytes), at: l.LogStartOffset()}, nil
}

// An engineReader reads whole batches into memory.
type engineReader struct {
	log   *engine.Log
	bytes int
	at    int64
}

func (r *engineReader) read() (int64, error) {
	got, err := r.log.Read(r.at, r.bytes, true)
	if errors.Is(err, engine.ErrOffsetOutOfRange) && r.at < r.log.LogStartOffset() { // retention was quicker
		r.rewind()
		got, err = r.log.Read(r.at, r.bytes, true)
	}
	if err != nil {
		return 0, err
	}
	defer got.Release()
	if got.Size == 0 {
		return 0, io.EOF
	}
	b, err := got.Bytes()
	if err != nil {
		return 0, err
	}
	n := 0
	for len(b)-n >= record.HeaderSize { // the last one may be cut off
		h := record.Batch(b[n:])
		if h.Size() > len(b)-n {
			break
		}
		n += h.Size()
		r.at = h.LastOffset() + 1
	}
	return int64(n), nil
}

func (r *engineReader) rewind() { r.at = r.log.LogStartOffset() }

func (r *engineReader) Close() error { return nil }

func (t *engineTarget) tail(name string, part int, b *batch) (tail, error) {
	l := t.logs[name][part]
	return &engineTail{log: l, at: l.HighWatermark(), batch: b}, nil
}

type engineTail struct {
	log   *engineLog
	at    int64
	batch *batch
}

func (t *engineTail) follow(stop <-chan struct{}, got func(time.Time, int64)) error {
	for {
		moved := t.log.next() // before the look, or an advance between the two would wake nobody
		if t.log.HighWatermark() > t.at {
			break
		}
		select {
		case <-moved:
		case <-stop:
			return load.ErrDone
		}
	}
	r, err := t.log.Read(t.at, 1<<20, true)
	if err != nil {
		return err
	}
	defer r.Release()
	b, err := r.Bytes()
	if err != nil {
		return err
	}
	t.at += int64(t.batch.stamps(b, got)) * t.batch.records
	return nil
}

func (t *engineTail) Close() error { return nil }

// look has no server apart from the client.
func (t *engineTarget) look() (server, client machine.Usage) {
	return machine.Use(os.Getpid()), machine.Usage{}
}

// beside looks at the bytes at risk, and recovers a log again and again where a job says so.
func (t *engineTarget) beside(ctx context.Context, s job.Stage) (results.Values, error) {
	var recovered int64
	for _, j := range s {
		recovered = max(recovered, j.Own.Recover)
	}
	v := results.Values{}
	var all sync.WaitGroup
	var failed error
	var times results.Values
	if recovered > 0 {
		all.Go(func() { times, failed = recoverAgain(ctx, t.dir+"-crashed", recovered) })
	}
	worst, sum, n := 0.0, 0.0, 0.0
	for tick := time.NewTicker(glance); ; {
		select {
		case <-tick.C:
			at := float64(t.atRisk()) / 1e6
			worst, sum, n = max(worst, at), sum+at, n+1
			continue
		case <-ctx.Done():
			tick.Stop()
		}
		break
	}
	all.Wait()
	maps.Copy(v, times)
	v["at_risk_MB"], v["at_risk_max_MB"] = sum/max(n, 1), worst
	return v, failed
}

// atRisk is the bytes that are acknowledged and not on stable storage.
func (t *engineTarget) atRisk() (bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, logs := range t.logs {
		for _, l := range logs {
			bytes += max(0, l.HighWatermark()-l.FlushedOffset()) * l.recordBytes.Load()
		}
	}
	return bytes
}

func (t *engineTarget) close() error { return t.e.Close() }
