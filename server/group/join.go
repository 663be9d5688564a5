package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Join is a JoinGroup. The request's bytes are copied, its strings kept.
func (g *Group) Join(now Instant, who RequestContext, req *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) Effects {
	g.join(now, who, req, &joinWaiter{req.Version, reply})
	return g.take()
}

func (g *Group) join(now Instant, who RequestContext, req *kmsg.JoinGroupRequest, w *joinWaiter) {
	isNew := req.MemberID == ""
	switch {
	case g.state == Dead:
		g.refuseJoin(w, req.MemberID, kerr.CoordinatorNotAvailable.Code)
	case !g.hasRoom(req.MemberID):
		g.remove(req.MemberID)
		g.refuseJoin(w, "", kerr.GroupMaxSizeReached.Code)
		g.maybeCompleteJoin(now)
	case !g.speaks(req):
		g.refuseJoin(w, req.MemberID, kerr.InconsistentGroupProtocol.Code)
	case isNew:
		g.joinNew(now, who, req, w)
	default:
		g.joinAgain(now, who, req, w)
	}
	if !g.recorded && isNew && g.state != Dead {
		g.writeFirst()
	}
}

func (g *Group) refuseJoin(w *joinWaiter, memberID string, code int16) {
	resp := joinError(memberID, code)
	resp.Version = w.version
	g.reply(func() { w.reply(&resp) })
}

// hasRoom reports whether one more may join. While members join, those count who have: after group.max.size was
// lowered the last ones are turned away.
func (g *Group) hasRoom(memberID string) bool {
	m, known := g.members[memberID]
	switch g.state {
	case PreparingRebalance:
		return known && m.join != nil || g.waiting < g.cfg.MaxSize
	case CompletingRebalance, Stable:
		return known || len(g.members) < g.cfg.MaxSize
	}
	return true
}

// speaks reports whether a protocol of the request is known to all members, and its type is the group's.
func (g *Group) speaks(req *kmsg.JoinGroupRequest) bool {
	if g.state == Empty {
		return req.ProtocolType != "" && len(req.Protocols) > 0
	}
	if req.ProtocolType != g.protocolType {
		return false
	}
	for _, p := range req.Protocols {
		if g.supported[p.Name] == len(g.members) {
			return true
		}
	}
	return false
}

// joinNew lets somebody in who has no member id: a static member at once, taking over its instance; a dynamic one at
// once before v4, else with the id that it is told to come back with.
func (g *Group) joinNew(now Instant, who RequestContext, req *kmsg.JoinGroupRequest, w *joinWaiter) {
	prefix := who.ClientID
	if req.InstanceID != nil {
		prefix = *req.InstanceID
	}
	id := prefix + "-" + g.cfg.newID()
	if req.InstanceID != nil {
		if old, ok := g.static[*req.InstanceID]; ok {
			g.replaceStatic(now, req, old, id, w)
			return
		}
	} else if req.Version >= 4 {
		if len(g.pending) >= g.cfg.MaxPending {
			g.refuseJoin(w, "", kerr.GroupMaxSizeReached.Code)
			return
		}
		g.pending[id] = g.at(now.Mono + int64(req.SessionTimeoutMillis))
		g.refuseJoin(w, id, kerr.MemberIDRequired.Code)
		return
	}
	g.enter(now, who, req, id, w)
}

// enter adds a member and begins a rebalance, or goes on with the one under way.
func (g *Group) enter(now Instant, who RequestContext, req *kmsg.JoinGroupRequest, id string, w *joinWaiter) {
	m := &member{
		id: id, instance: req.InstanceID, client: who, isNew: true, protocols: protocolsOf(req),
		sessionTimeoutMs: req.SessionTimeoutMillis, rebalanceTimeoutMs: rebalanceTimeout(req),
	}
	if g.state == PreparingRebalance && g.initial {
		g.memberAdded = true
	}
	g.add(m, w, req.ProtocolType)
	g.beatFor(now, m, g.cfg.NewMemberJoinTimeoutMs)
	g.rebalance(now, "member "+id+" joins")
}

// rebalanceTimeout returns how long a member may take to join again, in ms. Version 0 does not say: its session
// timeout counts, as for nonsense.
func rebalanceTimeout(req *kmsg.JoinGroupRequest) int32 {
	if req.Version == 0 || req.RebalanceTimeoutMillis < 0 {
		return req.SessionTimeoutMillis
	}
	return req.RebalanceTimeoutMillis
}

// joinAgain is a join with a member id: a pending one that comes back, or a member.
func (g *Group) joinAgain(now Instant, who RequestContext, req *kmsg.JoinGroupRequest, w *joinWaiter) {
	if _, ok := g.pending[req.MemberID]; ok && req.InstanceID == nil {
		g.enter(now, who, req, req.MemberID, w)
		return
	}
	m, code := g.check(req.MemberID, req.InstanceID)
	if code != 0 {
		g.refuseJoin(w, req.MemberID, code)
		return
	}
	ps := protocolsOf(req)
	same := m.matches(ps)
	switch {
	case g.state == CompletingRebalance && same:
		// It may have missed the answer.
		resp := g.joinResponse(m)
		resp.Version = w.version
		g.reply(func() { w.reply(&resp) })
	case g.state == Stable && same && g.leader != m.id:
		// Nothing changed for a follower: it may sync. A leader joins to have its topics assigned anew.
		resp := g.joinResponse(m)
		resp.Version = w.version
		g.reply(func() { w.reply(&resp) })
	case g.state == Empty:
		g.refuseJoin(w, req.MemberID, kerr.UnknownMemberID.Code)
	default:
		g.update(m, req, ps, w)
		g.rebalance(now, "member "+m.id+" joins again")
	}
}

func (g *Group) update(m *member, req *kmsg.JoinGroupRequest, ps []protocol, w *joinWaiter) {
	g.setProtocols(m, ps)
	m.rebalanceTimeoutMs, m.sessionTimeoutMs = rebalanceTimeout(req), req.SessionTimeoutMillis
	g.park(m, w)
}

// joinResponse tells a member about the generation; its leader also gets to know the members.
func (g *Group) joinResponse(m *member) kmsg.JoinGroupResponse {
	resp := kmsg.NewJoinGroupResponse()
	resp.Generation, resp.LeaderID, resp.MemberID = g.generation, g.leader, m.id
	resp.ProtocolType, resp.Protocol = g.typeOrNil(), g.protocol
	if g.leader == m.id {
		resp.Members = g.joinMembers()
	}
	return resp
}

func (g *Group) joinMembers() []kmsg.JoinGroupResponseMember {
	all := g.ordered()
	members := make([]kmsg.JoinGroupResponseMember, len(all))
	for i, m := range all {
		members[i] = kmsg.JoinGroupResponseMember{MemberID: m.id, InstanceID: m.instance, ProtocolMetadata: m.metadata(g.protocol)}
	}
	return members
}

func (g *Group) typeOrNil() *string {
	if g.protocolType == "" {
		return nil
	}
	t := g.protocolType
	return &t
}

// writeFirst writes the record of a group that is new, so that it is known after a restart. If that fails the group
// is as if it had never been.
func (g *Group) writeFirst() {
	g.recorded = true
	v := &kmsg.GroupMetadataValue{CurrentStateTimestamp: g.stateSince}
	g.write([]Record{groupRecord(g.id, v)}, func(now Instant, code int16) {
		if code == 0 || g.generation > 0 || g.state == Dead {
			return
		}
		g.recorded = false
		g.dissolve(now, code)
	})
}

// dissolve sends everybody away with an error and leaves an empty group.
func (g *Group) dissolve(now Instant, code int16) {
	for _, m := range g.ordered() {
		g.answerJoin(m, joinError(m.id, code))
		g.answerSync(m, syncError(code))
		g.remove(m.id)
	}
	clear(g.pending)
	g.joinAt, g.syncAt, g.initial = never, never, false
	g.protocol = nil
	g.transition(now, Empty)
	g.maybeGone()
}

// maybeGone lets go of a group that holds nothing.
func (g *Group) maybeGone() {
	g.gone = !g.recorded && len(g.members) == 0 && len(g.pending) == 0 && g.offsets.empty() && g.inFlight == 0
}
