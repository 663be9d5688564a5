package api

// JoinGroup (key 11), versions 0 to 9.
//
// Behaviours that matter (package group):
//   - the answer comes when the group has its members, up to the rebalance timeout later; a connection that goes away
//     meanwhile does not take its member along
//   - from version 4 on a member without an id is given one and told to come back with it (MEMBER_ID_REQUIRED), but for
//     static members (version 5)
//   - a session timeout out of range is INVALID_SESSION_TIMEOUT, a group of group.max.size members is
//     GROUP_MAX_SIZE_REACHED
//   - metadata that no record of __consumer_offsets can hold is refused here: Kafka keeps it in memory until the
//     generation cannot be written, and then gives that same code to all members

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/group"
	"github.com/zurau/zurau/server/offsets"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) joinGroup(r *wire.Request) error {
	req := kmsg.NewPtrJoinGroupRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	who := group.RequestContext{ClientID: r.Client(), ClientHost: r.Host()}
	b.coordinated(func() {
		if b.unstorable(req) {
			resp := kmsg.NewPtrJoinGroupResponse()
			resp.ErrorCode, resp.MemberID = kerr.UnknownServerError.Code, req.MemberID
			resp.Generation, resp.Protocol = -1, new(string)
			r.Reply(resp)
			return
		}
		b.Groups.JoinGroup(who, req, func(resp *kmsg.JoinGroupResponse) { r.Reply(resp) })
	})
	return nil
}

// unstorable reports whether a member says more for one protocol than a batch of __consumer_offsets may have.
func (b *Broker) unstorable(req *kmsg.JoinGroupRequest) bool {
	t := b.Partitions.ByName(offsets.Topic)
	if t == nil {
		return false
	}
	limit := int(t.Config().MaxMessageBytes)
	for i := range req.Protocols {
		if len(req.Protocols[i].Metadata) > limit {
			return true
		}
	}
	return false
}
