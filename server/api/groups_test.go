package api_test

import (
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestGroupsSurviveARestart(t *testing.T) {
	r := newGroupRig(t)
	for i, topic := range []string{"a", "b", "c"} {
		r.create(topic)
		for _, g := range []string{"g1", "g2"} {
			same(t, "commit", r.commit(g, topic, int64(10*i+10), "said "+topic), 0)
		}
	}
	same(t, "delete g2", ask[*kmsg.DeleteGroupsResponse](r, &kmsg.DeleteGroupsRequest{Version: 3, Groups: []string{"g2"}}).Groups[0].ErrorCode, 0)
	forget := &kmsg.OffsetDeleteRequest{Group: "g1", Topics: []kmsg.OffsetDeleteRequestTopic{
		{Topic: "b", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}}
	same(t, "delete an offset", ask[*kmsg.OffsetDeleteResponse](r, forget).Topics[0].Partitions[0].ErrorCode, 0)

	r.restart()
	all := kmsg.NewPtrOffsetFetchRequest()
	all.Version, all.Groups = 9, []kmsg.OffsetFetchRequestGroup{{Group: "g1"}}
	topics := ask[*kmsg.OffsetFetchResponse](r, all).Groups[0].Topics
	same(t, "topics of g1", len(topics), 2)
	for _, w := range []struct {
		group, topic string
		offset       int64
		metadata     string
	}{{"g1", "a", 10, "said a"}, {"g1", "b", -1, ""}, {"g1", "c", 30, "said c"}, {"g2", "a", -1, ""}} {
		offset, metadata := r.committed(w.group, w.topic)
		same(t, w.group+" "+w.topic, words(offset, metadata), words(w.offset, w.metadata))
	}
	list := ask[*kmsg.ListGroupsResponse](r, &kmsg.ListGroupsRequest{Version: 5}).Groups
	same(t, "groups", words(len(list), list[0].Group), "1 g1")
	same(t, "g2", ask[*kmsg.DescribeGroupsResponse](r, &kmsg.DescribeGroupsRequest{Version: 5, Groups: []string{"g2"}}).Groups[0].State, "Dead")
}

// TestTheFirstRequestOfAGroupNeedsNoOther: there is no topic for groups yet, and nobody asked for the coordinator.
func TestTheFirstRequestOfAGroupNeedsNoOther(t *testing.T) {
	r := newGroupRig(t)
	same(t, "groups", len(ask[*kmsg.ListGroupsResponse](r, &kmsg.ListGroupsRequest{Version: 4}).Groups), 0)
	resp := ask[*kmsg.JoinGroupResponse](r, join("g"))
	same(t, "join", resp.ErrorCode, 0)
	same(t, "leader", resp.LeaderID, resp.MemberID)
}

func TestAGroupThatNobodyKnowsHasNoOffsets(t *testing.T) {
	r := newGroupRig(t)
	r.create("a")
	for _, version := range []int16{1, 2, 5, 7} {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = version, "nobody"
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "a", Partitions: []int32{0}}, {Topic: "missing", Partitions: []int32{0}}}
		resp := ask[*kmsg.OffsetFetchResponse](r, req)
		for _, topic := range resp.Topics {
			p := topic.Partitions[0]
			same(t, words("v", version, topic.Topic), words(p.Offset, p.LeaderEpoch, *p.Metadata == "", p.ErrorCode), "-1 -1 true 0")
		}
		same(t, "topics", len(resp.Topics), 2)
		if req.Topics = nil; version >= 2 {
			resp := ask[*kmsg.OffsetFetchResponse](r, req)
			same(t, "all of nothing", words(len(resp.Topics), resp.ErrorCode), "0 0")
		}
	}
	same(t, "commit", r.commit("somebody", "a", 4, ""), 0)
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Groups = 8, []kmsg.OffsetFetchRequestGroup{{Group: "nobody"}, {Group: "somebody"}}
	groups := ask[*kmsg.OffsetFetchResponse](r, req).Groups
	same(t, "two groups", words(len(groups[0].Topics), len(groups[1].Topics)), "0 1")
}

func TestATopicMadeAgainIsANewOne(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "produce", r.put("t", batch(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)), 0)
	same(t, "commit", r.commit("g", "t", 10, ""), 0)
	r.drop("t")
	r.create("t")
	same(t, "produce", r.put("t", batch(1, 2, 3, 4, 5)), 0)
	for range 2 {
		same(t, "earliest", r.at(4, "t", -2).offset, 0)
		same(t, "latest", r.at(4, "t", -1).offset, 5)
		offset, _ := r.committed("g", "t")
		same(t, "committed", offset, -1)
		r.restart()
	}
}

func TestCoordinatorsAreFound(t *testing.T) {
	r := newGroupRig(t)
	find := func(version int16, kind int8, keys ...string) *kmsg.FindCoordinatorResponse {
		return ask[*kmsg.FindCoordinatorResponse](r, &kmsg.FindCoordinatorRequest{Version: version, CoordinatorType: kind, CoordinatorKey: "k", CoordinatorKeys: keys})
	}
	port := int32(r.conn.RemoteAddr().(*net.TCPAddr).Port)
	for version := range int16(4) {
		resp := find(version, 0)
		same(t, words("v", version), words(resp.ErrorCode, resp.NodeID, resp.Host, resp.Port), words(0, 1, "127.0.0.1", port))
	}
	for _, c := range []struct {
		kind int8
		key  string
		code int16
	}{
		{0, "", 0}, {0, "g", 0}, {1, "t", 0}, {2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", 15}, {2, "g", 42}, {2, "g:no-id:0", 42}, {2, ":AAAAAAAAAAAAAAAAAAAAAQ:0", 42},
		{2, "g:AAAAAAAAAAAAAAAAAAAAAQ:x", 42}, {3, "x", 42}, {-1, "x", 42},
	} {
		got := find(6, c.kind, c.key).Coordinators[0]
		same(t, words(c.kind, c.key), words(got.Key, got.ErrorCode), words(c.key, c.code))
		if c.code != 0 {
			same(t, "nobody", words(got.NodeID, got.Host, got.Port), words(-1, "", -1))
		}
	}
	same(t, "batch", len(find(4, 0, "a", "b", "c").Coordinators), 3)
	same(t, "share group before v6", find(5, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0").Coordinators[0].ErrorCode, 42)
}

// TestStrangeNamesAreNames: ids go into hashes, records and logs, never into paths or onto a terminal.
func TestStrangeNamesAreNames(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	for _, id := range []string{"../../etc/passwd", "a/b", "nul\x00nul", "esc\x1b[31m\nnext line", strings.Repeat("g", 30_000)} {
		same(t, "commit", r.commit(id, "t", 3, ""), 0)
		offset, _ := r.committed(id, "t")
		same(t, "offset", offset, 3)
		resp := ask[*kmsg.JoinGroupResponse](r, join(id))
		same(t, "join", resp.ErrorCode, 0)
		init := kmsg.NewPtrInitProducerIDRequest()
		init.Version, init.TransactionalID, init.TransactionTimeoutMillis = 4, &id, 1000
		same(t, "init", ask[*kmsg.InitProducerIDResponse](r, init).ErrorCode, 0)
	}
	r.restart()
	offset, _ := r.committed("../../etc/passwd", "t")
	same(t, "after a restart", offset, 3)
	if log := r.log.String(); strings.ContainsAny(log, "\x00\x1b") || strings.Contains(log, "\nnext") {
		t.Error("a name is in the log as it came")
	}
}

func TestGroupsHaveLimits(t *testing.T) {
	r := newGroupRig(t, "group.max.size=2", "group.min.session.timeout.ms=6000", "group.max.session.timeout.ms=30000")
	r.create("t")
	for _, c := range []struct {
		session, rebalance int32
		metadata           int
		code               int16
	}{
		{5999, 1000, 1, kerr.InvalidSessionTimeout.Code},
		{30001, 1000, 1, kerr.InvalidSessionTimeout.Code},
		{-1, 1000, 1, kerr.InvalidSessionTimeout.Code},
		{1<<31 - 1, 1000, 1, kerr.InvalidSessionTimeout.Code},
		{6000, -1, 1, 0},
		{30000, 1<<31 - 1, 1, 0},
		{6000, 1000, 2 << 20, kerr.UnknownServerError.Code},
	} {
		req := join(words("g", c))
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = c.session, c.rebalance
		req.Protocols[0].Metadata = make([]byte, c.metadata)
		same(t, words(c), ask[*kmsg.JoinGroupResponse](r, req).ErrorCode, c.code)
	}

	// A third member of a group for two.
	first := ask[*kmsg.JoinGroupResponse](r, join("full"))
	second := r.dial()
	go func() { _, _ = roundTrip(second, kmsg.NewRequestFormatter().AppendRequest(nil, join("full"), 1)) }()
	beat := &kmsg.HeartbeatRequest{Version: 4, Group: "full", Generation: first.Generation, MemberID: first.MemberID}
	for ask[*kmsg.HeartbeatResponse](r, beat).ErrorCode != kerr.RebalanceInProgress.Code {
	}
	again := join("full")
	again.MemberID = first.MemberID
	same(t, "rejoin", ask[*kmsg.JoinGroupResponse](r, again).ErrorCode, 0)
	same(t, "a third member", ask[*kmsg.JoinGroupResponse](r, join("full")).ErrorCode, kerr.GroupMaxSizeReached.Code)

	same(t, "metadata of 4096", r.commit("o", "t", 1, strings.Repeat("m", 4096)), 0)
	same(t, "metadata of 4097", r.commit("o", "t", 2, strings.Repeat("m", 4097)), kerr.OffsetMetadataTooLarge.Code)
	offset, _ := r.committed("o", "t")
	same(t, "what was committed", offset, 1)
}

func TestOperationsAreAllThoseOfAGroup(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "commit", r.commit("g", "t", 1, ""), 0)
	describe := func(version int16, group string, asked bool) int32 {
		req := &kmsg.DescribeGroupsRequest{Version: version, Groups: []string{group}, IncludeAuthorizedOperations: asked}
		return ask[*kmsg.DescribeGroupsResponse](r, req).Groups[0].AuthorizedOperations
	}
	const none = -1 << 31
	same(t, "asked for", describe(5, "g", true), 3400)
	same(t, "not asked for", describe(5, "g", false), none)
	same(t, "of a group that is not there", describe(6, "x", true), none)
}

// TestANullListClosesItsConnectionAlone, where the protocol has no null.
func TestANullListClosesItsConnectionAlone(t *testing.T) {
	r := newGroupRig(t)
	for _, req := range []kmsg.Request{
		&kmsg.DescribeGroupsRequest{Version: 0}, &kmsg.DescribeGroupsRequest{Version: 6},
		&kmsg.DeleteGroupsRequest{Version: 0}, &kmsg.DeleteGroupsRequest{Version: 3},
	} {
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 7)
		body := len(frame) - len(req.AppendTo(nil))
		if req.IsFlexible() {
			frame[body] = 0
		} else {
			copy(frame[body:], "\xff\xff\xff\xff")
		}
		if b, err := roundTrip(r.dial(), frame); err == nil {
			t.Errorf("%s version %d was answered: %x", kmsg.NameForKey(req.Key()), req.GetVersion(), b)
		}
	}
	same(t, "the other connection", len(ask[*kmsg.ListGroupsResponse](r, &kmsg.ListGroupsRequest{Version: 4}).Groups), 0)
}
