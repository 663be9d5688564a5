package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replaceStatic gives the place of a static member to a process that comes with its instance id and no member id: a
// restart, or a twin. The old member id is fenced. While the group is stable and would choose the same protocol again
// this is no reason for a rebalance (KIP-345, KIP-814).
func (g *Group) replaceStatic(now Instant, req *kmsg.JoinGroupRequest, old, id string, w *joinWaiter) {
	leader := g.leader
	m := g.members[old]
	before := *m
	g.answerJoin(m, joinError(old, kerr.FencedInstanceID.Code))
	g.answerSync(m, syncError(kerr.FencedInstanceID.Code))
	g.rename(m, id)
	g.update(m, req, protocolsOf(req), w)
	g.beat(now, m)
	g.info("static member replaced", "instance", *req.InstanceID, "old", old, "new", id)
	switch g.state {
	case Stable:
		if next := g.vote(); g.protocol == nil || *next != *g.protocol {
			g.prepare(now, "static member "+id+" changes the protocol")
			return
		}
		g.keepStatic(&before, m, leader)
	case CompletingRebalance:
		// The leader may be assigning to the old id: its assignment would not reach the new one.
		g.prepare(now, "static member "+id+" replaces "+old)
	default:
		g.maybeCompleteJoin(now)
	}
}

// rename gives a member another id in all places.
func (g *Group) rename(m *member, id string) {
	delete(g.members, m.id)
	if g.pendingSync[m.id] {
		delete(g.pendingSync, m.id)
		g.pendingSync[id] = true
	}
	if g.leader == m.id {
		g.leader = id
	}
	m.id = id
	g.members[id] = m
	g.static[*m.instance] = id
}

// keepStatic writes the new id, then answers with the generation that goes on. If that fails the old id is back. The
// group may have begun a rebalance meanwhile: then the join waits for that as any other.
//
// Before v9 the answer to a leader names the old id as the leader, so that it takes itself for a follower and only
// syncs; from v9 on it is told that it leads and not to assign (KIP-814).
func (g *Group) keepStatic(before, m *member, leader string) {
	assignment := make(map[string][]byte, len(g.members))
	for id, o := range g.members {
		assignment[id] = o.assignment
	}
	id, waiter := m.id, m.join
	g.recorded = true
	g.write([]Record{g.record(assignment)}, func(now Instant, code int16) {
		if m.join != waiter || m.id != id || g.members[id] != m {
			return // answered or taken over
		}
		if code != 0 {
			g.answerJoin(m, joinError("", code))
			g.rename(m, before.id)
			g.setProtocols(m, before.protocols)
			m.rebalanceTimeoutMs, m.sessionTimeoutMs = before.rebalanceTimeoutMs, before.sessionTimeoutMs
			g.beat(now, m)
			return
		}
		if g.state != Stable {
			return
		}
		resp := g.joinResponse(m)
		if waiter.version < 9 {
			resp.LeaderID, resp.Members = leader, nil
		}
		resp.SkipAssignment = waiter.version >= 9 && g.leader == m.id
		g.answerJoin(m, resp)
	})
}
