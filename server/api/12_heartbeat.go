package api

// Heartbeat (key 12), versions 0 to 4.
//
// Behaviours that matter (package group):
//   - a rebalance under way is REBALANCE_IN_PROGRESS: the member joins again
//   - while the group is being loaded all is well: the member's session begins when that is done

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) heartbeat(r *wire.Request) error {
	req := kmsg.NewPtrHeartbeatRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.Heartbeat(req, func(resp *kmsg.HeartbeatResponse) { r.Reply(resp) })
	})
	return nil
}
