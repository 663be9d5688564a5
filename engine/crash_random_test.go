package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A crowd is clients that append to some logs at once while checkpoints, retention, truncation, deletion and changes of
// the mode go on.
type crowd struct {
	e     *Engine
	a     *account
	h     how
	rng   *rand.Rand
	logs  []*crowdLog
	left  atomic.Int64 // appends to go
	stop  atomic.Bool
	wrong atomic.Pointer[error]
}

// crowdLog is one log. still is locked by what must not see an append under way.
type crowdLog struct {
	name  Name
	cfg   Config
	still sync.RWMutex
	log   *Log
	mode  atomic.Int64
	life  int
}

func newCrowd(e *Engine, a *account, h how, seed uint64, appends int) *crowd {
	c := &crowd{e: e, a: a, h: h, rng: rand.New(rand.NewPCG(seed, 2))}
	c.left.Store(int64(appends))
	for i, sync := range []bool{true, true, true, false, false} {
		l := &crowdLog{name: Name{fmt.Sprint("log", i), int32(i)}, cfg: crashConfig(h, sync)}
		if i == 3 {
			l.cfg.FlushMessages = 5
		}
		if sync {
			l.mode.Store(1)
		}
		l.log, _ = e.Create(l.name, [16]byte{}, l.cfg)
		c.logs = append(c.logs, l)
	}
	return c
}

func (c *crowd) fail(err error) {
	c.wrong.CompareAndSwap(nil, &err)
	c.stop.Store(true)
}

// run lets clients loose and waits for them.
func (c *crowd) run(perLog int) error {
	var clients, chores sync.WaitGroup
	for i, l := range c.logs {
		for j := range perLog {
			clients.Add(1)
			rng := rand.New(rand.NewPCG(c.rng.Uint64(), 3))
			go func() {
				defer clients.Done()
				c.client(l, rng, fmt.Sprintf("%d-%d", i, j), int64(100*i+j+1))
			}()
		}
	}
	for k := range 2 {
		chores.Add(1)
		rng := rand.New(rand.NewPCG(c.rng.Uint64(), 4))
		go func() {
			defer chores.Done()
			for !c.stop.Load() {
				if err := c.chore(rng, k); err != nil {
					c.fail(err)
				}
			}
		}()
	}
	clients.Wait()
	c.stop.Store(true)
	chores.Wait()
	if err := c.wrong.Load(); err != nil {
		return *err
	}
	return nil
}

// client appends until there is no more to do. Every third is a plain producer.
func (c *crowd) client(l *crowdLog, rng *rand.Rand, tag string, producer int64) {
	life := -1
	me := client{a: c.a, rng: rng, mode: &l.mode, producer: producer}
	if producer%3 == 0 {
		me.producer = -1
	}
	for c.left.Add(-1) >= 0 && !c.stop.Load() {
		l.still.RLock()
		if me.log = l.log; life != l.life { // what a producer knows of its last batch ends with the log's end
			life = l.life
			me.tag, me.sequence = fmt.Sprintf("%s'%d", tag, life), 0
			if me.producer >= 0 {
				me.producer += 10_000
			}
		}
		err := me.send()
		me.look()
		l.still.RUnlock()
		if err != nil {
			c.fail(err)
		}
	}
}

// chore does something else with the logs. Only the first goroutine does what needs a log to be still.
func (c *crowd) chore(rng *rand.Rand, k int) error {
	l := c.logs[rng.IntN(len(c.logs))]
	switch n := rng.IntN(10); {
	case n < 3:
		return c.e.Checkpoint()
	case n < 5:
		l.still.RLock()
		defer l.still.RUnlock()
		return l.log.Flush()
	case k != 0 || n < 6:
		return c.read(l, rng)
	case n < 7:
		l.still.Lock()
		defer l.still.Unlock()
		to := max(l.log.LogStartOffset(), l.log.LogEndOffset()-rng.Int64N(20))
		err := cutBack(c.a, &client{a: c.a, log: l.log}, l.log.LogEndOffset()-to)
		l.life++
		return err
	case n < 8 && rng.IntN(4) == 0:
		l.still.Lock()
		defer l.still.Unlock()
		me := client{a: c.a, log: l.log}
		cfg := l.cfg
		cfg.FlushMessages = l.mode.Load() % 2
		err := recreate(c.e, c.a, &me, cfg, planted{})
		l.log = me.log
		l.life++
		return err
	case n < 9:
		l.still.Lock()
		defer l.still.Unlock()
		c.a.add(event{kind: startMay, log: l.name, offset: l.log.LogEndOffset()})
		_, err := l.log.DeleteRecordsTo(l.log.HighWatermark() - rng.Int64N(l.log.HighWatermark()-l.log.LogStartOffset()+1))
		return errors.Join(err, c.e.Retain())
	default:
		// Under the clients: an append in flight at the change promises nothing to the account.
		l.still.RLock()
		defer l.still.RUnlock()
		cfg := l.cfg
		cfg.FlushMessages = 1 - l.mode.Load()%2
		if cfg.FlushMessages == 1 {
			l.log.SetConfig(cfg)
			l.mode.Add(1)
		} else {
			l.mode.Add(1)
			l.log.SetConfig(cfg)
		}
	}
	return nil
}

// read reads from a random place to the end. What it gets must be whole.
func (c *crowd) read(l *crowdLog, rng *rand.Rand) error {
	l.still.RLock()
	defer l.still.RUnlock()
	at := l.log.LogStartOffset() + rng.Int64N(l.log.HighWatermark()-l.log.LogStartOffset()+1)
	r, err := l.log.Read(at, 4<<10, true)
	if err != nil {
		return err
	}
	defer r.Release()
	_, err = r.Bytes()
	return err
}

func TestManyClientsLoseNothingInACutAtAnyMoment(t *testing.T) {
	appends, rate, rounds := 400, 50, 1
	if long() {
		appends, rate, rounds = 1500, 40, 6
	}
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				seed := uint64(300 + i + 10*round)
				t.Logf("seed %d", seed)
				k := verified(t, crashDisk(seed), h, 3)
				e := open(t, crashOptions(k.disk, h))
				k.randomly(seed, rate)
				if err := newCrowd(e, k.a, h, seed, appends).run(4); err != nil {
					t.Fatal(err)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				k.take(fs.DropUnflushed, "after an orderly stop")
				if err := errors.Join(append(k.finish(), k.rules())...); err != nil {
					t.Fatal(err)
				}
				t.Logf("%d events, %d cuts", k.a.now(), k.taken)
			}
		})
	}
}

// Zeros are laid ahead of the small commits of a direct log: in flight beside its records, cut at its rolls, and in the
// way of a recovery.
func TestZerosLaidAheadCostNothingInACut(t *testing.T) {
	for i, h := range ways[2:] {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(700 + i)
			k := verified(t, crashDisk(seed), h, 3)
			e := open(t, crashOptions(k.disk, h))
			cfg := crashConfig(h, true)
			cfg.SegmentBytes = 5 << 20 / 2
			l, err := e.Create(Name{"zeros", 0}, [16]byte{}, cfg)
			must(t, err)
			var mode atomic.Int64
			mode.Store(1)
			k.randomly(seed, 160)
			var all sync.WaitGroup
			for j := range 3 {
				all.Add(1)
				go func() {
					defer all.Done()
					c := client{a: k.a, log: l, rng: rand.New(rand.NewPCG(seed, uint64(j))), mode: &mode, tag: fmt.Sprint(j),
						producer: int64(j), pad: 30_000}
					for range 60 {
						if err := c.send(); err != nil {
							t.Error(err)
						}
						c.look()
					}
				}()
			}
			all.Wait()
			if n := e.direct.c.laid.Load(); n == 0 {
				t.Errorf("no zeros were laid beside %d bytes of log", l.Size())
			} else if holders := e.direct.c.holders.Load(); holders > 1 {
				t.Errorf("%d segments of one log have zeros ahead", holders)
			}
			must(t, e.Close())
			k.take(fs.DropUnflushed, "after an orderly stop")
			if err := errors.Join(append(k.finish(), k.rules())...); err != nil {
				t.Fatal(err)
			}
			t.Logf("seed %d: %d segments, %d cuts", seed, l.Segments(), k.taken)
		})
	}
}

// randomly takes cuts before one call in rate.
func (k *cuts) randomly(seed uint64, rate int) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 5))
	k.disk.SetHook(func(op fs.Op, name string, call int) error {
		mu.Lock()
		take, policy := op.Changes() && rng.IntN(rate) == 0, fs.Policy(rng.IntN(3))
		mu.Unlock()
		if take {
			k.take(policy, fmt.Sprintf("before call %d, %v %s", call, op, name))
		}
		return nil
	})
}
