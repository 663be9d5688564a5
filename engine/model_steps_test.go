package engine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
)

// A modelStep is something that is done to an engine and to the lists beside it. Its numbers say what exactly, given the state
// that it meets, so that a step has a meaning whatever came before: steps may be left out.
type modelStep struct {
	op      string
	a, b, c int // below modelNumbers; a is mostly the log
}

const modelNumbers = 1000

func (s modelStep) String() string {
	text := fmt.Sprint(s.op, " ", s.a, " ", s.b, " ", s.c)
	if s.op == "config" {
		c := modelConfig(s.b)
		text += fmt.Sprintf("\t# flush.messages=%d, writer %s, segment %d bytes %v, index %d bytes each %d, retention %v %d bytes, delete delay %v, keep all %t",
			c.FlushMessages, c.Writer, c.SegmentBytes, c.SegmentAge, c.IndexBytes, c.IndexInterval, c.RetentionAge, c.RetentionBytes, c.DeleteDelay, c.KeepAll)
	}
	return text
}

func parseModelStep(line string) (s modelStep, err error) {
	line, _, _ = strings.Cut(line, "#")
	if _, err = fmt.Sscan(line, &s.op, &s.a, &s.b, &s.c); err == nil && modelOps[s.op].do == nil {
		err = fmt.Errorf("no step is called %q", s.op)
	}
	return s, err
}

func (s modelStep) do(m *modelRun) error {
	l := m.logs[s.a%len(m.logs)]
	if err := modelOps[s.op].do(m, l, s); err != nil {
		return err
	}
	return m.check(l)
}

// modelOps are the kinds of steps, and how often they come.
var modelOps map[string]modelOp

type modelOp struct {
	weight int
	do     func(m *modelRun, l *modelLog, s modelStep) error
}

func init() { // the table and its functions know each other
	modelOps = map[string]modelOp{
		"append": {18, func(m *modelRun, l *modelLog, s modelStep) error {
			if err := m.shrink(l); err != nil {
				return err
			}
			p, b := m.batch(l, 1+s.b%3, s.c, -1, 0, 0, false)
			return m.append(l, p, b)
		}},
		"burst":    {8, func(m *modelRun, l *modelLog, s modelStep) error { return m.burst(l, s, m.wait) }},
		"send":     {16, (*modelRun).send},
		"again":    {8, (*modelRun).again},
		"refused":  {4, (*modelRun).refused},
		"transact": {8, (*modelRun).transact},
		"mark":     {7, (*modelRun).mark},
		"read": {12, func(m *modelRun, l *modelLog, s modelStep) error {
			_, err := m.read(l, l.place(s.b), []int{1, 200, 900, 4000, 1 << 20}[s.c%5], s.c%2 == 0, s.c%7 == 0 && len(m.held) < 3)
			return err
		}},
		"beyond": {1, func(m *modelRun, l *modelLog, s modelStep) error {
			_, err := m.read(l, []int64{l.start - 1 - int64(s.b), l.end + 1 + int64(s.b)}[s.c%2], 100, true, false)
			return err
		}},
		"time":   {4, func(m *modelRun, l *modelLog, s modelStep) error { return m.checkTimes(l, m.now.Load()-int64(s.b*200)) }},
		"epochs": {3, func(m *modelRun, l *modelLog, s modelStep) error { return m.checkEpochs(l, l.place(s.b)) }},
		"aborted": {3, func(m *modelRun, l *modelLog, s modelStep) error {
			from := l.place(s.b)
			return m.checkAborted(l, from, from+int64(s.c%50))
		}},
		"release":  {2, func(m *modelRun, _ *modelLog, _ modelStep) error { return m.release() }},
		"leader":   {2, func(_ *modelRun, l *modelLog, _ modelStep) error { l.epoch++; return nil }},
		"truncate": {4, (*modelRun).truncate},
		"delete": {3, func(m *modelRun, l *modelLog, s modelStep) error {
			return m.deleteRecords(l, l.start+(l.end-l.start)*int64(s.b%4)/3)
		}},
		"retain": {4, func(m *modelRun, _ *modelLog, s modelStep) error { return m.retain(s.b%3 > 0) }},
		"clock": {3, func(m *modelRun, _ *modelLog, s modelStep) error {
			m.now.Add(int64(s.b * s.b)) // 17 minutes at most
			return nil
		}},
		"config": {5, func(m *modelRun, l *modelLog, s modelStep) error {
			l.cfg = modelConfig(s.b)
			l.log.SetConfig(l.cfg)
			return nil
		}},
		"flush": {2, func(m *modelRun, l *modelLog, _ modelStep) error {
			l.firm = l.end
			return l.log.Flush()
		}},
		"checkpoint": {3, func(m *modelRun, _ *modelLog, _ modelStep) error {
			for _, l := range m.logs {
				l.firm, l.firmStart = l.end, l.start
			}
			return m.e.Checkpoint()
		}},
		"rest": {2, func(m *modelRun, l *modelLog, _ modelStep) error {
			l.log.drain()
			return l.checkSegments()
		}},
		"recreate": {1, func(m *modelRun, l *modelLog, _ modelStep) error {
			if err := m.e.Delete(l.name); err != nil {
				return err
			}
			return m.create(l)
		}},
		"reopen": {1, func(m *modelRun, _ *modelLog, _ modelStep) error { return m.reopen() }},
		"kill":   {1, func(m *modelRun, l *modelLog, s modelStep) error { return m.fall(l, s, fs.KeepAll) }},
		"cut":    {1, func(m *modelRun, l *modelLog, s modelStep) error { return m.fall(l, s, fs.DropUnflushed) }},
		"tear":   {1, func(m *modelRun, l *modelLog, s modelStep) error { return m.fall(l, s, fs.Random) }},
	}
}

// modelSteps draws n steps.
func modelSteps(rng *rand.Rand, n int) (all []modelStep) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(modelOps)) {
		for range modelOps[name].weight {
			names = append(names, name)
		}
	}
	for range n {
		all = append(all, modelStep{names[rng.IntN(len(names))], rng.IntN(modelNumbers), rng.IntN(modelNumbers), rng.IntN(modelNumbers)})
	}
	return all
}

var modelSegmentBytes = []int32{1500, 5000, 20_000}

// modelConfig returns one of many configurations. The last of a list comes with the largest numbers.
func modelConfig(n int) Config {
	pick := func(of int) (i int) {
		i, n = n%of, n/of
		return i
	}
	return Config{
		FlushMessages:  []int64{0, 1, 5}[pick(3)],
		Writer:         []Writer{WriterAuto, WriterBuffered, WriterDirect}[pick(3)],
		SegmentBytes:   modelSegmentBytes[pick(3)],
		RetentionBytes: []int64{0, 6000}[pick(2)],
		RetentionAge:   []time.Duration{-1, 10 * time.Minute}[pick(2)],
		IndexBytes:     []int32{0, 48}[pick(2)],
		IndexInterval:  []int32{300, 1}[pick(2)],
		SegmentAge:     []time.Duration{0, 5 * time.Minute}[n%2],
		DeleteDelay:    []time.Duration{-1, time.Minute}[n%2],
		KeepAll:        n%3 == 2,
	}
}

// place returns an offset that may be read.
func (l *modelLog) place(n int) int64 { return l.start + (l.end-l.start)*int64(n)/(modelNumbers-1) }

// burst appends some batches without waiting between them, and hands them to then.
func (m *modelRun) burst(l *modelLog, s modelStep, then func(...*modelFlight) error) error {
	if err := m.shrink(l); err != nil {
		return err
	}
	var all []*modelFlight
	for i := range 1 + s.b%8 {
		p, b := m.batch(l, 1+i%3, s.c, -1, 0, 0, false)
		f, err := m.start(l, p, b)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	return then(all...)
}

// fall crashes in the middle of appends.
func (m *modelRun) fall(l *modelLog, s modelStep, policy fs.Policy) error {
	return m.burst(l, s, func(all ...*modelFlight) error { return m.crash(policy, all) })
}

// send appends the next batch of an idempotent producer, or the first one of a new epoch.
func (m *modelRun) send(l *modelLog, s modelStep) error {
	if err := m.shrink(l); err != nil {
		return err
	}
	id := int64(s.b % 4)
	epoch, sequence := l.next(id, false)
	if s.c%10 == 0 {
		epoch, sequence = epoch+1, 0
	}
	p, b := m.batch(l, 1+s.c%3, s.c/3, id, epoch, sequence, false)
	return m.append(l, p, b)
}

// again sends a batch of an idempotent producer that was sent before.
func (m *modelRun) again(l *modelLog, s modelStep) error {
	id := int64(s.b % 4)
	p := l.producers[id]
	if p == nil || !p.sure() {
		return nil
	}
	was := p.recent[s.c%len(p.recent)]
	if was.guessed {
		return nil
	}
	b := record.NewBuilder(record.None).Producer(id, p.epoch, was.first)
	for range was.last - was.base + 1 {
		b.Add(m.now.Load(), nil, []byte("again"))
	}
	var again record.Prepared
	if err := again.Prepare(b.Bytes(), record.DefaultRules(m.now.Load())); err != nil {
		return err
	}
	a := appendOne(l.log, &again)
	for _, r := range p.recent { // one that was forgotten may have begun with the same sequence again
		if r.first == was.first && r.lastly == was.lastly && r.base == a.BaseOffset {
			was = r
		}
	}
	switch {
	case a.Err == nil && a.Duplicate && a.BaseOffset == was.base && a.LastOffset == was.last:
		if l.cfg.Sync() {
			l.firm = max(l.firm, was.last+1)
		}
		return nil
	case errors.Is(a.Err, producer.ErrOutOfOrderSequence) && was.maybe:
		return nil
	default:
		return fmt.Errorf("producer %d sent %+v again: %+v", id, was, a)
	}
}

// refused sends what must not be appended: a gap, or a batch of an older epoch.
func (m *modelRun) refused(l *modelLog, s modelStep) error {
	id := int64(s.b % 4)
	p := l.producers[id]
	if p == nil || !p.sure() {
		return nil
	}
	epoch, sequence, want := p.epoch, p.newest().lastly+2, producer.ErrOutOfOrderSequence
	if s.c%2 == 0 {
		epoch, sequence, want = epoch-1, p.newest().lastly+1, producer.ErrInvalidEpoch
	}
	if epoch < 0 {
		return nil
	}
	batch, _ := m.batch(l, 1, 10, id, epoch, sequence, false)
	if a := appendOne(l.log, batch); !errors.Is(a.Err, want) {
		return fmt.Errorf("producer %d sent sequence %d in epoch %d after %+v: %+v, want %v", id, sequence, epoch, p.newest(), a, want)
	}
	return nil
}

// transact appends a batch of a transaction.
func (m *modelRun) transact(l *modelLog, s modelStep) error {
	id := int64(100 + s.b%3)
	epoch, sequence := l.next(id, true)
	p, b := m.batch(l, 1+s.c%3, s.c/5, id, epoch, sequence, true)
	return m.append(l, p, b)
}

// mark ends a transaction, or none.
func (m *modelRun) mark(l *modelLog, s modelStep) error {
	id := int64(100 + s.b%3)
	k := Marker{ProducerID: id, Commit: s.c%2 == 0}
	if p := l.producers[id]; p != nil {
		k.ProducerEpoch = p.epoch
	}
	a := endAs(l, k)
	if a.Err != nil || a.BaseOffset != l.end || a.LastOffset != l.end {
		return fmt.Errorf("marker of producer %d: %+v, want offset %d", id, a, l.end)
	}
	r, err := l.log.Read(l.end, 1, true)
	if err != nil {
		return err
	}
	defer r.Release()
	stored, err := r.Bytes()
	if err != nil {
		return err
	}
	batch := record.Batch(stored)
	if err := batch.Check(); err != nil || batch.BaseOffset() != l.end || batch.ProducerID() != id || !batch.IsControl() {
		return fmt.Errorf("marker at offset %d: %x, %w", l.end, stored, err)
	}
	l.put(modelBatch{base: l.end, last: l.end, bytes: stored, times: []int64{m.now.Load()}, leaderEpoch: l.epoch,
		producer: id, epoch: k.ProducerEpoch, marker: true, commit: k.Commit})
	if l.cfg.Sync() {
		l.firm = l.end
	}
	return nil
}

// truncate takes some of the last records off, or all.
func (m *modelRun) truncate(l *modelLog, s modelStep) error {
	to := l.end - int64(s.b%40)
	if s.c%20 == 0 {
		to = l.start - int64(s.b%5)
	}
	if to < 0 {
		if err := l.log.Truncate(to); !errors.Is(err, ErrOffsetOutOfRange) {
			return fmt.Errorf("truncated to %d: %w", to, err)
		}
		return nil
	}
	to = max(to, min(l.lost, l.end))
	all, below := len(l.list) == 0 || to < l.list[0].base, to <= l.start && to < l.end
	if err := l.log.Truncate(to); err != nil {
		return fmt.Errorf("truncated to %d: %w", to, err)
	}
	if all || below && slices.Equal(l.bases(), []int64{to}) { // what lies below the start a power cut may have taken
		l.list = nil
		l.begun(to)
	}
	l.truncate(to, m.now.Load())
	l.settle()
	return nil
}

// begun takes over what the log knows of producers once all records are gone: nothing, as in Kafka, or what the snapshot of just
// that offset says.
func (l *modelLog) begun(at int64) {
	l.old = nil
	for _, g := range l.log.Producers() {
		b := modelBatch{base: at - 1, last: at - 1, times: []int64{g.LastTimestamp}, producer: g.ID, epoch: g.Epoch,
			first: g.LastSequence, lastly: g.LastSequence, guessed: true}
		if g.CurrentTxnStartOffset >= 0 {
			b.base, b.txn = g.CurrentTxnStartOffset, true
		}
		l.old = append(l.old, b)
	}
}

// endAs appends a marker for the leader of a log.
func endAs(l *modelLog, k Marker) Appended {
	done := make(chan Appended, 1)
	l.log.AppendMarker(k, l.epoch, func(a Appended) { done <- a })
	return <-done
}
