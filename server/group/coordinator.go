package group

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Coordinator serves the groups of the partitions of __consumer_offsets that were loaded. Requests to other partitions
// are answered with NOT_COORDINATOR, and with COORDINATOR_LOAD_IN_PROGRESS between Elected and the end of Load.
type Coordinator struct {
	cfg      Config
	store    Log
	topics   Topics
	clock    Clock
	shards   []*shard
	timers   timers
	interval int64 // ms between two looks for expired offsets
	expiry   timer
	closed   atomic.Bool
	// protocolBytes is what members of all groups take; see Config.MaxProtocolBytes.
	protocolBytes atomic.Int64
}

// New returns a coordinator that has no partition yet.
func New(o Options) *Coordinator {
	if o.Partitions == 0 {
		o.Partitions = 50
	}
	if o.Clock == nil {
		o.Clock = machineClock{time.Now()}
	}
	if o.RetentionCheckInterval == 0 {
		o.RetentionCheckInterval = 10 * time.Minute
	}
	if o.Config.MaxSessionTimeoutMs == 0 {
		d := DefaultConfig()
		d.NewID, d.Log = o.Config.NewID, o.Config.Log
		o.Config = d
	}
	c := &Coordinator{
		cfg: o.Config, store: o.Store, topics: o.Topics, clock: o.Clock,
		shards: make([]*shard, o.Partitions), interval: o.RetentionCheckInterval.Milliseconds(),
	}
	for i := range c.shards {
		c.shards[i] = &shard{c: c, partition: int32(i)}
	}
	c.timers.clock = o.Clock
	c.expiry.fire = c.expire
	c.timers.set(&c.expiry, o.Clock.Now().Mono+c.interval)
	return c
}

// PartitionFor returns the partition of __consumer_offsets that a group lives in.
func (c *Coordinator) PartitionFor(group string) int32 {
	return PartitionFor(group, int32(len(c.shards)))
}

// Close answers everybody who waits with COORDINATOR_NOT_AVAILABLE and so every later request. Writes in flight are
// still answered when they are over.
func (c *Coordinator) Close() {
	c.closed.Store(true)
	c.timers.close()
	for _, s := range c.shards {
		s.resign(kerr.CoordinatorNotAvailable.Code)
	}
}

// Elected says that this broker leads a partition and is about to load it.
func (c *Coordinator) Elected(partition int32) {
	s := c.shards[partition]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == absent {
		s.status = loading
	}
}

// Resigned says that this broker leads a partition no more: who waits is told NOT_COORDINATOR, and the groups are
// forgotten.
func (c *Coordinator) Resigned(partition int32) {
	c.shards[partition].resign(kerr.NotCoordinator.Code)
}

// TopicDeleted forgets the offsets of a topic. With an id, offsets that are known to be of another topic of that name
// stay; the zero id is any. It returns at once: the tombstones are appended, not waited for.
func (c *Coordinator) TopicDeleted(name string, id [16]byte) {
	which := func(topic string, of [16]byte) bool {
		return topic == name && (id == [16]byte{} || of == [16]byte{} || of == id)
	}
	c.each(func(now Instant, g *Group) Effects { return g.Forget(now, which) })
}

// expire looks for what has expired in all groups, and plans the next look.
func (c *Coordinator) expire() {
	c.each(func(now Instant, g *Group) Effects { return g.Expire(now) })
	c.timers.set(&c.expiry, c.clock.Now().Mono+c.interval)
}

// each gives an event to all groups.
func (c *Coordinator) each(event func(now Instant, g *Group) Effects) {
	for _, s := range c.shards {
		s.run(func(now Instant) {
			for _, sl := range s.groups {
				s.collect(sl, event(now, sl.group))
			}
		})
	}
}
