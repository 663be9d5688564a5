package api

// DescribeGroups (key 15), versions 0 to 6.
//
// Behaviours that matter (package group):
//   - a group that is not there is Dead; from version 6 on with GROUP_ID_NOT_FOUND
//   - protocol and members' metadata are those of a stable group
//   - authorised operations (from version 3 on) come where they are asked for: all of a group, as without an authoriser

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

// groupOperations are all operations on groups, a bit for each of Kafka's AclOperation: READ, DELETE, DESCRIBE,
// DESCRIBE_CONFIGS, ALTER_CONFIGS.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

func (b *Broker) describeGroups(r *wire.Request) error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	b.coordinated(func() {
		b.Groups.DescribeGroups(req, func(resp *kmsg.DescribeGroupsResponse) {
			for i := range resp.Groups {
				if req.IncludeAuthorizedOperations && resp.Groups[i].ErrorCode == 0 {
					resp.Groups[i].AuthorizedOperations = groupOperations
				}
			}
			r.Reply(resp)
		})
	})
	return nil
}
