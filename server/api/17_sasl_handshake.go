package api

// SaslHandshake (key 17), versions 0 and 1.
//
// Behaviours that matter:
//   - on a listener without SASL it is ILLEGAL_SASL_STATE, and the connection goes on

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) saslHandshake(r *wire.Request) error {
	if err := r.Decode(kmsg.NewPtrSASLHandshakeRequest()); err != nil {
		return err
	}
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode = kerr.IllegalSaslState.Code
	r.Reply(resp)
	return nil
}
