package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat is a Heartbeat; it returns the code of the answer.
func (g *Group) Heartbeat(now Instant, req *kmsg.HeartbeatRequest) int16 {
	if g.state == Dead {
		return kerr.CoordinatorNotAvailable.Code
	}
	m, code := g.check(req.MemberID, req.InstanceID)
	switch {
	case code != 0:
		return code
	case req.Generation != g.generation:
		return kerr.IllegalGeneration.Code
	}
	// Between join and sync members send heartbeats too.
	g.beat(now, m)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

// Leave is a LeaveGroup: the codes are those of the members, in order; code is the group's. They leave together, and
// the rebalance comes after the last.
func (g *Group) Leave(now Instant, members []kmsg.LeaveGroupRequestMember) (codes []int16, code int16, out Effects) {
	if g.state == Dead {
		return nil, kerr.CoordinatorNotAvailable.Code, Effects{}
	}
	codes = make([]int16, len(members))
	left := false
	for i, l := range members {
		codes[i] = g.leave(l)
		left = left || codes[i] == 0
	}
	if left {
		switch g.state {
		case Stable, CompletingRebalance:
			g.prepare(now, "members leave")
		case PreparingRebalance:
			g.maybeCompleteJoin(now)
		}
	}
	return codes, 0, g.take()
}

// leave removes one: a pending id, a member by id, or (from an administrator) a static member by instance alone.
func (g *Group) leave(l kmsg.LeaveGroupRequestMember) int16 {
	id := l.MemberID
	if id == "" {
		if l.InstanceID == nil {
			return kerr.UnknownMemberID.Code
		}
		static, ok := g.static[*l.InstanceID]
		if !ok {
			return kerr.UnknownMemberID.Code
		}
		id = static
	} else if _, ok := g.pending[id]; !ok {
		if _, code := g.check(id, l.InstanceID); code != 0 {
			return code
		}
	}
	reason := "not given"
	if l.Reason != nil {
		reason = *l.Reason
	}
	g.info("member leaves", "member", id, "reason", reason)
	g.remove(id)
	return 0
}

// Tick does what is due and recomputes Deadline.
func (g *Group) Tick(now Instant) Effects {
	if now.Mono < g.wakeAt {
		return Effects{}
	}
	g.endSessions(now)
	if g.joinAt <= now.Mono && g.state == PreparingRebalance {
		g.joinTimeUp(now)
	}
	if g.syncAt <= now.Mono {
		g.syncTimeUp(now)
	}
	g.wakeAt = min(g.joinAt, g.syncAt)
	for _, m := range g.members {
		g.at(m.deadline)
	}
	for _, d := range g.pending {
		g.at(d)
	}
	g.maybeGone()
	return g.take()
}

// endSessions removes members and pending ids whose time is up, then rebalances or goes on.
func (g *Group) endSessions(now Instant) {
	ended := false
	for id, deadline := range g.pending {
		if deadline <= now.Mono {
			delete(g.pending, id)
			ended = true
		}
	}
	lost := false
	for _, m := range g.ordered() {
		if m.deadline > now.Mono {
			continue
		}
		m.deadline = never // a member that is taken for alive gets its next one when it is answered
		if !m.alive() {
			g.info("member removed: session ended", "member", m.id)
			g.remove(m.id)
			lost = true
		}
	}
	switch {
	case lost && (g.state == Stable || g.state == CompletingRebalance):
		g.prepare(now, "sessions ended")
	case (lost || ended) && g.state == PreparingRebalance && g.allJoined():
		g.completeJoin(now)
	}
}

// syncTimeUp removes members that joined the generation and never synced.
func (g *Group) syncTimeUp(now Instant) {
	g.syncAt = never
	if g.state != CompletingRebalance && g.state != Stable || len(g.pendingSync) == 0 {
		return
	}
	for id := range g.pendingSync {
		g.info("member removed: did not sync", "member", id)
		g.remove(id)
	}
	g.prepare(now, "members did not sync")
}
