package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The requests of members. Requests may be reused once a call has returned, except for their strings.

// JoinGroup joins a group. The answer may come much later.
func (c *Coordinator) JoinGroup(who RequestContext, req *kmsg.JoinGroupRequest, reply func(*kmsg.JoinGroupResponse)) {
	refuse := func(code int16) {
		resp := joinError(req.MemberID, code)
		resp.Version = req.Version
		reply(&resp)
	}
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		switch {
		case code != 0:
		case req.Group == "":
			code = kerr.InvalidGroupID.Code
		case req.SessionTimeoutMillis < c.cfg.MinSessionTimeoutMs || req.SessionTimeoutMillis > c.cfg.MaxSessionTimeoutMs:
			code = kerr.InvalidSessionTimeout.Code
		case s.groups[req.Group] == nil && req.MemberID != "":
			code = kerr.UnknownMemberID.Code
		case s.tooMuch(req):
			code = kerr.GroupMaxSizeReached.Code
		}
		if code != 0 {
			s.out = append(s.out, func() { refuse(code) })
			return
		}
		sl := s.find(now, req.Group, true)
		s.collect(sl, sl.group.Join(now, who, req, reply))
	})
}

// SyncGroup asks for a member's assignment, and brings everybody's from the leader.
func (c *Coordinator) SyncGroup(req *kmsg.SyncGroupRequest, reply func(*kmsg.SyncGroupResponse)) {
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		sl := s.groups[req.Group]
		switch {
		case req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil):
			code = kerr.InconsistentGroupProtocol.Code // v5 must say (KIP-559)
		case code != 0:
		case req.Group == "":
			code = kerr.InvalidGroupID.Code
		case sl == nil:
			code = kerr.UnknownMemberID.Code
		}
		if code != 0 {
			resp := syncError(code)
			resp.Version = req.Version
			s.out = append(s.out, func() { reply(&resp) })
			return
		}
		s.collect(sl, sl.group.Sync(now, req, reply))
	})
}

// Heartbeat keeps a member alive and tells it of a rebalance. While the group is loaded it says all is well, as Kafka:
// the member's session begins when that is done.
func (c *Coordinator) Heartbeat(req *kmsg.HeartbeatRequest, reply func(*kmsg.HeartbeatResponse)) {
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.Version = req.Version
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		sl := s.groups[req.Group]
		switch {
		case req.Group == "":
			code = kerr.InvalidGroupID.Code
		case code == kerr.CoordinatorLoadInProgress.Code:
			code = 0
		case code != 0:
		case sl == nil:
			code = kerr.UnknownMemberID.Code
		default:
			code = sl.group.Heartbeat(now, req)
			s.collect(sl, Effects{})
		}
		resp.ErrorCode = code
		s.out = append(s.out, func() { reply(resp) })
	})
}

// LeaveGroup removes members. Before v3 a request has one, and its code is at the top.
func (c *Coordinator) LeaveGroup(req *kmsg.LeaveGroupRequest, reply func(*kmsg.LeaveGroupResponse)) {
	members := req.Members
	if req.Version < 3 {
		members = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = req.Version
	s := c.shards[c.PartitionFor(req.Group)]
	s.run(func(now Instant) {
		code := s.code()
		var codes []int16
		sl := s.groups[req.Group]
		switch {
		case code != 0:
		case req.Group == "":
			code = kerr.InvalidGroupID.Code
		case sl == nil:
			codes = make([]int16, len(members))
			fill(codes, kerr.UnknownMemberID.Code)
		default:
			var e Effects
			codes, code, e = sl.group.Leave(now, members)
			s.collect(sl, e)
		}
		leaveAnswer(resp, members, codes, code)
		s.out = append(s.out, func() { reply(resp) })
	})
}

func leaveAnswer(resp *kmsg.LeaveGroupResponse, members []kmsg.LeaveGroupRequestMember, codes []int16, code int16) {
	resp.ErrorCode = code
	if code != 0 {
		return
	}
	if resp.Version < 3 {
		resp.ErrorCode = codes[0]
		return
	}
	for i, m := range members {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ErrorCode = m.MemberID, m.InstanceID, codes[i]
		resp.Members = append(resp.Members, rm)
	}
}
