package api

// CreateAcls (key 30), versions 1 to 3.
//
// Behaviours that matter:
//   - without an authorizer each creation is SECURITY_DISABLED

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) createACLs(r *wire.Request) error {
	req := kmsg.NewPtrCreateACLsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrCreateACLsResponse()
	for range req.Creations {
		result := kmsg.NewCreateACLsResponseResult()
		result.ErrorCode, result.ErrorMessage = securityDisabled, &noAuthorizer
		resp.Results = append(resp.Results, result)
	}
	r.Reply(resp)
	return nil
}
