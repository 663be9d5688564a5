package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// modelExpiration is when the model's engines forget an idle producer, in ms.
const modelExpiration = 3600_000

// A modelWorld is what a run of the model starts with.
type modelWorld struct {
	way         int  // of ways
	plain       bool // there is no ring
	staged      bool
	descriptors int
	seed        uint64 // of the disk

	trace func(m *modelRun, i int, s modelStep, err error) // is shown each step where it is not nil
}

func (w modelWorld) String() string {
	return fmt.Sprintf("world way=%d plain=%t staged=%t descriptors=%d seed=%d", w.way, w.plain, w.staged, w.descriptors, w.seed)
}

// A modelRun is an engine on a disk in memory, and the lists beside its logs.
type modelRun struct {
	modelWorld
	disk *fs.Crash
	now  atomic.Int64 // ms
	e    *Engine
	logs []*modelLog
	held []modelHeld
	ids  int
}

// modelHeld is a range that a reader has not released yet.
type modelHeld struct {
	r    Range
	want []byte
}

// modelFlight is an append that was not waited for.
type modelFlight struct {
	l      *modelLog
	b      modelBatch
	sync   bool
	answer chan Appended
}

const modelLogs = 3

// run does the steps in a new world and returns the number of the one that went wrong, and how.
func (w modelWorld) run(steps []modelStep) (failed int, err error) {
	m := &modelRun{modelWorld: w, disk: crashDisk(w.seed)}
	m.now.Store(testNow)
	if err := m.open(); err != nil {
		return 0, err
	}
	defer func() {
		m.release()
		if err != nil {
			m.disk.Halt(errors.New("the run is over"))
			_ = m.e.Close()
			return
		}
		err = m.e.Close()
	}()
	for i := range modelLogs {
		l := &modelLog{name: Name{fmt.Sprint("log", i), int32(i)}, cfg: modelConfig(0)}
		if err := m.create(l); err != nil {
			return 0, err
		}
		m.logs = append(m.logs, l)
	}
	for i, s := range steps {
		err := s.do(m)
		if w.trace != nil {
			w.trace(m, i, s, err)
		}
		if err != nil {
			return i, fmt.Errorf("step %d, %s: %w", i, s, err)
		}
	}
	return len(steps), m.checkAll()
}

func (m *modelRun) open() (err error) {
	m.disk.SetFaults(fs.Faults{NoQueue: m.plain})
	opt := crashOptions(m.disk, ways[m.way])
	opt.Now = func() time.Time { return time.UnixMilli(m.now.Load()) }
	opt.CheckpointInterval, opt.CheckpointBytes = -1, 32<<10
	opt.ProducerIDExpiration = modelExpiration * time.Millisecond
	opt.Descriptors = m.descriptors
	if !m.staged {
		opt.StageBytes = -1
	}
	m.e, err = Open(opt)
	return err
}

// create makes a log that is not there.
func (m *modelRun) create(l *modelLog) (err error) {
	*l = modelLog{name: l.name, cfg: l.cfg, epoch: l.epoch, producers: map[int64]*modelProducer{}, forgot: map[int64]int64{}, epochs: map[int64]int16{}}
	l.log, err = m.e.Create(l.name, [16]byte{1}, l.cfg)
	return err
}

// batch builds a batch of n records for a log, of a producer or none.
func (m *modelRun) batch(l *modelLog, n, pad int, producer int64, epoch int16, sequence int32, txn bool) (*record.Prepared, modelBatch) {
	m.ids++
	b := record.NewBuilder([]record.Codec{record.None, record.None, record.LZ4}[m.ids%3])
	if producer >= 0 {
		b.Producer(producer, epoch, sequence)
	}
	b.Transactional = txn
	mb := modelBatch{producer: producer, epoch: epoch, first: sequence, lastly: sequence + int32(n) - 1, txn: txn, leaderEpoch: l.epoch}
	for i := range n {
		t := m.now.Load() - int64((m.ids*7919+i*104729)%100_000) // in no order
		mb.times = append(mb.times, t)
		b.Add(t, nil, fmt.Appendf(nil, "b%d/%d %s", m.ids, i, strings.Repeat("x", pad)))
	}
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), record.DefaultRules(m.now.Load())); err != nil {
		panic(err)
	}
	return p, mb
}

// start appends a batch that must be taken, and does not wait for the answer.
func (m *modelRun) start(l *modelLog, p *record.Prepared, b modelBatch) (*modelFlight, error) {
	f := &modelFlight{l: l, sync: l.cfg.Sync(), answer: make(chan Appended, 1)}
	l.log.Append(p, l.epoch, func(a Appended) { f.answer <- a })
	if len(p.Bytes) > int(l.cfg.SegmentBytes) {
		if a := <-f.answer; !errors.Is(a.Err, ErrTooLargeForSegment) {
			return nil, fmt.Errorf("%d bytes for a segment of %d: %+v", len(p.Bytes), l.cfg.SegmentBytes, a)
		}
		return nil, nil
	}
	b.base, b.last = l.end, l.end+int64(len(b.times))-1
	b.bytes = append([]byte(nil), p.Bytes...)
	record.Batch(b.bytes).SetBaseOffset(b.base)
	record.Batch(b.bytes).SetPartitionLeaderEpoch(l.epoch)
	f.b = b
	l.put(b)
	if end := l.log.LogEndOffset(); end != l.end {
		return nil, fmt.Errorf("the log ends at %d, want %d", end, l.end)
	}
	return f, nil
}

// wait waits for appends.
func (m *modelRun) wait(all ...*modelFlight) error {
	for _, f := range all {
		if f == nil {
			continue
		}
		if err := f.ended(<-f.answer); err != nil {
			return err
		}
	}
	return nil
}

func (f *modelFlight) ended(a Appended) error {
	if a.Err != nil || a.Duplicate || a.BaseOffset != f.b.base || a.LastOffset != f.b.last || a.LogStartOffset != f.l.start || a.LogAppendTimeMs != -1 {
		return fmt.Errorf("appended %+v, want [%d, %d]", a, f.b.base, f.b.last)
	}
	if f.sync {
		f.l.firm = max(f.l.firm, f.b.last+1)
	}
	return nil
}

// append appends a batch and waits.
func (m *modelRun) append(l *modelLog, p *record.Prepared, b modelBatch) error {
	f, err := m.start(l, p, b)
	if err != nil || f == nil {
		return err
	}
	return m.wait(f)
}

// shrink has a log that has become long begin later, so that a long run needs no more memory than a short one.
func (m *modelRun) shrink(l *modelLog) error {
	if len(l.list) < 250 {
		return nil
	}
	if err := m.deleteRecords(l, l.list[len(l.list)/2].base); err != nil {
		return err
	}
	return m.retain(true)
}

func (m *modelRun) deleteRecords(l *modelLog, to int64) error {
	start, err := l.log.DeleteRecordsTo(to)
	l.start = max(l.start, to)
	if err != nil || start != l.start {
		return fmt.Errorf("records below %d deleted: the log starts at %d, %w; want %d", to, start, err, l.start)
	}
	l.epochsFrom = max(l.epochsFrom, l.start)
	return nil
}

// retain runs retention, which must delete what it should, where everything is written, and no more.
func (m *modelRun) retain(still bool) error {
	now := m.now.Load()
	want := map[*modelLog]int64{}
	for _, l := range m.logs {
		if want[l] = -1; still {
			want[l] = l.retained(now)
		}
	}
	if err := m.e.Retain(); err != nil {
		return err
	}
	for _, l := range m.logs {
		start := l.log.LogStartOffset()
		if still && start != want[l] || start != l.start && start != l.bases()[0] {
			return fmt.Errorf("%s starts at %d after retention, want %d; it was [%d, %d)", l.name, start, want[l], l.start, l.end)
		}
		l.start = start
		l.firmStart, l.epochsFrom = max(l.firmStart, l.bases()[0]), max(l.epochsFrom, start)
		l.trim()
		for id, p := range l.producers {
			if p.open < 0 && now-p.time >= modelExpiration {
				delete(l.producers, id)
				l.forgot[id] = l.end
			}
		}
	}
	return nil
}

// release gives up what readers hold, which must be what it was.
func (m *modelRun) release() error {
	var err error
	for _, h := range m.held {
		b, rerr := h.r.Bytes()
		h.r.Release()
		if rerr != nil || string(b) != string(h.want) {
			err = fmt.Errorf("a range that was held has changed: %d bytes of %d, %w", len(b), len(h.want), rerr)
		}
	}
	m.held = nil
	return err
}

// reopen stops the engine in order and opens it again.
func (m *modelRun) reopen() error {
	if err := m.release(); err != nil {
		return err
	}
	for _, l := range m.logs {
		l.firm, l.firmStart = l.end, l.start
	}
	if err := m.e.Close(); err != nil {
		return err
	}
	if err := m.open(); err != nil {
		return err
	}
	for _, l := range m.logs {
		if err := m.found(l, l.end, true); err != nil {
			return err
		}
	}
	return nil
}

// crash goes on with what a power cut leaves, or the death of the process alone.
func (m *modelRun) crash(policy fs.Policy, flights []*modelFlight) error {
	acked := map[*modelLog]int64{}
	for _, l := range m.logs {
		acked[l] = l.end
	}
	for _, f := range flights {
		if f != nil {
			acked[f.l] = min(acked[f.l], f.b.base)
		}
	}
	var rest []*modelFlight
	for _, f := range flights {
		if f == nil {
			continue
		}
		select {
		case a := <-f.answer:
			if err := f.ended(a); err != nil {
				return err
			}
			acked[f.l] = max(acked[f.l], f.b.last+1)
		default:
			rest = append(rest, f)
		}
	}
	low := map[*modelLog]int64{}
	for _, l := range m.logs {
		low[l] = max(l.firm, l.log.FlushedOffset())
		if policy == fs.KeepAll {
			low[l] = acked[l]
		}
	}
	left := m.disk.Clone(policy)
	if err := errors.Join(m.wait(rest...), m.release(), m.e.Close(), m.broken()); err != nil {
		return err
	}
	m.disk = left
	if err := m.open(); err != nil {
		return err
	}
	for _, l := range m.logs {
		if err := m.found(l, low[l], false); err != nil {
			return err
		}
	}
	return nil
}

// broken returns what the disk has to say of how it was used.
func (m *modelRun) broken() error {
	errs := m.disk.Violations()
	if files := closedUnflushed(m.disk); len(files) > 0 {
		errs = append(errs, fmt.Errorf("closed with unflushed writes: %v", files))
	}
	return errors.Join(errs...)
}

// found holds a log that a start has opened against the list, of which everything below low must be there.
func (m *modelRun) found(l *modelLog, low int64, clean bool) error {
	log, ok := m.e.Log(l.name)
	if !ok {
		if low > 0 {
			return fmt.Errorf("%s is not there, it had [%d, %d)", l.name, l.start, low)
		}
		return m.create(l)
	}
	if err := log.Err(); err != nil {
		return err
	}
	first := l.bases()[0]
	l.log = log
	log.SetConfig(l.cfg)
	start, end := log.LogStartOffset(), log.LogEndOffset()
	if end < low || end > l.end || start > l.start || start < min(max(l.firmStart, first), end) {
		return fmt.Errorf("%s is [%d, %d) after a start, was [%d, %d), of which no more than [%d, %d) could go", l.name, start, end, l.start, l.end, l.firmStart, low)
	}
	if clean && start != l.start {
		return fmt.Errorf("%s starts at %d after a stop, want %d", l.name, start, l.start)
	}
	was := l.start
	if !clean && start == end && end < l.end {
		l.lost = end
		l.trimTo(end)
	}
	l.trim() // before rebuild: what is in no file is in no state for certain
	if end < l.end {
		l.truncate(end, m.now.Load())
		if l.end != end && start != end {
			return fmt.Errorf("%s ends at %d, within a batch", l.name, end)
		}
	} else {
		l.rebuildAfter(clean, m.now.Load())
	}
	if !clean {
		l.settle()
	}
	l.start, l.end, l.firm = start, end, end
	l.epochsFrom = max(l.epochsFrom, min(was, end))
	return m.checkWhole(l)
}

// rebuildAfter is rebuild after a start that found everything. After an orderly stop it knows each producer's last batch.
func (l *modelLog) rebuildAfter(clean bool, now int64) {
	was := l.producers
	l.rebuild(now)
	for id, p := range l.producers {
		before := was[id]
		if n := len(p.recent); clean && before != nil && before.sure() && n > 0 {
			p.recent[n-1].maybe = now-p.newest().time >= modelExpiration
		}
	}
}
