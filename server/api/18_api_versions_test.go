package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// KIP-1242: a client that is led to another cluster, or to another broker behind the same address, is told.
func TestApiVersionsOfAnotherClusterOrNode(t *testing.T) {
	r := newGroupRig(t, "node.id=5")
	here, other := r.server.ClusterID(), "another-cluster"
	for _, c := range []struct {
		cluster *string
		node    int32
		code    int16
	}{{nil, -1, 0}, {&here, 5, 0}, {&other, 5, 129}, {&here, 6, 129}, {&here, -1, 42}, {nil, 5, 42}} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion, req.ClusterID, req.NodeID = 5, "test", "1", c.cluster, c.node
		got := askVersions(r, req)
		if got.ErrorCode != c.code || (len(got.ApiKeys) > 0) != (c.code == 0) {
			t.Errorf("cluster %v, node %d: error %d with %d keys, want %d", c.cluster, c.node, got.ErrorCode, len(got.ApiKeys), c.code)
		}
	}
}

func TestApiVersionsWantsToKnowTheSoftware(t *testing.T) {
	r := newGroupRig(t)
	for name, code := range map[string]int16{"apache-kafka-java": 0, "a": 0, "4.4.0-rc1": 0, "": 42, "-a": 42, "a b": 42, "a\n": 42, "a.": 42} {
		for _, asVersion := range []bool{false, true} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "test", "1"
			if asVersion {
				req.ClientSoftwareVersion = name
			} else {
				req.ClientSoftwareName = name
			}
			same(t, name, askVersions(r, req).ErrorCode, code)
		}
	}
	same(t, "before version 3", askVersions(r, &kmsg.ApiVersionsRequest{Version: 2}).ErrorCode, 0)
}

// The answer lists each API once, in order, with a range that the broker serves.
func TestApiVersionsListsWhatIsServed(t *testing.T) {
	r := newGroupRig(t)
	last := int16(-1)
	for _, k := range askVersions(r, &kmsg.ApiVersionsRequest{}).ApiKeys {
		if k.ApiKey <= last || k.MinVersion > k.MaxVersion || k.MaxVersion > kmsg.RequestForKey(k.ApiKey).MaxVersion() {
			t.Errorf("key %d behind %d, versions %d to %d", k.ApiKey, last, k.MinVersion, k.MaxVersion)
		}
		last = k.ApiKey
	}
}

// askVersions is exchange for the one answer whose header has no tags.
func askVersions(r *groupRig, req *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
	r.t.Helper()
	b, err := roundTrip(r.conn, kmsg.NewRequestFormatter().AppendRequest(nil, req, 7))
	if err != nil {
		r.t.Fatal(err)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(b[4:]); err != nil {
		r.t.Fatal(err)
	}
	return resp
}
