package group

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// minPatienceMs keeps a group whose members ask for no rebalance timeout at all from spinning, in ms.
const minPatienceMs = 100

// rebalance begins a rebalance, or completes the one under way where nobody is missing any more.
func (g *Group) rebalance(now Instant, reason string) {
	if g.canRebalance() {
		g.prepare(now, reason)
	} else {
		g.maybeCompleteJoin(now)
	}
}

// maybeCompleteJoin ends the join phase if all are there. The delay of a group that was empty is not cut short.
func (g *Group) maybeCompleteJoin(now Instant) {
	if g.state == PreparingRebalance && !g.initial && g.allJoined() {
		g.completeJoin(now)
	}
}

// prepare begins a rebalance: who waits with a sync is told to join, and members have the longest of their rebalance
// timeouts to do so. A group that was empty waits a moment for more to come.
func (g *Group) prepare(now Instant, reason string) {
	if g.state == CompletingRebalance {
		for _, m := range g.ordered() {
			m.assignment = nil
			g.sendAssignment(now, m, kerr.RebalanceInProgress.Code)
		}
	}
	clear(g.pendingSync)
	g.syncAt = never
	g.info("rebalance begins", "reason", reason)
	fromEmpty := g.state == Empty
	g.transition(now, PreparingRebalance)
	switch {
	case fromEmpty && g.cfg.InitialRebalanceDelayMs > 0:
		g.initial, g.memberAdded = true, false
		g.delay = g.cfg.InitialRebalanceDelayMs
		g.remaining = max(g.rebalanceTimeoutMs()-g.delay, 0)
		g.joinAt = g.at(now.Mono + int64(g.delay))
	case fromEmpty || g.allJoined():
		g.completeJoin(now)
	default:
		g.joinAt = g.at(now.Mono + int64(g.rebalanceTimeoutMs()))
	}
}

// rebalanceTimeoutMs is the longest that a member asked for.
func (g *Group) rebalanceTimeoutMs() int32 {
	longest := int32(0)
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeoutMs)
	}
	return longest
}

// joinTimeUp is the end of joinAt.
func (g *Group) joinTimeUp(now Instant) {
	g.joinAt = never
	if g.initial && g.memberAdded && g.remaining > 0 {
		// More have come: wait for yet more, but no longer than the rebalance timeout in all.
		wait := min(g.cfg.InitialRebalanceDelayMs, g.remaining)
		g.memberAdded, g.remaining, g.delay = false, max(g.remaining-g.delay, 0), wait
		g.joinAt = g.at(now.Mono + int64(wait))
		return
	}
	g.completeJoin(now)
}

// completeJoin ends the join phase: dynamic members that did not join are out, static ones stay, and the rest is the
// next generation.
func (g *Group) completeJoin(now Instant) {
	g.joinAt, g.initial = never, false
	for _, m := range g.ordered() {
		if m.join == nil && m.instance == nil {
			g.info("member removed: did not join", "member", m.id)
			g.remove(m.id)
		}
	}
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members, and none has joined: wait until one does or their sessions end.
		g.joinAt = g.at(now.Mono + max(int64(g.rebalanceTimeoutMs()), minPatienceMs))
		return
	}
	g.generation++
	clear(g.pendingSync)
	if len(g.members) == 0 {
		g.becomeEmpty(now)
		return
	}
	g.protocol = g.vote()
	g.subscribed = g.subscriptions()
	g.transition(now, CompletingRebalance)
	g.info("generation formed", "generation", g.generation, "members", len(g.members))
	for _, m := range g.ordered() {
		g.answerJoin(m, g.joinResponse(m))
		m.isNew = false
		g.beat(now, m)
		g.pendingSync[m.id] = true
	}
	g.syncAt = g.at(now.Mono + int64(g.rebalanceTimeoutMs()))
}

// becomeEmpty writes that nobody is left. A failure is only told to the log: the generation before would come back
// after a restart and its members' sessions would end.
func (g *Group) becomeEmpty(now Instant) {
	g.protocol = nil
	g.subscribed = g.subscriptions()
	g.transition(now, Empty)
	g.info("group is empty", "generation", g.generation)
	g.recorded = true
	g.write([]Record{g.record(nil)}, func(_ Instant, code int16) {
		if code != 0 {
			g.info("empty group not written", "code", code)
		}
	})
}

// electLeader keeps the leader if it has joined, else takes the first that has.
func (g *Group) electLeader() bool {
	if l := g.members[g.leader]; l != nil && l.join != nil {
		return true
	}
	for _, m := range g.ordered() {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// vote returns the protocol that most members prefer among those that all know. A tie goes to what the oldest member
// among the voters prefers.
func (g *Group) vote() *string {
	votes := map[string]int{}
	best := ""
	for _, m := range g.ordered() {
		for _, p := range m.protocols {
			if g.supported[p.name] == len(g.members) {
				votes[p.name]++
				break
			}
		}
	}
	for _, m := range g.ordered() {
		for _, p := range m.protocols {
			if votes[p.name] > votes[best] {
				best = p.name
			}
		}
	}
	return &best
}

// record is the group's record with the given assignments, nil for an empty group.
func (g *Group) record(assignment map[string][]byte) Record {
	v := &kmsg.GroupMetadataValue{
		ProtocolType: g.protocolType, Generation: g.generation, Protocol: g.protocol, CurrentStateTimestamp: g.stateSince,
	}
	if g.leader != "" {
		v.Leader = &g.leader
	}
	for _, m := range g.ordered() {
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.id, InstanceID: m.instance, ClientID: m.client.ClientID, ClientHost: m.client.ClientHost,
			RebalanceTimeoutMillis: m.rebalanceTimeoutMs, SessionTimeoutMillis: m.sessionTimeoutMs,
			Subscription: m.metadata(g.protocol), Assignment: assignment[m.id],
		})
	}
	return groupRecord(g.id, v)
}

func (g *Group) info(msg string, args ...any) {
	if l := g.cfg.Log; l != nil {
		l.With(slog.String("group", g.id)).Info(msg, args...)
	}
}
