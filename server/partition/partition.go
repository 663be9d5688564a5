package partition

import (
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
)

// A Topic is the partitions of one topic.
type Topic struct {
	Name     string
	ID       [16]byte
	Internal bool

	config     atomic.Pointer[config.Topic]
	partitions atomic.Pointer[[]*Partition]
}

// Config returns the topic's effective configuration.
func (t *Topic) Config() *config.Topic { return t.config.Load() }

// Partitions returns the partitions, by number.
func (t *Topic) Partitions() []*Partition { return *t.partitions.Load() }

// Partition returns partition i, or nil.
func (t *Topic) Partition(i int32) *Partition {
	all := *t.partitions.Load()
	if i < 0 || int(i) >= len(all) {
		return nil
	}
	return all[i]
}

// Missing says why a partition has no log.
type Missing int

const (
	// NotLed is a partition that another broker leads, or nobody: its log directory was not there at the start.
	NotLed Missing = iota + 1
	// Offline is a partition whose log directory has failed.
	Offline
	// Unmade is one whose log could not be made.
	Unmade
	// Making is one whose log is about to be made: its log directory is slow.
	Making
)

// A Partition is one partition. It does not change: one whose log has been made, or whose directory fails, is replaced by another.
type Partition struct {
	Topic   *Topic
	ID      int32
	Log     *engine.Log // nil: Missing says why
	Dir     *logdir.Dir // of Log, or where that is about to be made; nil where there is none
	Missing Missing

	away bool // by the metadata another broker leads it, or none

	leader, leaderEpoch atomic.Int32

	mu      sync.Mutex
	waiters []Waiter
	some    atomic.Bool // there are waiters
}

// A Waiter waits for records or for the end of a partition. Wake must not block.
type Waiter interface{ Wake(*Partition) }

// name is that of its log.
func (p *Partition) name() engine.Name { return engine.Name{Topic: p.Topic.Name, Partition: p.ID} }

// LeaderEpoch returns the partition's leader epoch.
func (p *Partition) LeaderEpoch() int32 { return p.leaderEpoch.Load() }

// Leader returns the id of the broker that leads the partition, or -1 where none does.
func (p *Partition) Leader() int32 {
	if p.Missing == NotLed && !p.away {
		return -1 // it would be this one
	}
	return p.leader.Load()
}

// Away reports whether this broker does not lead the partition, and so has no log of it.
func (p *Partition) Away() bool { return p.Missing == NotLed }

// Await has w woken once, when the high watermark moves or the partition goes. Whoever waits for a position looks
// again after the call: it may have moved before.
func (p *Partition) Await(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiters = append(p.waiters, w)
	p.some.Store(true)
}

// Forget takes w off the waiters.
func (p *Partition) Forget(w Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, x := range p.waiters {
		if x == w {
			n := len(p.waiters) - 1
			p.waiters[i] = p.waiters[n]
			p.waiters[n] = nil
			p.waiters = p.waiters[:n]
			break
		}
	}
	p.some.Store(len(p.waiters) > 0)
}

// wake wakes who waits.
func (p *Partition) wake() {
	if !p.some.Load() {
		return
	}
	p.mu.Lock()
	waiters := p.waiters
	p.waiters = nil
	p.some.Store(false)
	p.mu.Unlock()
	for _, w := range waiters {
		w.Wake(p)
	}
}

// Advanced is engine.Options.OnAdvance for logs of a Table.
func Advanced(l *engine.Log) {
	if p, ok := l.Attached().(*Partition); ok {
		p.wake()
	}
}
