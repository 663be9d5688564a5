package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

// clientsOf is what clients of a listener see of a broker's cluster.
func clientsOf(b *Broker, listener string) *vantage { return newVantage(b.Metadata.Image(), listener) }

// Fault A25.
func TestClientsAreToldTheAddressesOfTheirListener(t *testing.T) {
	b := topicBroker(t)
	registerBrokers(t, b, metadata.Broker{ID: 1, Rack: "r1", Endpoints: []metadata.Endpoint{
		{Name: "INSIDE", Host: "localhost", Port: 19092}, {Name: "OUTSIDE", Host: "kafka.example.com", Port: 443}, {Name: "SIX", Host: "::1", Port: 9}}},
		metadata.Broker{ID: 2, Endpoints: []metadata.Endpoint{{Name: "INSIDE", Host: "other", Port: 19092}}},
		metadata.Broker{ID: 3, Fenced: true, Endpoints: []metadata.Endpoint{{Name: "INSIDE", Host: "gone", Port: 1}}})
	mustCreate(t, b, newTopic("t", 4, 2))
	for listener, want := range map[string][]string{"INSIDE": {"localhost", "other"}, "OUTSIDE": {"kafka.example.com"}, "SIX": {"::1"}, "NONE": nil} {
		v := clientsOf(b, listener)
		resp := v.answerMetadata(metadataRequest(12, "t"), v.controller(1, true))
		cluster := v.answerDescribeCluster(describeCluster(), v.controller(1, true))
		var hosts, described []string
		known := map[int32]bool{-1: true} // -1: none
		for i, n := range resp.Brokers {
			hosts, described = append(hosts, n.Host), append(described, cluster.Brokers[i].Host)
			known[n.NodeID] = true
			if (n.Rack != nil) != (n.NodeID == 1) {
				t.Errorf("%s: the rack of broker %d is %v", listener, n.NodeID, n.Rack)
			}
		}
		if !slices.Equal(hosts, want) || !slices.Equal(described, want) {
			t.Errorf("%s: hosts are %q and %q, want %q", listener, hosts, described, want)
		}
		if !known[resp.ControllerID] || !known[cluster.ControllerID] || (resp.ControllerID == -1) != (want == nil) {
			t.Errorf("%s: the controllers are %d and %d", listener, resp.ControllerID, cluster.ControllerID)
		}
		for _, p := range resp.Topics[0].Partitions {
			if !known[p.Leader] || (p.Leader == -1) != (p.ErrorCode == 72) {
				t.Errorf("%s: %+v", listener, p)
			}
		}
	}
}

func TestReplicasThatClientsCannotReachAreOffline(t *testing.T) {
	b := topicBroker(t)
	registerBrokers(t, b, metadata.Broker{ID: 2})
	id := mustCreate(t, b, newTopic("t", 1, 2))[0]
	registerBrokers(t, b, metadata.Broker{ID: 2, Fenced: true})
	topic, _ := b.Metadata.Image().TopicByID(id)
	p, _ := topic.Partition(0)
	for _, c := range []struct {
		leader  int32
		version int16
		code    int16
		known   int
	}{{1, 12, 0, 2}, {1, 1, 0, 2}, {1, 0, 9, 1}, {2, 12, 72, 2}, {2, 5, 5, 2}, {2, 0, 5, 1}, {7, 12, 5, 2}, {-1, 12, 5, 2}} {
		p.Leader = c.leader
		got := clientsOf(b, "PLAINTEXT").partition(p, c.version)
		if got.ErrorCode != c.code || len(got.Replicas) != c.known || len(got.ISR) != c.known || !slices.Equal(got.OfflineReplicas, []int32{2}) {
			t.Errorf("leader %d, version %d: %+v", c.leader, c.version, got)
		}
		if want := map[bool]int32{true: 1, false: -1}[c.leader == 1]; got.Leader != want {
			t.Errorf("leader %d, version %d: leader %d, want %d", c.leader, c.version, got.Leader, want)
		}
	}
}

func TestNoTopicsAreAllOrNoneByVersion(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("a", 1, 1), newTopic("b", 2, 1))
	for version := int16(0); version <= 13; version++ {
		for _, null := range []bool{false, true} {
			sent := metadataRequest(version)
			if null {
				sent.Topics = nil
			}
			req := kmsg.NewPtrMetadataRequest()
			req.SetVersion(version)
			if err := req.ReadFrom(sent.AppendTo(nil)); err != nil {
				t.Fatal(err)
			}
			want := 0
			if null || version == 0 {
				want = 2
			}
			got := parsed(t, clientsOf(b, "PLAINTEXT").answerMetadata(req, 1), version)
			if len(got.Topics) != want || len(got.Brokers) != 1 {
				t.Errorf("version %d, null %v: %d topics, want %d", version, null, len(got.Topics), want)
			}
		}
	}
}

func TestTopicsAreFoundByNameOrByID(t *testing.T) {
	b := topicBroker(t)
	ids := mustCreate(t, b, newTopic("a", 1, 1), newTopic("b", 1, 1), newTopic(consumerOffsets, 1, 1))
	req := metadataRequest(12, "a", "none", "a b", "a", consumerOffsets)
	got := clientsOf(b, "PLAINTEXT").answerMetadata(req, 1).Topics
	codes := []int16{0, 3, 17, 0}
	if len(got) != len(codes) {
		t.Fatalf("%d topics, want %d", len(got), len(codes))
	}
	for i, want := range codes {
		if got[i].ErrorCode != want || got[i].IsInternal != (i == 3) {
			t.Errorf("%+v, want error %d", got[i], want)
		}
	}
	req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: ids[1]}, kmsg.MetadataRequestTopic{TopicID: [16]byte{1}}, kmsg.MetadataRequestTopic{})
	got = clientsOf(b, "PLAINTEXT").answerMetadata(req, 1).Topics
	if len(got) != 2 || *got[0].Topic != "b" || got[1].ErrorCode != 100 || got[1].Topic != nil {
		t.Errorf("with ids: %+v", got)
	}
}

func TestRequestsForTopicsWithoutANameAreRefusedAsAWhole(t *testing.T) {
	b := topicBroker(t)
	id := mustCreate(t, b, newTopic("a", 1, 1))[0]
	name := "a"
	for _, c := range []struct {
		version int16
		topic   kmsg.MetadataRequestTopic
		want    int16
	}{
		{10, kmsg.MetadataRequestTopic{TopicID: id}, 42}, {11, kmsg.MetadataRequestTopic{Topic: &name, TopicID: id}, 42},
		{11, kmsg.MetadataRequestTopic{}, 42}, {12, kmsg.MetadataRequestTopic{}, -1}, {13, kmsg.MetadataRequestTopic{}, -1},
		{12, kmsg.MetadataRequestTopic{TopicID: id}, 0}, {12, kmsg.MetadataRequestTopic{Topic: &name, TopicID: id}, 0},
	} {
		req := metadataRequest(c.version, "a")
		req.Topics = append(req.Topics, c.topic)
		code := checkMetadata(req)
		if code != c.want {
			t.Errorf("version %d, %+v: error %d, want %d", c.version, c.topic, code, c.want)
		}
		if code == 0 {
			continue
		}
		got := parsed(t, refuseMetadata(req, code), c.version)
		if len(got.Topics) != 2 || got.Topics[0].ErrorCode != code || *got.Topics[1].Topic != "" && c.topic.Topic == nil || got.Brokers != nil {
			t.Errorf("version %d: %+v", c.version, got)
		}
	}
}

func TestOperationsAreToldToThoseWhoAsk(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("a", 1, 1))
	for version := int16(0); version <= 13; version++ {
		for _, asked := range []bool{false, true} {
			req := metadataRequest(version, "a")
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = asked, asked
			got := parsed(t, clientsOf(b, "PLAINTEXT").answerMetadata(req, 1), version)
			topic, cluster := int32(-1<<31), int32(-1<<31)
			if asked && version >= 8 {
				topic = 3576
			}
			if asked && version >= 8 && version <= 10 {
				cluster = 8096
			}
			if got.Topics[0].AuthorizedOperations != topic || got.AuthorizedOperations != cluster {
				t.Errorf("version %d, asked %v: %d and %d", version, asked, got.Topics[0].AuthorizedOperations, got.AuthorizedOperations)
			}
		}
	}
}
