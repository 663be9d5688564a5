package api

// OffsetDelete (key 47), versions 0.
//
// Behaviours that matter (package group):
//   - offsets of a topic that the group's members subscribe to are kept: GROUP_SUBSCRIBED_TO_TOPIC
//   - offsets that are not there are deleted without a word; partitions that are not there are
//     UNKNOWN_TOPIC_OR_PARTITION

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) offsetDelete(r *wire.Request) error {
	req := kmsg.NewPtrOffsetDeleteRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.OffsetDelete(req, func(resp *kmsg.OffsetDeleteResponse) { r.Reply(resp) })
	})
	return nil
}
