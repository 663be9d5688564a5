package group

import (
	"cmp"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// State is the state of a group, in Kafka's words.
type State int8

const (
	Empty               State = iota // no members; maybe offsets
	PreparingRebalance               // members join
	CompletingRebalance              // members have joined; the leader's assignment is not there yet
	Stable
	Dead // its tombstones are being written
)

func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// never is the deadline of what has none.
const never = math.MaxInt64

// Group is one group as a pure state machine. It is not safe for concurrent use.
type Group struct {
	id  string
	cfg *Config

	state, previous State
	stateSince      int64 // wall ms of the last transition; -1: not known (old record)
	generation      int32
	protocolType    string  // "": none, a group of offsets only
	protocol        *string // nil: none chosen
	leader          string  // member id; "": none. If set, it is a key of members.
	members         map[string]*member
	joined          int64             // members that were ever added: the order of joining
	static          map[string]string // instance id → member id, a key of members
	pending         map[string]int64  // member ids given out and not used → monotonic deadline
	waiting         int               // members that wait with a join
	supported       map[string]int    // protocol name → members that know it
	protocolBytes   int               // of what members know
	pendingSync     map[string]bool   // members of this generation that have not synced
	subscribed      map[string]bool   // topics; nil: not known

	assigning int32 // generation whose assignment is being written; 0: none

	joinAt, syncAt int64 // monotonic deadlines of the two phases
	// initial is set while joinAt is the delay of a group that was empty: it may be extended by delay up to remaining
	// ms each time that a member was added.
	initial          bool
	memberAdded      bool
	delay, remaining int32

	// wakeAt is a lower bound of all deadlines. Heartbeats move deadlines away without touching it, so that they
	// cost nothing; Tick recomputes it.
	wakeAt int64

	offsets table
	// recorded is set while the log holds a record of the group itself, or will once a write is over.
	recorded bool
	inFlight int
	last     *Write // the newest write in flight
	gone     bool   // the owner may forget the group

	out Effects
}

// Effects are what an event asks its caller to do, in order of each list. Writes and replies are independent: what
// depends on a write is in its continuation.
type Effects struct {
	Replies []func()
	Writes  []*Write
}

// Write is one append to the log. The caller appends Records as one batch and then calls Group.Written once.
type Write struct {
	Records []Record
	done    func(now Instant, code int16)
	after   []func()
}

// NewGroup returns an empty group without a record or an offset.
func NewGroup(id string, cfg *Config, now Instant) *Group {
	return &Group{
		id: id, cfg: cfg, previous: Dead, stateSince: now.Wall,
		members: map[string]*member{}, static: map[string]string{}, pending: map[string]int64{},
		supported: map[string]int{}, pendingSync: map[string]bool{},
		joinAt: never, syncAt: never, wakeAt: never,
	}
}

// Deadline returns the monotonic ms before which no Tick is needed, or math.MaxInt64.
func (g *Group) Deadline() int64 { return g.wakeAt }

// Gone reports whether the group holds nothing, in memory or in the log, and may be forgotten.
func (g *Group) Gone() bool { return g.gone }

// Written ends a write: code is 0 once the records are durable, else the Kafka error for those who wait for it.
func (g *Group) Written(now Instant, w *Write, code int16) Effects {
	g.inFlight--
	if g.last == w {
		g.last = nil
	}
	if w.done != nil {
		w.done(now, code)
	}
	for _, f := range w.after {
		g.reply(f)
	}
	return g.take()
}

func (g *Group) take() Effects {
	out := g.out
	g.out = Effects{}
	return out
}

func (g *Group) reply(f func()) { g.out.Replies = append(g.out.Replies, f) }

// write asks for records to be appended. done may be nil.
func (g *Group) write(records []Record, done func(now Instant, code int16)) {
	w := &Write{Records: records, done: done}
	g.inFlight++
	g.last = w
	g.out.Writes = append(g.out.Writes, w)
}

// at moves wakeAt so that a deadline is seen, and returns the deadline.
func (g *Group) at(deadline int64) int64 {
	g.wakeAt = min(g.wakeAt, deadline)
	return deadline
}

func (g *Group) transition(now Instant, to State) {
	g.previous, g.state, g.stateSince = g.state, to, now.Wall
}

// ordered returns the members in the order in which they joined.
func (g *Group) ordered() []*member {
	all := make([]*member, 0, len(g.members))
	for _, m := range g.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.order, b.order) })
	return all
}

// check finds a member by id and, if there is one, instance id: an instance that another member id took over is
// fenced.
func (g *Group) check(memberID string, instance *string) (*member, int16) {
	if instance != nil {
		id, ok := g.static[*instance]
		if !ok {
			return nil, kerr.UnknownMemberID.Code
		}
		if id != memberID {
			return nil, kerr.FencedInstanceID.Code
		}
	}
	m, ok := g.members[memberID]
	if !ok {
		return nil, kerr.UnknownMemberID.Code
	}
	return m, 0
}

// canRebalance reports whether a rebalance may begin now; else one is under way.
func (g *Group) canRebalance() bool {
	return g.state == Stable || g.state == CompletingRebalance || g.state == Empty
}

// allJoined reports whether nobody is left to wait for.
func (g *Group) allJoined() bool { return len(g.members) == g.waiting && len(g.pending) == 0 }
