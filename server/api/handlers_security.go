package api

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/server/wire"
)

// securityHandlers are those of authentication and authorisation, as a broker answers that has neither: admin clients
// ask, and want to be told so by a code and not by a missing API.
func (b *Broker) securityHandlers() []wire.Handler {
	return []wire.Handler{
		{Key: 17, Min: 0, Max: 1, Serve: b.saslHandshake},
		{Key: 29, Min: 1, Max: 3, Serve: b.describeACLs},
		{Key: 30, Min: 1, Max: 3, Serve: b.createACLs},
		{Key: 31, Min: 1, Max: 3, Serve: b.deleteACLs},
		{Key: 36, Min: 0, Max: 2, Serve: b.saslAuthenticate},
	}
}

// noAuthorizer is Kafka's message where authorizer.class.name is not set.
var noAuthorizer = "No Authorizer is configured."

// securityDisabled is the code that goes with it.
var securityDisabled = kerr.SecurityDisabled.Code
