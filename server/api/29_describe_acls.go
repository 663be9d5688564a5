package api

// DescribeAcls (key 29), versions 1 to 3.
//
// Behaviours that matter:
//   - without an authorizer it is SECURITY_DISABLED, for any filter

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) describeACLs(r *wire.Request) error {
	if err := r.Decode(kmsg.NewPtrDescribeACLsRequest()); err != nil {
		return err
	}
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode, resp.ErrorMessage = securityDisabled, &noAuthorizer
	r.Reply(resp)
	return nil
}
