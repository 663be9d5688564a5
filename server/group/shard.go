package group

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type status int8

const (
	absent  status = iota // led by another broker, or by none
	loading               // led here; the log is being read
	active
)

// shard is the groups of one partition of __consumer_offsets.
//
// An event runs under the lock and leaves what is to be done outside of it, answers and appends, in out. Whoever finds
// nobody draining drains: appends so reach the log in the order of the events, whichever goroutine brought them, and a
// log that calls back at once finds the lock free.
type shard struct {
	c         *Coordinator
	partition int32

	mu       sync.Mutex
	status   status
	groups   map[string]*slot
	open     transactions
	out      []func()
	draining bool
}

// slot is a group and its place in the heap of timers.
type slot struct {
	group *Group
	timer timer
	// detached is set once the shard has forgotten the group: its writes are refused without the log.
	detached bool
	// counted is how much of the coordinator's protocolBytes is this group's.
	counted int
}

// run runs an event under the lock, then does what it asked for.
func (s *shard) run(event func(now Instant)) {
	s.mu.Lock()
	event(s.c.clock.Now())
	if s.draining {
		s.mu.Unlock()
		return
	}
	s.draining = true
	for len(s.out) > 0 {
		out := s.out
		s.out = nil
		s.mu.Unlock()
		for _, f := range out {
			f()
		}
		s.mu.Lock()
	}
	s.draining = false
	s.mu.Unlock()
}

// code returns why the shard cannot serve, or 0. Under the lock.
func (s *shard) code() int16 {
	switch {
	case s.c.closed.Load():
		return kerr.CoordinatorNotAvailable.Code
	case s.status == loading:
		return kerr.CoordinatorLoadInProgress.Code
	case s.status == absent:
		return kerr.NotCoordinator.Code
	}
	return 0
}

// find returns a group's slot, or nil; with create it is made. Under the lock.
func (s *shard) find(now Instant, id string, create bool) *slot {
	sl := s.groups[id]
	if sl == nil && create {
		sl = s.adopt(NewGroup(id, &s.c.cfg, now))
	}
	return sl
}

func (s *shard) adopt(g *Group) *slot {
	sl := &slot{group: g}
	sl.timer.fire = func() {
		s.run(func(now Instant) {
			if !sl.detached {
				s.collect(sl, g.Tick(now))
			}
		})
	}
	s.groups[g.id] = sl
	return sl
}

// collect takes what an event of a group asks for. Under the lock.
func (s *shard) collect(sl *slot, e Effects) {
	s.out = append(s.out, e.Replies...)
	for _, w := range e.Writes {
		if sl.detached {
			s.collect(sl, sl.group.Written(s.c.clock.Now(), w, kerr.NotCoordinator.Code))
			continue
		}
		s.out = append(s.out, func() {
			s.c.store.Append(s.partition, w.Records, func(err error) {
				s.run(func(now Instant) { s.collect(sl, sl.group.Written(now, w, appendCode(err))) })
			})
		})
	}
	switch {
	case sl.detached:
	case sl.group.Gone():
		s.detach(sl)
	default:
		s.count(sl, sl.group.protocolBytes)
		s.c.timers.notLater(&sl.timer, sl.group.Deadline())
	}
}

// count brings the coordinator's sum up to date.
func (s *shard) count(sl *slot, bytes int) {
	s.c.protocolBytes.Add(int64(bytes - sl.counted))
	sl.counted = bytes
}

// tooMuch reports whether a member that is let in would say more than there is room for. Those who come at the same moment in
// other partitions do not see each other: a few too many do no harm. Under the lock.
func (s *shard) tooMuch(req *kmsg.JoinGroupRequest) bool {
	g := &Group{}
	if sl := s.groups[req.Group]; sl != nil {
		g = sl.group
	}
	n := int64(g.grows(req))
	return n > 0 && s.c.protocolBytes.Load()+n > s.c.cfg.MaxProtocolBytes
}

func (s *shard) detach(sl *slot) {
	sl.detached = true
	s.count(sl, 0)
	s.c.timers.set(&sl.timer, never)
	delete(s.groups, sl.group.id)
}

func (s *shard) resign(code int16) {
	s.run(func(Instant) {
		s.status = absent
		for _, sl := range s.groups {
			s.detach(sl)
			s.collect(sl, sl.group.end(code))
		}
		s.open = nil
	})
}
