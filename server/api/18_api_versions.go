package api

// ApiVersions (key 18), versions 0 to 5.
//
// Behaviours that matter:
//   - a version that is too new is answered in version 0, with error 35 and this API's own range (KIP-511; server/wire)
//   - the header of the answer never has tagged fields
//   - client software name and version are checked from version 3 on: a bad one is INVALID_REQUEST
//   - version 5 may name a cluster and a node, together: a request for another one is REBOOTSTRAP_REQUIRED (KIP-1242)
//   - the answer lists what is served and nothing else; there are no features to finalize

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

// softwareName is what Kafka takes for the name and the version of a client's software.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (b *Broker) apiVersions(r *wire.Request) error {
	req := kmsg.NewPtrApiVersionsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = b.checkApiVersions(r, req)
	if resp.ErrorCode == 0 {
		for _, h := range b.handlers() {
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MinVersion, k.MaxVersion = h.Key, h.Min, h.Max
			resp.ApiKeys = append(resp.ApiKeys, k)
		}
		resp.ApiKeys[0].MinVersion = 0 // librdkafka takes a Produce range from 3 on for a broker without it (KAFKA-18659)
		resp.FinalizedFeaturesEpoch = b.Metadata.Image().Offset
	}
	r.Reply(resp)
	return nil
}

func (b *Broker) checkApiVersions(r *wire.Request, req *kmsg.ApiVersionsRequest) int16 {
	switch {
	case r.Version >= 3 && (!softwareName.MatchString(req.ClientSoftwareName) || !softwareName.MatchString(req.ClientSoftwareVersion)):
		return kerr.InvalidRequest.Code
	case req.ClusterID == nil && req.NodeID == -1: // as before version 5
		return 0
	case req.ClusterID == nil || req.NodeID == -1:
		return kerr.InvalidRequest.Code
	case *req.ClusterID != b.Metadata.Image().ClusterID || req.NodeID != b.NodeID:
		return kerr.RebootstrapRequired.Code
	}
	return 0
}
