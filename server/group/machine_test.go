package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// machine drives one Group with random events, in-flight writes and time, and keeps what it must never do.
type machine struct {
	now    Instant
	cfg    Config
	g      *Group
	writes []*Write
	ids    []string // that were ever given out
	asked  int
	got    map[int]int // answers by request
	// leaders are who was told to assign, by generation.
	leaders    map[int32]string
	generation int32
	err        error
}

func newMachine() *machine {
	m := &machine{cfg: DefaultConfig(), got: map[int]int{}, leaders: map[int32]string{}, ids: []string{"", "nobody"}}
	m.cfg.MaxSize, m.cfg.MaxPending = 4, 3
	n := 0
	m.cfg.NewID = func() string { n++; return fmt.Sprint(n) }
	m.g = NewGroup("g", &m.cfg, m.now)
	return m
}

// take runs effects as a shell would, and drops a group that is gone.
func (m *machine) take(e Effects) {
	for _, f := range e.Replies {
		f()
	}
	m.writes = append(m.writes, e.Writes...)
	if m.g.Gone() {
		if len(m.g.members) > 0 || len(m.writes) > 0 {
			m.fail("gone with %d members and %d writes in flight", len(m.g.members), len(m.writes))
		}
		m.g, m.generation = NewGroup("g", &m.cfg, m.now), 0
		clear(m.leaders)
	}
}

func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// ask numbers a request; the function that it returns counts its answers.
func (m *machine) ask() func() {
	n := m.asked
	m.asked++
	return func() {
		if m.got[n]++; m.got[n] > 1 {
			m.fail("request %d has %d answers", n, m.got[n])
		}
	}
}

func (m *machine) join(t *rapid.T) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = rapid.SampledFrom([]int16{0, 3, 4, 7, 9}).Draw(t, "version")
	req.MemberID = rapid.SampledFrom(m.ids).Draw(t, "id")
	req.ProtocolType = "consumer"
	req.SessionTimeoutMillis = rapid.SampledFrom([]int32{6000, 20000}).Draw(t, "session")
	req.RebalanceTimeoutMillis = rapid.SampledFrom([]int32{-1, 0, 5000, 30000}).Draw(t, "rebalance")
	if name := rapid.SampledFrom([]string{"", "", "one", "two"}).Draw(t, "instance"); name != "" && req.Version >= 5 {
		req.InstanceID = &name
	}
	for _, p := range rapid.SampledFrom([][]string{{"range"}, {"range", "sticky"}, {"sticky", "range"}, {"sticky"}, {}}).Draw(t, "protocols") {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: p, Metadata: []byte(p)})
	}
	answered := m.ask()
	m.take(m.g.Join(m.now, RequestContext{"c", "/h"}, req, func(r *kmsg.JoinGroupResponse) {
		answered()
		if r.MemberID != "" {
			m.ids = append(m.ids, r.MemberID)
		}
		if r.ErrorCode == 0 && r.LeaderID == r.MemberID && !r.SkipAssignment {
			if other, ok := m.leaders[r.Generation]; ok && other != r.LeaderID {
				m.fail("generation %d has leaders %s and %s", r.Generation, other, r.LeaderID)
			}
			m.leaders[r.Generation] = r.LeaderID
		}
	}))
}

func (m *machine) aGeneration(t *rapid.T) int32 {
	return m.g.generation - rapid.SampledFrom([]int32{0, 0, 0, 1}).Draw(t, "behind")
}

func (m *machine) sync(t *rapid.T) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.MemberID, req.Generation = rapid.SampledFrom(m.ids).Draw(t, "id"), m.aGeneration(t)
	answered := m.ask()
	id, generation := req.MemberID, req.Generation
	for member := range m.g.members {
		what := fmt.Sprintf("%s@%d", member, generation)
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: member, MemberAssignment: []byte(what)})
	}
	m.take(m.g.Sync(m.now, req, func(r *kmsg.SyncGroupResponse) {
		answered()
		// A static member may have taken the place of the one that was assigned to, so the id may be another; but the
		// assignment is never one of another generation.
		if _, of, ok := strings.Cut(string(r.MemberAssignment), "@"); ok && of != fmt.Sprint(generation) {
			m.fail("%s of generation %d was assigned %q", id, generation, r.MemberAssignment)
		}
	}))
}

func (m *machine) beat(t *rapid.T) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.MemberID, req.Generation = rapid.SampledFrom(m.ids).Draw(t, "id"), m.aGeneration(t)
	m.g.Heartbeat(m.now, req)
}

func (m *machine) leave(t *rapid.T) {
	var members []kmsg.LeaveGroupRequestMember
	for _, id := range rapid.SliceOfN(rapid.SampledFrom(m.ids), 1, 3).Draw(t, "ids") {
		members = append(members, kmsg.LeaveGroupRequestMember{MemberID: id})
	}
	_, _, e := m.g.Leave(m.now, members)
	m.take(e)
}

func (m *machine) commit(t *rapid.T) {
	who := Committer{RetentionMs: -1, Generation: -1}
	if rapid.Bool().Draw(t, "as a member") {
		who.MemberID, who.Generation = rapid.SampledFrom(m.ids).Draw(t, "id"), m.aGeneration(t)
	}
	answered := m.ask()
	c := Commit{Topic: "t", Partition: rapid.Int32Range(0, 1).Draw(t, "partition"), Offset: int64(m.asked)}
	m.take(m.g.CommitOffsets(m.now, who, []Commit{c}, func([]int16) { answered() }))
}

// finish ends a write: the oldest well, or any one badly.
func (m *machine) finish(t *rapid.T) {
	if len(m.writes) == 0 {
		return
	}
	i, code := 0, int16(0)
	if rapid.IntRange(0, 9).Draw(t, "luck") == 0 {
		i, code = rapid.IntRange(0, len(m.writes)-1).Draw(t, "which"), 16
	}
	w := m.writes[i]
	m.writes = append(m.writes[:i:i], m.writes[i+1:]...)
	m.take(m.g.Written(m.now, w, code))
}

func (m *machine) wait(t *rapid.T) {
	ms := rapid.SampledFrom([]int64{1, 1000, 5000, 30000}).Draw(t, "ms")
	m.now.Mono, m.now.Wall = m.now.Mono+ms, m.now.Wall+ms
	m.take(m.g.Tick(m.now))
}

// check keeps what must hold between events.
func (m *machine) check() error {
	g := m.g
	waiting, supported := 0, map[string]int{}
	for id, mem := range g.members {
		if mem.id != id || mem.instance != nil && g.static[*mem.instance] != id {
			m.fail("member %s is %s, its instance %v", id, mem.id, g.static)
		}
		if mem.join != nil {
			waiting++
		}
		for _, p := range mem.protocols {
			supported[p.name]++
		}
		if mem.deadline < g.wakeAt {
			m.fail("member %s ends at %d, before %d", id, mem.deadline, g.wakeAt)
		}
		if g.state == CompletingRebalance && mem.metadata(g.protocol) == nil {
			m.fail("member %s does not know %s", id, *g.protocol)
		}
		if mem.sync != nil && g.state != CompletingRebalance {
			m.fail("member %s waits with a sync in %v", id, g.state)
		}
	}
	if waiting != g.waiting || fmt.Sprint(supported) != fmt.Sprint(g.supported) {
		m.fail("waiting %d, counted %d; supported %v, counted %v", g.waiting, waiting, g.supported, supported)
	}
	for id := range g.pendingSync {
		if g.members[id] == nil {
			m.fail("pending sync of %s, who is no member", id)
		}
	}
	if len(g.static) > len(g.members) || (len(g.members) > 0) != (g.members[g.leader] != nil) {
		m.fail("%d members, leader %q, static %v", len(g.members), g.leader, g.static)
	}
	if empty := g.state == Empty || g.state == Dead; empty && len(g.members) > 0 || (g.state == Stable || g.state == CompletingRebalance) && len(g.members) == 0 {
		m.fail("%v with %d members", g.state, len(g.members))
	}
	if min(g.joinAt, g.syncAt) < g.wakeAt || g.state == PreparingRebalance && g.joinAt == never {
		m.fail("%v: join at %d, sync at %d, wake at %d", g.state, g.joinAt, g.syncAt, g.wakeAt)
	}
	if g.generation < m.generation {
		m.fail("generation fell from %d to %d", m.generation, g.generation)
	}
	m.generation = g.generation
	return m.err
}

func TestRandomEventsKeepTheGroupSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		t.Repeat(map[string]func(*rapid.T){
			"join": m.join, "join again": m.join, "sync": m.sync, "beat": m.beat, "leave": m.leave, "commit": m.commit,
			"finish": m.finish, "finish another": m.finish, "wait": m.wait,
			"delete":  func(*rapid.T) { answered := m.ask(); m.take(m.g.Delete(m.now, func(int16) { answered() })) },
			"expire":  func(*rapid.T) { m.now.Wall += 8 * 24 * 3_600_000; m.take(m.g.Expire(m.now)) },
			"forget":  func(*rapid.T) { m.take(m.g.Forget(m.now, func(string, [16]byte) bool { return true })) },
			"settled": func(*rapid.T) { m.take(m.g.Settled(m.ask())) },
			"offsets": func(t *rapid.T) {
				answered := m.ask()
				m.take(m.g.DeleteOffsets(m.now, []TopicPartition{{"t", 0}}, func(int16, []int16) { answered() }))
			},
			"": func(t *rapid.T) {
				if err := m.check(); err != nil {
					t.Fatal(err)
				}
			},
		})
		for len(m.writes) > 0 {
			w := m.writes[0]
			m.writes = m.writes[1:]
			m.take(m.g.Written(m.now, w, 0))
		}
		m.take(m.g.end(16))
		for n := range m.asked {
			if m.got[n] != 1 {
				t.Fatalf("request %d of %d has %d answers", n, m.asked, m.got[n])
			}
		}
	})
}

func TestTheCheckSeesPlantedFaults(t *testing.T) {
	for name, plant := range map[string]func(g *Group){
		"lost waiter":      func(g *Group) { g.waiting-- },
		"no leader":        func(g *Group) { g.leader = "" },
		"missed deadline":  func(g *Group) { g.wakeAt = never },
		"two owners":       func(g *Group) { g.static["one"], g.static["two"] = "c-1", "c-1" },
		"generation falls": func(g *Group) { g.generation = -1 },
		"protocol count":   func(g *Group) { g.supported["range"]++ },
		"ghost sync":       func(g *Group) { g.pendingSync["ghost"] = true },
	} {
		m := newMachine()
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.ProtocolType, req.SessionTimeoutMillis = 3, "consumer", 6000
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("m")}}
		m.take(m.g.Join(m.now, RequestContext{ClientID: "c"}, req, func(*kmsg.JoinGroupResponse) {}))
		if err := m.check(); err != nil {
			t.Fatal(err)
		}
		plant(m.g)
		if m.check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}
