package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker without authentication and authorisation says so by codes, in every version, and the connection goes on.
func TestSecurityIsSaidToBeDisabled(t *testing.T) {
	r := newGroupRig(t)
	const disabled, state = 54, 34
	if kerr.SecurityDisabled.Code != disabled || kerr.IllegalSaslState.Code != state {
		t.Fatal("the codes are not Kafka's")
	}
	for v := int16(1); v <= 3; v++ {
		d := kmsg.NewPtrDescribeACLsRequest()
		d.Version = v
		same(t, "DescribeAcls", ask[*kmsg.DescribeACLsResponse](r, d).ErrorCode, disabled)
		c := kmsg.NewPtrCreateACLsRequest()
		c.Version, c.Creations = v, make([]kmsg.CreateACLsRequestCreation, 2)
		created := ask[*kmsg.CreateACLsResponse](r, c).Results
		same(t, "results of CreateAcls", len(created), 2)
		same(t, "CreateAcls", created[1].ErrorCode, disabled)
		x := kmsg.NewPtrDeleteACLsRequest()
		x.Version, x.Filters = v, make([]kmsg.DeleteACLsRequestFilter, 1)
		same(t, "DeleteAcls", ask[*kmsg.DeleteACLsResponse](r, x).Results[0].ErrorCode, disabled)
	}
	h := kmsg.NewPtrSASLHandshakeRequest()
	h.Version, h.Mechanism = 1, "PLAIN"
	same(t, "SaslHandshake", ask[*kmsg.SASLHandshakeResponse](r, h).ErrorCode, state)
	a := kmsg.NewPtrSASLAuthenticateRequest()
	a.Version = 2
	same(t, "SaslAuthenticate", ask[*kmsg.SASLAuthenticateResponse](r, a).ErrorCode, state)
}
