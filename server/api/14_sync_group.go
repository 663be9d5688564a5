package api

// SyncGroup (key 14), versions 0 to 5.
//
// Behaviours that matter (package group):
//   - followers are answered when their leader's assignment is in the log, or the rebalance begins anew
//   - from version 5 on protocol type and name must be there, and the group's: INCONSISTENT_GROUP_PROTOCOL

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) syncGroup(r *wire.Request) error {
	req := kmsg.NewPtrSyncGroupRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.SyncGroup(req, func(resp *kmsg.SyncGroupResponse) { r.Reply(resp) })
	})
	return nil
}
