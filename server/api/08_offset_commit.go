package api

// OffsetCommit (key 8), versions 2 to 10.
//
// Behaviours that matter (package group):
//   - generation -1 without a member is a store of offsets without a group, for everybody while the group has no members
//   - partitions that do not exist are refused one by one, the others are committed
//   - offsets are not compared with the log; metadata above offset.metadata.max.bytes is OFFSET_METADATA_TOO_LARGE
//   - versions 2 to 4 say how long the offsets are kept
//   - from version 10 on topics are named by id
//   - the answer comes when the offsets are in the log, as durable as __consumer_offsets is configured

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) offsetCommit(r *wire.Request) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.OffsetCommit(req, func(resp *kmsg.OffsetCommitResponse) { r.Reply(resp) })
	})
	return nil
}
