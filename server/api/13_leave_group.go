package api

// LeaveGroup (key 13), versions 0 to 5.
//
// Behaviours that matter (package group):
//   - before version 3 a request has one member, and its error stands at the top; afterwards each has its own
//   - a static member may be named by its instance alone, which is how an administrator removes it

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) leaveGroup(r *wire.Request) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.LeaveGroup(req, func(resp *kmsg.LeaveGroupResponse) { r.Reply(resp) })
	})
	return nil
}
