package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replay takes the group's record of the log: nil is its tombstone. Offsets have records of their own: they stay,
// whatever order compaction left.
func (g *Group) replay(v *kmsg.GroupMetadataValue) {
	fresh := NewGroup(g.id, g.cfg, Instant{Wall: -1})
	fresh.offsets = g.offsets
	*g = *fresh
	if v == nil {
		return
	}
	g.recorded = true
	g.generation, g.protocolType, g.protocol = v.Generation, v.ProtocolType, v.Protocol
	g.stateSince = v.CurrentStateTimestamp
	for i := range v.Members {
		g.replayMember(&v.Members[i])
	}
	if v.Leader != nil && g.members[*v.Leader] != nil {
		g.leader = *v.Leader
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.subscribed = g.subscriptions()
}

// replayMember adds a member as far as the record knows it: of its protocols only the one that was chosen.
func (g *Group) replayMember(v *kmsg.GroupMetadataValueMember) {
	m := &member{
		id: v.MemberID, instance: v.InstanceID, client: RequestContext{v.ClientID, v.ClientHost},
		sessionTimeoutMs: v.SessionTimeoutMillis, rebalanceTimeoutMs: v.RebalanceTimeoutMillis,
		assignment: v.Assignment,
	}
	if m.rebalanceTimeoutMs < 0 {
		m.rebalanceTimeoutMs = m.sessionTimeoutMs // record versions before 1
	}
	if g.members[m.id] != nil || m.id == "" {
		return
	}
	if m.instance != nil {
		if _, taken := g.static[*m.instance]; taken {
			return
		}
	}
	if g.protocol != nil {
		m.protocols = []protocol{{*g.protocol, v.Subscription}}
	}
	g.add(m, nil, g.protocolType)
}

// begin starts the sessions of a loaded group. One that is over a lowered group.max.size rebalances.
func (g *Group) begin(now Instant) Effects {
	for _, m := range g.members {
		g.beat(now, m)
	}
	if g.state == Stable && len(g.members) > g.cfg.MaxSize {
		g.prepare(now, "over group.max.size")
	}
	return g.take()
}

// end answers everybody who waits: the coordinator is somewhere else, or stops.
func (g *Group) end(code int16) Effects {
	for _, m := range g.ordered() {
		g.answerJoin(m, joinError(m.id, code))
		g.answerSync(m, syncError(code))
	}
	return g.take()
}
