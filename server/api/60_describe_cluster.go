package api

// DescribeCluster (key 60), versions 0 to 2.
//
// Behaviours that matter:
//   - brokers are at the addresses that they have for the listener the client came by; fenced ones are listed where asked
//     for (version 2)
//   - from version 1 on the client says whether it means brokers or controllers; here are brokers
//   - authorized operations come where asked for

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

// Types of endpoints.
const (
	endpointBroker     = 1
	endpointController = 2
)

func (b *Broker) describeCluster(r *wire.Request) error {
	req := kmsg.NewPtrDescribeClusterRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	v := newVantage(b.Metadata.Image(), r.Listener())
	r.Reply(v.answerDescribeCluster(req, v.controller(b.NodeID, b.Metadata.Leader())))
	return nil
}

func (v *vantage) answerDescribeCluster(req *kmsg.DescribeClusterRequest, controller int32) *kmsg.DescribeClusterResponse {
	resp := kmsg.NewPtrDescribeClusterResponse()
	if r := checkEndpoint(req); r != nil {
		resp.ErrorCode, resp.ErrorMessage = r.answer()
		return resp
	}
	resp.ClusterID, resp.ControllerID = v.img.ClusterID, controller
	for _, n := range v.nodes {
		if !n.fenced || req.IncludeFencedBrokers {
			resp.Brokers = append(resp.Brokers, kmsg.DescribeClusterResponseBroker{
				NodeID: n.id, Host: n.host, Port: n.port, Rack: n.rack, IsFenced: n.fenced,
			})
		}
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return resp
}

func checkEndpoint(req *kmsg.DescribeClusterRequest) *refusal {
	switch req.EndpointType {
	case endpointBroker:
		return nil
	case endpointController:
		return refuse(kerr.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	}
	return refuse(kerr.UnsupportedEndpointType, "Unsupported endpoint type %d", req.EndpointType)
}
