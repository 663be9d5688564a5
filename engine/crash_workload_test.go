package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// testNow is the wall clock of these tests, in ms: nothing here may depend on the real one.
const testNow = 1_700_000_000_000

func testClock() time.Time { return time.UnixMilli(testNow) }

// how is a way to write, for tests that are to hold for all of them.
type how struct {
	name   string
	writer Writer
	method SyncMethod
}

var ways = []how{
	{"buffered fdatasync", WriterBuffered, SyncFdatasync},
	{"buffered dsync", WriterBuffered, SyncDsync},
	{"direct", WriterDirect, SyncDsync},
	{"direct fdatasync", WriterDirect, SyncFdatasync},
}

// crashOptions open an engine that does nothing by itself.
func crashOptions(disk fs.FS, h how) Options {
	return Options{Dir: "/data", FS: disk, Now: testClock, SyncMethod: h.method, CheckpointInterval: time.Hour,
		RetentionInterval: -1, RecoveryWorkers: 1, CheckpointBytes: 16 << 10, StageBytes: 1 << 20}
}

// crashConfig makes everything small, so that a short workload comes to all places.
func crashConfig(h how, sync bool) Config {
	c := Config{SegmentBytes: 6 << 10, IndexInterval: 300, DeleteDelay: -1, RetentionAge: -1, Writer: h.writer}
	if sync {
		c.FlushMessages = 1
	}
	return c
}

// newDisk returns a disk with the directory of the logs on stable storage.
func crashDisk(seed uint64) *fs.Crash {
	d := fs.NewCrash(seed)
	if err := d.MkdirAll("/data"); err != nil {
		panic(err)
	}
	d.Settle()
	return d
}

// batchOf builds a batch of n records that say which they are.
func batchOf(id string, n, pad int, timestamp int64, producer int64, sequence int32) *record.Prepared {
	b := record.NewBuilder(record.None)
	if producer >= 0 {
		b.Producer(producer, 0, sequence)
	}
	for i := range n {
		b.Add(timestamp+int64(i), nil, fmt.Appendf(nil, "%s/%d %s", id, i, strings.Repeat(" ", pad)))
	}
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), record.DefaultRules(testNow)); err != nil {
		panic(err)
	}
	return p
}

// A client appends to one log, one batch after the other, and keeps the account.
type client struct {
	a        *account
	log      *Log
	rng      *rand.Rand
	mode     *atomic.Int64 // odd in sync mode; changed after a change of the configuration
	tag      string
	producer int64 // -1: plain
	sequence int32
	n        int
	firm     int64 // mode in which something was acknowledged: then everything before is flushed, what async left too
	pad      int   // most bytes beside a record; 0 is 600
}

// send appends a batch, sometimes twice if the producer is idempotent, and waits for the answers.
func (c *client) send() error { return c.start()() }

// start appends a batch; wait waits for the answers.
func (c *client) start() (wait func() error) {
	return c.startSized(1+c.rng.IntN(3), c.rng.IntN(orDefault(c.pad, 600)))
}

// sendSized is send for n records with so many bytes beside what they say.
func (c *client) sendSized(n, pad int) error { return c.startSized(n, pad)() }

func (c *client) startSized(n, pad int) (wait func() error) {
	c.n++
	id := fmt.Sprintf("%s.%02d", c.tag, c.n)
	p := batchOf(id, n, pad, testNow-int64(c.rng.IntN(100_000)), c.producer, c.sequence)
	times := 1
	if c.producer >= 0 {
		c.sequence += int32(n)
		times += c.rng.IntN(2)
	}
	e := event{kind: attempted, log: c.log.name, id: id, count: n, producer: c.producer, sequence: c.sequence}
	c.a.add(e)
	mode := c.mode.Load()
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for range times {
		all.Add(1)
		c.log.Append(p, 0, func(r Appended) {
			defer all.Done()
			if r.Err != nil {
				failed.Store(&r.Err)
				return
			}
			c.a.add(event{kind: acked, log: c.log.name, id: id, offset: r.BaseOffset, sync: mode%2 == 1 && c.mode.Load() == mode})
		})
	}
	return func() error {
		all.Wait()
		if err := failed.Load(); err != nil {
			return *err
		}
		if c.mode.Load() == mode {
			c.firm = mode
		}
		return nil
	}
}

// look records what the log says is flushed, and what a reader may see of a sync one.
func (c *client) look() {
	c.a.add(event{kind: seen, log: c.log.name, offset: c.log.FlushedOffset()})
	if mode := c.mode.Load(); mode%2 == 1 && c.firm == mode {
		if h := c.log.HighWatermark(); c.mode.Load() == mode {
			c.a.add(event{kind: seen, log: c.log.name, offset: h})
		}
	}
}

// script is a small workload, the same for every run of a seed, that comes to all places where a disk call is made.
// It stops at the first error.
func script(e *Engine, h how, a *account, seed uint64, plant planted) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	var logs []*client
	for i, topic := range []string{"sync", "async", "plain"} {
		c, err := newClient(e, a, topic, crashConfig(h, i != 1), rng, []int64{7, 8, -1}[i], plant)
		if err != nil {
			return err
		}
		logs = append(logs, c)
	}
	steps := []func() error{
		e.Checkpoint,
		func() error { return retire(e, a, logs[0], 8<<10) },
		func() error { return cutBack(a, logs[1], 3) },
		func() error { return cutBack(a, logs[2], 9) },
		func() error { return recreate(e, a, logs[2], crashConfig(h, true), plant) },
		func() error { return logs[1].log.Flush() },
		func() error { return deleteRecords(a, logs[0]) },
		e.Checkpoint,
		func() error { return switchMode(h, logs[1]) },
		func() error { return switchMode(h, logs[1]) },
		e.Checkpoint,
	}
	for _, step := range steps {
		for range 4 {
			for _, c := range logs {
				if err := c.send(); err != nil {
					return err
				}
				c.look()
			}
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func newClient(e *Engine, a *account, topic string, cfg Config, rng *rand.Rand, producer int64, plant planted) (*client, error) {
	l, err := e.Create(Name{topic, 0}, [16]byte{1}, cfg)
	if err != nil {
		return nil, err
	}
	l.w.planted = plant
	c := &client{a: a, log: l, rng: rng, mode: new(atomic.Int64), tag: topic, producer: producer}
	if cfg.Sync() {
		c.mode.Add(1)
	}
	return c, nil
}

// retire keeps so many bytes of a log, or one segment more.
func retire(e *Engine, a *account, c *client, bytes int64) error {
	cfg := c.log.Config()
	cfg.RetentionBytes = bytes
	c.log.SetConfig(cfg)
	a.add(event{kind: startMay, log: c.log.name, offset: c.log.LogEndOffset()})
	return e.Retain()
}

// cutBack takes the last n records off, while nobody appends.
func cutBack(a *account, c *client, n int64) error {
	to := max(c.log.LogStartOffset(), c.log.LogEndOffset()-n)
	a.add(event{kind: cutBegun, log: c.log.name, offset: to})
	if err := c.log.Truncate(to); err != nil {
		return err
	}
	a.add(event{kind: cutDone, log: c.log.name, offset: c.log.LogEndOffset()})
	c.producer, c.sequence = c.producer+1000, 0 // what it knows of its last batch may be wrong now
	return nil
}

func deleteRecords(a *account, c *client) error {
	to := c.log.HighWatermark() - 2
	a.add(event{kind: startMay, log: c.log.name, offset: to})
	_, err := c.log.DeleteRecordsTo(to)
	return err
}

// recreate deletes a log and makes one of the same name.
func recreate(e *Engine, a *account, c *client, cfg Config, plant planted) error {
	a.add(event{kind: deleteMay, log: c.log.name})
	if err := e.Delete(c.log.name); err != nil {
		return err
	}
	a.add(event{kind: deleteDone, log: c.log.name})
	l, err := e.Create(c.log.name, [16]byte{2}, cfg)
	if err != nil {
		return err
	}
	l.w.planted = plant
	c.log, c.sequence, c.tag = l, 0, c.tag+"'"
	return nil
}

// switchMode goes from sync to async or back.
func switchMode(h how, c *client) error {
	c.mode.Add(1)
	c.log.SetConfig(crashConfig(h, c.mode.Load()%2 == 1))
	return nil
}
