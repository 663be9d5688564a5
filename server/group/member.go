package group

import (
	"bytes"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a member of a group. Its group owns it.
type member struct {
	id       string
	instance *string
	order    int64
	client   RequestContext

	rebalanceTimeoutMs, sessionTimeoutMs int32
	protocols                            []protocol // in the order of preference
	assignment                           []byte

	join *joinWaiter // parked JoinGroup
	sync *syncWaiter // parked SyncGroup
	// isNew is set until the first generation that the member is part of: it cannot send heartbeats before.
	isNew    bool
	deadline int64 // monotonic ms at which its session ends
}

// protocol is a way to assign that a member knows, with what it wants its leader to know.
type protocol struct {
	name     string
	metadata []byte
}

type joinWaiter struct {
	version int16
	reply   func(*kmsg.JoinGroupResponse)
}

type syncWaiter struct {
	version int16
	reply   func(*kmsg.SyncGroupResponse)
}

// protocolsOf copies a request's protocols: the request's bytes are the connection's. Of two of one name the first
// counts.
func protocolsOf(req *kmsg.JoinGroupRequest) []protocol {
	ps := make([]protocol, 0, len(req.Protocols))
	seen := make(map[string]bool, len(req.Protocols))
	for _, p := range req.Protocols {
		if !seen[p.Name] {
			seen[p.Name] = true
			ps = append(ps, protocol{p.Name, bytes.Clone(p.Metadata)})
		}
	}
	return ps
}

// metadata returns what the member said for a protocol, and nil for nil.
func (m *member) metadata(name *string) []byte {
	if name == nil {
		return nil
	}
	for _, p := range m.protocols {
		if p.name == *name {
			return p.metadata
		}
	}
	return nil
}

func (m *member) matches(ps []protocol) bool {
	if len(ps) != len(m.protocols) {
		return false
	}
	for i, p := range ps {
		if p.name != m.protocols[i].name || !bytes.Equal(p.metadata, m.protocols[i].metadata) {
			return false
		}
	}
	return true
}

// alive reports whether a session that runs out now is to be ignored: a known member that waits for its group sends
// no heartbeats.
func (m *member) alive() bool { return !m.isNew && (m.join != nil || m.sync != nil) }

// setProtocols replaces what a member knows and keeps the count.
func (g *Group) setProtocols(m *member, ps []protocol) {
	for _, p := range m.protocols {
		if g.supported[p.name]--; g.supported[p.name] == 0 {
			delete(g.supported, p.name)
		}
	}
	g.protocolBytes += sizeOf(ps) - sizeOf(m.protocols)
	m.protocols = ps
	for _, p := range ps {
		g.supported[p.name]++
	}
}

// sizeOf is what a member's protocols take in memory, in bytes.
func sizeOf(ps []protocol) (n int) {
	for _, p := range ps {
		n += protocolOverhead + len(p.name) + len(p.metadata)
	}
	return n
}

// protocolOverhead is what a protocol takes beside its bytes.
const protocolOverhead = 64

// grows returns how many bytes more a group takes when a request is let in.
func (g *Group) grows(req *kmsg.JoinGroupRequest) (n int) {
	for i := range req.Protocols {
		n += protocolOverhead + len(req.Protocols[i].Name) + len(req.Protocols[i].Metadata)
	}
	if m, ok := g.members[req.MemberID]; ok {
		n -= sizeOf(m.protocols)
	}
	return n
}

// add adds a member, parked with its join if there is one. The first one names the protocol type and leads.
func (g *Group) add(m *member, w *joinWaiter, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	if m.instance != nil {
		g.static[*m.instance] = m.id
	}
	m.order = g.joined
	g.joined++
	m.deadline = never
	ps := m.protocols
	m.protocols = nil
	g.setProtocols(m, ps)
	g.members[m.id] = m
	g.park(m, w)
	delete(g.pending, m.id)
}

// remove removes a member or a pending id. What it waits with is answered with UNKNOWN_MEMBER_ID: a client that is
// still there joins anew. If it led, the oldest member leads.
func (g *Group) remove(id string) {
	delete(g.pending, id)
	m, ok := g.members[id]
	if !ok {
		return
	}
	g.answerJoin(m, joinError("", kerr.UnknownMemberID.Code))
	g.answerSync(m, syncError(kerr.UnknownMemberID.Code))
	g.setProtocols(m, nil)
	delete(g.members, id)
	delete(g.pendingSync, id)
	if m.instance != nil {
		delete(g.static, *m.instance)
	}
	if g.leader == id {
		g.leader = ""
		oldest := int64(math.MaxInt64)
		for _, m := range g.members {
			if m.order < oldest {
				oldest, g.leader = m.order, m.id
			}
		}
	}
}

// park makes a member wait with a join; nil ends its wait without an answer. A join that it waited with before is
// answered with REBALANCE_IN_PROGRESS, on which clients join again (Kafka loses it).
func (g *Group) park(m *member, w *joinWaiter) {
	g.answerJoin(m, joinError(m.id, kerr.RebalanceInProgress.Code))
	if w != nil {
		m.join = w
		g.waiting++
	}
}

// answerJoin answers the join that a member waits with, if it does.
func (g *Group) answerJoin(m *member, resp kmsg.JoinGroupResponse) {
	w := m.join
	if w == nil {
		return
	}
	m.join = nil
	g.waiting--
	resp.Version = w.version
	g.reply(func() { w.reply(&resp) })
}

func (g *Group) answerSync(m *member, resp kmsg.SyncGroupResponse) {
	w := m.sync
	if w == nil {
		return
	}
	m.sync = nil
	resp.Version = w.version
	g.reply(func() { w.reply(&resp) })
}

// beat begins a member's session anew.
func (g *Group) beat(now Instant, m *member) { g.beatFor(now, m, int64(m.sessionTimeoutMs)) }

func (g *Group) beatFor(now Instant, m *member, timeoutMs int64) {
	m.deadline = g.at(now.Mono + timeoutMs)
}

func joinError(memberID string, code int16) kmsg.JoinGroupResponse {
	resp := kmsg.NewJoinGroupResponse()
	resp.ErrorCode, resp.Generation, resp.MemberID = code, -1, memberID
	return resp
}

func syncError(code int16) kmsg.SyncGroupResponse {
	resp := kmsg.NewSyncGroupResponse()
	resp.ErrorCode = code
	return resp
}
