package api

// DeleteAcls (key 31), versions 1 to 3.
//
// Behaviours that matter:
//   - without an authorizer each filter is SECURITY_DISABLED

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) deleteACLs(r *wire.Request) error {
	req := kmsg.NewPtrDeleteACLsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	for range req.Filters {
		result := kmsg.NewDeleteACLsResponseResult()
		result.ErrorCode, result.ErrorMessage = securityDisabled, &noAuthorizer
		resp.Results = append(resp.Results, result)
	}
	r.Reply(resp)
	return nil
}
