package api

// OffsetFetch (key 9), versions 1 to 10.
//
// Behaviours that matter (package group):
//   - a group, topic or partition that is not known has offset -1, and no error
//   - a null list of topics (from version 2 on) is all that the group has, an empty one is none
//   - before version 2 an error of the group stands at each partition, there is no other place for it
//   - from version 8 on several groups may be asked for; from version 9 on with a member's epoch, which classic groups do
//     not look at; from version 10 on topics are named by id
//   - require stable (from version 7 on) waits for commits in flight

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) offsetFetch(r *wire.Request) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.OffsetFetch(req, func(resp *kmsg.OffsetFetchResponse) { r.Reply(resp) })
	})
	return nil
}
