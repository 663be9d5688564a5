package api

// DeleteGroups (key 42), versions 0 to 3.
//
// Behaviours that matter (package group):
//   - a group with members is NON_EMPTY_GROUP, one that is not there GROUP_ID_NOT_FOUND
//   - the answer comes when the tombstones of the group and its offsets are in the log: it does not come back with a
//     restart

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) deleteGroups(r *wire.Request) error {
	req := kmsg.NewPtrDeleteGroupsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.DeleteGroups(req, func(resp *kmsg.DeleteGroupsResponse) { r.Reply(resp) })
	})
	return nil
}
