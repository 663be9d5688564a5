package api

// SaslAuthenticate (key 36), versions 0 to 2.
//
// Behaviours that matter:
//   - on a listener without SASL it is ILLEGAL_SASL_STATE, and the connection goes on

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) saslAuthenticate(r *wire.Request) error {
	if err := r.Decode(kmsg.NewPtrSASLAuthenticateRequest()); err != nil {
		return err
	}
	message := "SaslAuthenticate request received after successful authentication"
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.ErrorCode, resp.ErrorMessage = kerr.IllegalSaslState.Code, &message
	r.Reply(resp)
	return nil
}
