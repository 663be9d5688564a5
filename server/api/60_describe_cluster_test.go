package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

func describeCluster() *kmsg.DescribeClusterRequest {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.EndpointType = 2, 1
	return req
}

func TestFencedBrokersAreDescribedToThoseWhoAsk(t *testing.T) {
	b := topicBroker(t)
	registerBrokers(t, b, metadata.Broker{ID: 2, Fenced: true})
	req := describeCluster()
	if got := clientsOf(b, "PLAINTEXT").answerDescribeCluster(req, 1); len(got.Brokers) != 1 || got.Brokers[0].IsFenced || got.ClusterID == "" {
		t.Errorf("%+v", got)
	}
	req.IncludeFencedBrokers, req.IncludeClusterAuthorizedOperations = true, true
	got := clientsOf(b, "PLAINTEXT").answerDescribeCluster(req, 1)
	if len(got.Brokers) != 2 || !got.Brokers[1].IsFenced || got.ClusterAuthorizedOperations != 8096 {
		t.Errorf("%+v", got)
	}
}

func TestControllersAreNotDescribedHere(t *testing.T) {
	b := topicBroker(t)
	for kind, want := range map[int8]int16{1: 0, 2: 114, 0: 115, 3: 115, -1: 115} {
		req := describeCluster()
		req.EndpointType = kind
		got := clientsOf(b, "PLAINTEXT").answerDescribeCluster(req, 1)
		if got.ErrorCode != want || (got.ErrorMessage != nil) != (want != 0) || (got.Brokers != nil) != (want == 0) {
			t.Errorf("type %d: %+v, want error %d", kind, got, want)
		}
	}
}
