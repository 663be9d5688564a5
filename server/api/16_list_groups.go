package api

// ListGroups (key 16), versions 0 to 5.
//
// Behaviours that matter (package group):
//   - all groups of this broker; from version 4 on those in some states, from version 5 on those of some types
//   - while groups are being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS: a part would look like all
//   - it does not make __consumer_offsets: without it there are no groups

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) listGroups(r *wire.Request) error {
	req := kmsg.NewPtrListGroupsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.Groups.ListGroups(req, func(resp *kmsg.ListGroupsResponse) { r.Reply(resp) })
	return nil
}
