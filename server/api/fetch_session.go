package api

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Fetch sessions (KIP-227): a client that fetches the same partitions over and over says them once; afterwards its
// requests name changes only, and answers leave out partitions without news.
//
//	epoch -1    no session; the one that the request names ends
//	epoch 0     a new session, in place of the one that the request names
//	epoch 1...  the next request of a session; the wrong one is INVALID_FETCH_SESSION_EPOCH
//
// A session is worth its memory only while its client lives, and nobody says when that ends. So there are at most
// Broker.FetchSessions, and maxSessionPartitions in all of them together. A new one takes the place of those that were idle
// longest, if that was for sessionIdle at least; where none was, the client gets none (id 0) and goes on with full requests.

const (
	// defaultSessions is Kafka's default of max.incremental.fetch.session.cache.slots.
	defaultSessions = 1000
	// sessionIdle is Kafka's min.incremental.fetch.session.eviction.ms.
	sessionIdle = 2 * time.Minute
	// maxSessionPartitions is 80 MB of sessions: a hundred consumers of ten thousand partitions each.
	maxSessionPartitions = 1_000_000
)

// sessions are those of the broker.
type sessions struct {
	mu         sync.Mutex
	byID       map[int32]*session
	partitions int // of all of them
}

// A session is what a client fetches. The lock of sessions guards it.
type session struct {
	all   *sessions
	id    int32
	epoch int32 // of the next request
	byID  bool  // topics are named by id
	used  time.Time
	want  []wanted
	user  *fetchRequest // the request that reads want, nil: none
}

// begin finds the partitions that the request asks for, or returns a code for it as a whole.
func (f *fetchRequest) begin(in fetchBody) int16 {
	f.denied = denial(&in.limits)
	f.limits = in.limits
	f.limits.cap(f.b.FetchMaxBytes)
	s := &f.b.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.epoch <= 0 {
		s.close(s.byID[in.id])
		f.full, f.want = true, in.want
		if in.epoch == 0 && len(in.want) > 0 {
			f.session = s.open(f)
		}
		return 0
	}
	c := s.byID[in.id]
	switch {
	case c == nil:
		return kerr.FetchSessionIDNotFound.Code
	case c.epoch != in.epoch || c.user != nil:
		return kerr.InvalidFetchSessionEpoch.Code
	case c.byID != (f.r.Version >= 13):
		return kerr.FetchSessionTopicIDError.Code
	}
	c.change(in.want, in.forget)
	if s.partitions > maxSessionPartitions {
		s.close(c) // the client goes on with a full request
		return kerr.FetchSessionIDNotFound.Code
	}
	c.epoch = nextEpoch(c.epoch)
	c.used, c.user = time.Now(), f
	f.session, f.want = c, c.want
	return 0
}

// denial is a code for all partitions of requests that Kafka fails on.
func denial(l *fetchLimits) int16 {
	switch {
	case l.isolation < 0 || l.isolation > 1, l.maxBytes < 0:
		return kerr.UnknownServerError.Code
	case l.replica >= 0:
		return kerr.NotLeaderForPartition.Code // no other broker has a replica of anything here
	}
	return 0
}

func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// open makes a session of a full request, or returns nil where there is no place. The lock is held.
func (s *sessions) open(f *fetchRequest) *session {
	if s.byID == nil {
		s.byID = map[int32]*session{}
	}
	for len(s.byID) >= f.b.FetchSessions || s.partitions+len(f.want) > maxSessionPartitions {
		if !s.evict() {
			return nil
		}
	}
	id := rand.Int32()
	for id == 0 || s.byID[id] != nil {
		id = rand.Int32()
	}
	c := &session{all: s, id: id, epoch: 1, byID: f.r.Version >= 13, used: time.Now(), want: f.want, user: f}
	for i := range c.want {
		c.want[i].high, c.want[i].start = -1, -1
	}
	s.byID[id] = c
	s.partitions += len(c.want)
	return c
}

// close ends a session, if there is one. The lock is held.
func (s *sessions) close(c *session) {
	if c != nil {
		delete(s.byID, c.id)
		s.partitions -= len(c.want)
	}
}

// evict ends the session that was idle longest, if that was long enough. The lock is held.
func (s *sessions) evict() bool {
	var oldest *session
	for _, c := range s.byID {
		if c.user == nil && (oldest == nil || c.used.Before(oldest.used)) {
			oldest = c
		}
	}
	if oldest == nil || time.Since(oldest.used) < sessionIdle {
		return false
	}
	s.close(oldest)
	return true
}

// key finds a partition in a session.
type key struct {
	topic string
	id    [16]byte
	index int32
}

func (w *wanted) key() key { return key{w.topic, w.id, w.index} }

// change takes in what a request adds, changes and forgets.
func (c *session) change(add, forget []wanted) {
	if len(add) == 0 && len(forget) == 0 {
		return
	}
	before := len(c.want)
	defer func() { c.all.partitions += len(c.want) - before }()
	at := make(map[key]int, len(c.want))
	for i := range c.want {
		at[c.want[i].key()] = i
	}
	for _, w := range add {
		w.high, w.start = -1, -1
		if i, ok := at[w.key()]; ok {
			w.high, w.start = c.want[i].high, c.want[i].start
			c.want[i] = w
		} else {
			at[w.key()] = len(c.want)
			c.want = append(c.want, w)
		}
	}
	if len(forget) == 0 {
		return
	}
	gone := map[key]bool{}
	for i := range forget {
		gone[forget[i].key()] = true
	}
	kept := c.want[:0]
	for i := range c.want {
		if !gone[c.want[i].key()] {
			kept = append(kept, c.want[i])
		}
	}
	clear(c.want[len(kept):])
	c.want = kept
}

// number returns the session's id, 0 for none.
func (c *session) number() int32 {
	if c == nil {
		return 0
	}
	return c.id
}

// tell reports whether a partition has news for the session, and remembers what it is told.
func (c *session) tell(w *wanted, g *fetched) bool {
	if c == nil {
		return true
	}
	if g.code != 0 || g.diverging {
		w.high, w.start = -1, -1 // the next answer without an error is news
		return true
	}
	news := g.r.Size > 0 || g.high != w.high || g.start != w.start
	w.high, w.start = g.high, g.start
	return news
}

// release gives the session back after a request of it. Partitions that had records go behind those that had none, so
// that all have their turn when the answer has not room for all.
func (c *session) release(f *fetchRequest) {
	if c == nil {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.user = nil
	full := 0
	for i := range f.got {
		if f.got[i].r.Size > 0 {
			full++
		}
	}
	if full == 0 || full == len(f.want) {
		return
	}
	turned := make([]wanted, 0, len(f.want))
	for _, had := range []bool{false, true} {
		for i := range f.want {
			if f.got[i].r.Size > 0 == had {
				turned = append(turned, f.want[i])
			}
		}
	}
	c.want = turned
}
