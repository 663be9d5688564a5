package powerloss

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// engineRole is a process that opens an engine, tells what is there, and appends until the power goes.
const engineRole = "engine"

// An event is what the process tells, a line of JSON each. A line that a kill takes away is an acknowledgement that nobody got.
type event struct {
	Log  string  `json:",omitempty"`
	What string  // see the constants
	ID   batchID `json:",omitempty"`
	// Base and Last are offsets of a batch, the start and the end of a log, or, in Base alone, what a call was told.
	Base, Last int64 `json:",omitempty"`
	Sync       bool  `json:",omitempty"`
	// At is when, by the machine's monotonic clock, in ns.
	At  int64
	Err string `json:",omitempty"`
}

// What an event says. Of two that are a pair the first comes before the call, and the second when it has returned.
const (
	isLog       = "log"   // there is one, from Base to Last
	isBatch     = "batch" // it holds this
	isOpen      = "open"  // all was told
	acknowledge = "acknowledged"
	flushed     = "flushed"  // what lies below Base
	truncating  = "truncate" // to Base
	truncated   = "truncated"
	deleting    = "delete"
	deleted     = "deleted"
	closed      = "closed" // in order
	failed      = "failed"
)

// logs are the logs that the process has. Which writer each has differs from round to round.
var logs = []spec{
	{name: "sync-large", sync: true, large: 600 << 10}, {name: "async-large", large: 600 << 10},
	{name: "sync", sync: true}, {name: "async"},
	{name: "switched", switches: true}, {name: "flushed", flushes: true},
	{name: "sync-cut", sync: true, cuts: true}, {name: "async-cut", cuts: true},
	{name: "sync-kept", sync: true, retains: true}, {name: "async-kept", retains: true},
	{name: "sync-mortal", sync: true, dies: true}, {name: "async-mortal", dies: true},
}

// A spec says what is done to a log beside appends.
type spec struct {
	name                                   string
	sync                                   bool
	large                                  int // the largest record, in bytes; 0 is 60 KiB
	switches, flushes, cuts, retains, dies bool
}

func (s spec) largest() int { return max(s.large, 60<<10) }

func specOf(name string) spec {
	for _, s := range slices.Concat(logs, topics) {
		if s.name == name {
			return s
		}
	}
	return spec{}
}

// most is the size of a log, in bytes, with which it is deleted when a round begins.
const most = 6 << 20

// A child is the process.
type child struct {
	e    *engine.Engine
	seed uint64
	next atomic.Int64 // batch id
	pace chan struct{}
	stop chan struct{}

	out struct {
		sync.Mutex
		*json.Encoder
	}
}

// newChild reads what a process was started with.
func newChild() (c *child, dir string) {
	at := flag.String("dir", "", "")
	seed := flag.Uint64("seed", 0, "")
	round := flag.Int("round", 0, "")
	flag.Parse()
	c = &child{seed: *seed, pace: make(chan struct{}, 64), stop: make(chan struct{})}
	c.next.Store(int64(*round) * perRound)
	c.out.Encoder = json.NewEncoder(os.Stdout)
	return c, *at
}

// rng returns the random numbers of one part of the process.
func (c *child) rng(part int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(part))) }

func engineMain() error {
	c, dir := newChild()
	rng := c.rng(1)
	o := engine.Options{
		Dir: dir, StageBytes: 4 << 20, ReserveBytes: 1 << 20, ZeroAheadBytes: 32 << 20,
		CheckpointInterval: 20 * time.Millisecond << rng.IntN(8), CheckpointBytes: 256 << 10, RetentionInterval: -1,
		NoRing: rng.IntN(4) == 0, SyncMethod: engine.SyncMethod(rng.IntN(3)),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	var err error
	if c.e, err = engine.Open(o); err != nil {
		return err
	}
	if err := c.tell(); err != nil {
		return err
	}
	drivers := make([]*driver, len(logs))
	for i, s := range logs { // all are configured before anybody asks for retention
		drivers[i] = &driver{lane: newLane(c), spec: s, rng: c.rng(i + 2)}
		drivers[i].configure()
	}
	var running sync.WaitGroup
	for _, d := range drivers {
		running.Go(d.run)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end asks for an orderly stop
	close(c.stop)
	running.Wait()
	if err := c.e.Close(); err != nil {
		return err
	}
	c.report(event{What: closed})
	return nil
}

// report tells something, in the order of what happens in one log.
func (c *child) report(e event) {
	e.At = rig.Now()
	c.out.Lock()
	defer c.out.Unlock()
	_ = c.out.Encode(e) // a pipe that nobody reads any more
}

// tell tells what the logs hold.
func (c *child) tell() error {
	for _, l := range c.e.Logs() {
		name := l.Name().Topic
		e := event{Log: name, What: isLog, Base: l.LogStartOffset(), Last: l.LogEndOffset()}
		if err := l.Err(); err != nil {
			e.Err = err.Error()
		} else if h, f := l.HighWatermark(), l.FlushedOffset(); h != e.Last || f != e.Last {
			e.Err = fmt.Sprintf("high watermark %d and flushed %d of a log that ends at %d", h, f, e.Last)
		}
		c.report(e)
		if l.Err() != nil {
			continue
		}
		if err := tellBatches(l, name, c.report); err != nil {
			c.report(event{Log: name, What: failed, Err: err.Error()})
		}
	}
	c.report(event{What: isOpen})
	return nil
}

// tellBatches tells the batches of a log.
func tellBatches(l *engine.Log, name string, report func(event)) error {
	for offset := l.LogStartOffset(); offset < l.LogEndOffset(); {
		next, err := tellRange(l, name, offset, report)
		if err != nil {
			return fmt.Errorf("at offset %d: %w", offset, err)
		}
		offset = next
	}
	return nil
}

// tellRange tells the batches of one read, and returns the offset behind them.
func tellRange(l *engine.Log, name string, offset int64, report func(event)) (int64, error) {
	r, err := l.Read(offset, 1<<20, true)
	if err != nil {
		return offset, err
	}
	defer r.Release()
	b, err := r.Bytes()
	if err != nil {
		return offset, err
	}
	next := offset
	for len(b) > 0 {
		var batch record.Batch
		if batch, b, err = record.Next(b); err != nil {
			break // cut off by the limit, or it is met again
		}
		e := event{Log: name, What: isBatch, Base: batch.BaseOffset(), Last: batch.LastOffset()}
		if err := batch.Check(); err != nil {
			return offset, err
		}
		if e.ID, err = idOf(name, specOf(name).largest(), batch); err != nil {
			return offset, err
		}
		report(e)
		next = batch.LastOffset() + 1
	}
	if next == offset {
		return offset, fmt.Errorf("no whole batch: %w", err)
	}
	return next, nil
}
