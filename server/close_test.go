package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

func joinRequest(group, member string) *kmsg.JoinGroupRequest {
	return &kmsg.JoinGroupRequest{
		Version: 3, Group: group, MemberID: member, ProtocolType: "consumer", SessionTimeoutMillis: 300_000, RebalanceTimeoutMillis: 300_000,
		Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{1}}},
	}
}

// joined asks for a place in a group until the coordinator has loaded.
func joined(c client, group string) *kmsg.JoinGroupResponse {
	for {
		if got := ask[*kmsg.JoinGroupResponse](c, joinRequest(group, "")); got.ErrorCode != 14 {
			return got
		}
	}
}

// A stop answers who waits: a consumer for records, a member for the others. Neither keeps it for the minutes that they would
// have waited, else ctx ends first and Close says so.
func TestCloseAnswersThoseWhoWaitAtOnce(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1)
	c.put("t", 0, batch("v"))

	fetcher, req := b.dial(), fetchRequest("t", 1, 4*time.Minute)
	fetcher.send(req)
	first := joined(c, "g")
	if first.ErrorCode != 0 {
		t.Fatalf("join: error %d", first.ErrorCode)
	}
	second, join := b.dial(), joinRequest("g", "")
	second.send(join) // waits for the first to come back
	beat := &kmsg.HeartbeatRequest{Version: 3, Group: "g", Generation: first.Generation, MemberID: first.MemberID}
	for ask[*kmsg.HeartbeatResponse](c, beat).ErrorCode != 27 { // REBALANCE_IN_PROGRESS: the second is there
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := receive[*kmsg.FetchResponse](fetcher, req); got.ErrorCode != 0 || got.Topics[0].Partitions[0].HighWatermark != 1 {
		t.Errorf("the fetch: %+v", got)
	}
	if got := receive[*kmsg.JoinGroupResponse](second, join); got.ErrorCode != 15 && got.ErrorCode != 16 {
		t.Errorf("the join: error %d, want COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR", got.ErrorCode)
	}
	if _, err := fetcher.read(); !raw.Closed(err) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestCloseTwiceIsOnce(t *testing.T) {
	b := start(t, t.TempDir())
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(b.Addrs()) != 1 || b.ClusterID() == "" {
		t.Error("a broker that was closed does not know where and what it was")
	}
	select {
	case <-b.Done():
	default:
		t.Error("Done is not closed")
	}
}

// What was accepted is answered before the connections close.
func TestCloseAnswersWhatWasAccepted(t *testing.T) {
	b := start(t, t.TempDir(), "log.flush.interval.messages=1")
	c := b.dial()
	c.create("t", 1)
	const n = 200
	for range n {
		c.send(produceRequest("t", 0, -1, batch("v").Bytes()))
	}
	got := receive[*kmsg.ProduceResponse](c, produceRequest("t", 0, -1, nil))
	if got.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("error %d", got.Topics[0].Partitions[0].ErrorCode)
	}
	b.stop()
	acked := int64(1)
	for ; acked < n; acked++ {
		if _, err := c.read(); err != nil {
			break // those that had not been read when the stop began
		}
	}
	again := start(t, b.dir).dial()
	if end := int64(len(again.values("t"))); end < acked {
		t.Errorf("%d records of %d that were acknowledged", end, acked)
	}
}

// A client that takes no answers cannot keep the broker from stopping.
func TestCloseEndsWithItsContext(t *testing.T) {
	b := &broker{t: t, dir: t.TempDir(), log: new(raw.Log)}
	var err error
	if b.Server, err = inprocess.Try(t.Context(), b.dir, b.log); err != nil {
		t.Fatal(err)
	}
	c := b.dial()
	c.create("t", 1, "max.message.bytes", "20000000")
	c.put("t", 0, batch(string(make([]byte, 10<<20))))
	req := fetchRequest("t", 0, 0)
	for range 20 { // 200 MB of answers: more than sockets hold
		c.send(req)
	}
	if _, err := c.read(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	if got := start(t, b.dir).dial().values("t"); len(got) != 1 {
		t.Errorf("%d records after the stop", len(got))
	}
}
