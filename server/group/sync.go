package group

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sync is a SyncGroup. The request's bytes are copied.
func (g *Group) Sync(now Instant, req *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) Effects {
	g.doSync(now, req, &syncWaiter{req.Version, reply})
	return g.take()
}

func (g *Group) doSync(now Instant, req *kmsg.SyncGroupRequest, w *syncWaiter) {
	m, code := g.checkSync(req)
	if code != 0 {
		resp := syncError(code)
		resp.Version = w.version
		g.reply(func() { w.reply(&resp) })
		return
	}
	// A sync that it waited with before is superseded; Kafka loses it.
	g.answerSync(m, syncError(kerr.RebalanceInProgress.Code))
	m.sync = w
	if delete(g.pendingSync, m.id); len(g.pendingSync) == 0 {
		g.syncAt = never
	}
	if g.state == Stable {
		g.answerSync(m, g.syncResponse(m))
		return
	}
	if m.id == g.leader && g.assigning != g.generation {
		g.assign(req)
	}
}

// checkSync refuses a sync that is not of this generation, or comes while members join.
func (g *Group) checkSync(req *kmsg.SyncGroupRequest) (*member, int16) {
	switch g.state {
	case Dead:
		return nil, kerr.CoordinatorNotAvailable.Code
	case Empty:
		return nil, kerr.UnknownMemberID.Code
	}
	m, code := g.check(req.MemberID, req.InstanceID)
	switch {
	case code != 0:
		return nil, code
	case req.Generation != g.generation:
		return nil, kerr.IllegalGeneration.Code
	case differs(req.ProtocolType, g.typeOrNil()), differs(req.Protocol, g.protocol):
		return nil, kerr.InconsistentGroupProtocol.Code
	case g.state == PreparingRebalance:
		return nil, kerr.RebalanceInProgress.Code
	}
	return m, 0
}

// differs reports whether both are there and are not the same: before v5 a sync does not say.
func differs(a, b *string) bool { return a != nil && b != nil && *a != *b }

// assign takes the leader's assignment: it is written, then everybody who waits gets its part and the group is Stable.
// Members may have joined meanwhile: then this generation is over and nothing happens.
func (g *Group) assign(req *kmsg.SyncGroupRequest) {
	assignment := make(map[string][]byte, len(g.members))
	for _, a := range req.GroupAssignment {
		if _, ok := g.members[a.MemberID]; ok {
			assignment[a.MemberID] = bytes.Clone(a.MemberAssignment)
		}
	}
	generation := g.generation
	g.recorded, g.assigning = true, generation
	g.write([]Record{g.record(assignment)}, func(now Instant, code int16) {
		if g.state != CompletingRebalance || g.generation != generation {
			return
		}
		g.assigning = 0
		if code != 0 {
			for _, m := range g.ordered() {
				m.assignment = nil
				g.sendAssignment(now, m, code)
			}
			g.rebalance(now, "assignment not written")
			return
		}
		g.transition(now, Stable)
		for _, m := range g.ordered() {
			m.assignment = assignment[m.id]
			g.sendAssignment(now, m, 0)
		}
	})
}

// sendAssignment answers a member that waits with a sync. Its session begins anew: the end of one is ignored while it
// waits.
func (g *Group) sendAssignment(now Instant, m *member, code int16) {
	if m.sync == nil {
		return
	}
	resp := syncError(code)
	if code == 0 {
		resp = g.syncResponse(m)
	}
	g.answerSync(m, resp)
	g.beat(now, m)
}

func (g *Group) syncResponse(m *member) kmsg.SyncGroupResponse {
	resp := kmsg.NewSyncGroupResponse()
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = g.typeOrNil(), g.protocol, m.assignment
	return resp
}
