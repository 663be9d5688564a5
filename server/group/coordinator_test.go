package group

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func fetchRequest(version int16, group string) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = version, group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	return req
}

func commitRequest(group string, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

func joinRequest(group, id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 3, group, id, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 10_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("m")}}
	return req
}

// codes asks one of each request and returns the codes by name.
func codes(c *Coordinator) map[string]int16 {
	got := map[string]int16{}
	c.JoinGroup(RequestContext{}, joinRequest("g", ""), func(r *kmsg.JoinGroupResponse) { got["join"] = r.ErrorCode })
	c.SyncGroup(&kmsg.SyncGroupRequest{Group: "g"}, func(r *kmsg.SyncGroupResponse) { got["sync"] = r.ErrorCode })
	c.Heartbeat(&kmsg.HeartbeatRequest{Group: "g"}, func(r *kmsg.HeartbeatResponse) { got["heartbeat"] = r.ErrorCode })
	c.LeaveGroup(&kmsg.LeaveGroupRequest{Group: "g"}, func(r *kmsg.LeaveGroupResponse) { got["leave"] = r.ErrorCode })
	c.OffsetCommit(commitRequest("g", 1), func(r *kmsg.OffsetCommitResponse) { got["commit"] = r.Topics[0].Partitions[0].ErrorCode })
	c.OffsetFetch(fetchRequest(1, "g"), func(r *kmsg.OffsetFetchResponse) { got["fetch v1"] = r.Topics[0].Partitions[0].ErrorCode })
	c.OffsetFetch(fetchRequest(7, "g"), func(r *kmsg.OffsetFetchResponse) { got["fetch v7"] = r.ErrorCode })
	c.OffsetDelete(&kmsg.OffsetDeleteRequest{Group: "g"}, func(r *kmsg.OffsetDeleteResponse) { got["offset delete"] = r.ErrorCode })
	c.DescribeGroups(&kmsg.DescribeGroupsRequest{Groups: []string{"g"}}, func(r *kmsg.DescribeGroupsResponse) { got["describe"] = r.Groups[0].ErrorCode })
	c.DeleteGroups(&kmsg.DeleteGroupsRequest{Groups: []string{"g"}}, func(r *kmsg.DeleteGroupsResponse) { got["delete"] = r.Groups[0].ErrorCode })
	c.ListGroups(&kmsg.ListGroupsRequest{}, func(r *kmsg.ListGroupsResponse) { got["list"] = r.ErrorCode })
	return got
}

func TestWhoIsNotReadySaysSo(t *testing.T) {
	c := New(Options{Config: DefaultConfig(), Store: &fakeLog{}, Clock: &fakeClock{}, Partitions: 1})
	check := func(state string, code int16, except map[string]int16) {
		t.Helper()
		got := codes(c)
		if len(got) != 11 {
			t.Errorf("%s: only %d answers", state, len(got))
		}
		for name, g := range got {
			want, ok := except[name]
			if !ok {
				want = code
			}
			if g != want {
				t.Errorf("%s: %s is %s, want %s", state, name, errName(g), errName(want))
			}
		}
	}
	check("absent", kerr.NotCoordinator.Code, map[string]int16{"list": 0})
	c.Elected(0)
	check("loading", kerr.CoordinatorLoadInProgress.Code, map[string]int16{"heartbeat": 0})
	damaged := errors.New("damaged")
	if err := c.Load(0, func(yield func(LogRecord, error) bool) { yield(LogRecord{}, damaged) }); !errors.Is(err, damaged) {
		t.Fatal(err)
	}
	check("load failed", kerr.CoordinatorLoadInProgress.Code, map[string]int16{"heartbeat": 0})
	if err := c.Load(0, (&fakeLog{}).read(0)); err != nil {
		t.Fatal(err)
	}
	c.Resigned(0)
	check("resigned", kerr.NotCoordinator.Code, map[string]int16{"list": 0})
	c.Close()
	check("closed", kerr.CoordinatorNotAvailable.Code, nil)
}

func TestWhoWaitsIsAnsweredWhenTheCoordinatorResigns(t *testing.T) {
	log := &fakeLog{hold: true}
	c := New(Options{Config: DefaultConfig(), Store: log, Clock: &fakeClock{}, Partitions: 1})
	defer c.Close()
	if err := c.Load(0, log.read(0)); err != nil {
		t.Fatal(err)
	}
	var got []int16
	c.JoinGroup(RequestContext{}, joinRequest("g", ""), func(r *kmsg.JoinGroupResponse) { got = append(got, r.ErrorCode) })
	c.OffsetCommit(commitRequest("h", 1), func(r *kmsg.OffsetCommitResponse) { got = append(got, r.Topics[0].Partitions[0].ErrorCode) })
	if len(got) != 0 {
		t.Fatalf("answered %v before anything was durable", got)
	}
	c.Resigned(0)
	if len(got) != 1 || got[0] != kerr.NotCoordinator.Code {
		t.Fatalf("the join was answered %v", got)
	}
	log.release()
	if len(got) != 2 || got[1] != 0 {
		t.Fatalf("the commit, which is in the log, was answered %v", got[1:])
	}
}

// of makes an iterator over records.
func of(records ...LogRecord) iter.Seq2[LogRecord, error] {
	return func(yield func(LogRecord, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func loaded(t *testing.T, records ...LogRecord) *Coordinator {
	t.Helper()
	c := New(Options{Config: DefaultConfig(), Store: &fakeLog{}, Clock: &fakeClock{}, Partitions: 1})
	t.Cleanup(c.Close)
	if err := c.Load(0, of(records...)); err != nil {
		t.Fatal(err)
	}
	return c
}

func fetched(c *Coordinator, stable bool) (offset int64, code int16) {
	req := fetchRequest(7, "g")
	req.RequireStable = stable
	c.OffsetFetch(req, func(r *kmsg.OffsetFetchResponse) {
		offset, code = r.Topics[0].Partitions[0].Offset, r.Topics[0].Partitions[0].ErrorCode
	})
	return offset, code
}

func TestLoadSurvivesAnyOrderThatCompactionLeaves(t *testing.T) {
	o := func(n int64) LogRecord {
		return LogRecord{Record: offsetRecord("g", "t", 0, &offset{offset: n, leaderEpoch: -1, expireAt: -1})}
	}
	gone := LogRecord{Record: offsetTombstone("g", "t", 0)}
	dead := LogRecord{Record: groupTombstone("g")}
	other := LogRecord{Record: Record{Key: []byte{0, 3, 0, 1, 'g'}, Value: []byte{0, 0}}}
	for name, c := range map[string]struct {
		records []LogRecord
		want    int64
		groups  int
	}{
		"last one counts":                     {[]LogRecord{o(1), o(2)}, 2, 1},
		"tombstone of what is not there":      {[]LogRecord{gone, dead}, -1, 0},
		"group's tombstone after its offset":  {[]LogRecord{o(1), dead}, 1, 1},
		"group's tombstone before its offset": {[]LogRecord{dead, o(1)}, 1, 1},
		"deleted and made again":              {[]LogRecord{o(1), gone, dead, o(3)}, 3, 1},
		"another kind of group between":       {[]LogRecord{o(1), other, o(2)}, 2, 1},
	} {
		coord := loaded(t, c.records...)
		if got, code := fetched(coord, false); got != c.want || code != 0 {
			t.Errorf("%s: offset %d code %d, want %d", name, got, code, c.want)
		}
		coord.ListGroups(kmsg.NewPtrListGroupsRequest(), func(r *kmsg.ListGroupsResponse) {
			if len(r.Groups) != c.groups {
				t.Errorf("%s: groups %v, want %d", name, r.Groups, c.groups)
			}
		})
	}
}

func TestOffsetsOfOpenTransactionsArePending(t *testing.T) {
	plain := LogRecord{Record: offsetRecord("g", "t", 0, &offset{offset: 100, leaderEpoch: -1, expireAt: -1})}
	held := LogRecord{Record: offsetRecord("g", "t", 0, &offset{offset: 150, leaderEpoch: -1, expireAt: -1}), Transactional: true, ProducerID: 7}
	marker := func(commit bool) LogRecord { return LogRecord{Marker: true, Commit: commit, ProducerID: 7} }
	for _, commit := range []bool{true, false} {
		want := int64(100)
		if commit {
			want = 150
		}
		if got, _ := fetched(loaded(t, plain, held, marker(commit)), true); got != want {
			t.Errorf("ended in the log, commit %v: %d, want %d", commit, got, want)
		}
		c := loaded(t, plain, held)
		if got, _ := fetched(c, false); got != 100 {
			t.Errorf("open: %d, want 100", got)
		}
		if _, code := fetched(c, true); code != kerr.UnstableOffsetCommit.Code {
			t.Errorf("open, stable wanted: %s", errName(code))
		}
		c.EndTransaction(0, 7, commit)
		if got, code := fetched(c, true); got != want || code != 0 {
			t.Errorf("ended, commit %v: %d %s, want %d", commit, got, errName(code), want)
		}
	}
}

// TestManyClientsAtOnce runs groups of members that join, sync, commit and leave, with a log that ends its appends on
// another goroutine and the machine's clock: for the race detector, and that everybody is answered.
func TestManyClientsAtOnce(t *testing.T) {
	log := newSlowLog()
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelayMs = 5
	c := New(Options{Config: cfg, Store: log, Partitions: 4})
	for p := range int32(4) {
		if err := c.Load(p, of()); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			member{}.live(t, c, fmt.Sprintf("group-%d", i%6))
		}()
	}
	wg.Wait()
	c.ListGroups(kmsg.NewPtrListGroupsRequest(), func(r *kmsg.ListGroupsResponse) {
		if len(r.Groups) != 6 {
			t.Errorf("%d groups, want 6", len(r.Groups))
		}
	})
	c.Close()
	log.close()
}

// live is the life of one member: rounds of join, sync and commit until it was in three generations.
func (member) live(t *testing.T, c *Coordinator, group string) {
	id := ""
	for rounds := 0; rounds < 3; {
		joined := make(chan *kmsg.JoinGroupResponse, 1)
		c.JoinGroup(RequestContext{"c", "/h"}, joinRequest(group, id), func(r *kmsg.JoinGroupResponse) { joined <- r })
		j := <-joined
		if j.ErrorCode != 0 {
			id = j.MemberID
			continue
		}
		id = j.MemberID
		req := &kmsg.SyncGroupRequest{Version: 3, Group: group, MemberID: id, Generation: j.Generation}
		for _, m := range j.Members {
			req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: m.MemberID, MemberAssignment: []byte(m.MemberID)})
		}
		synced := make(chan *kmsg.SyncGroupResponse, 1)
		c.SyncGroup(req, func(r *kmsg.SyncGroupResponse) { synced <- r })
		s := <-synced
		if s.ErrorCode != 0 {
			continue
		}
		if string(s.MemberAssignment) != id {
			t.Errorf("%s was assigned what belongs to %q", id, s.MemberAssignment)
		}
		commit := commitRequest(group, int64(j.Generation))
		commit.MemberID, commit.Generation = id, j.Generation
		committed := make(chan struct{})
		c.OffsetCommit(commit, func(*kmsg.OffsetCommitResponse) { close(committed) })
		<-committed
		rounds++
	}
	left := make(chan struct{})
	c.LeaveGroup(&kmsg.LeaveGroupRequest{Version: 2, Group: group, MemberID: id}, func(*kmsg.LeaveGroupResponse) { close(left) })
	<-left
}

// slowLog ends appends in order on a goroutine of its own.
type slowLog struct {
	appends chan func(error)
	ended   chan struct{}
}

func newSlowLog() *slowLog {
	l := &slowLog{appends: make(chan func(error), 1024), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for done := range l.appends {
			done(nil)
		}
	}()
	return l
}

func (l *slowLog) Append(_ int32, _ []Record, done func(error)) { l.appends <- done }

func (l *slowLog) close() {
	close(l.appends)
	<-l.ended
}

// Row 38: what members say of themselves is bounded over all groups, and comes free with them.
func TestWhatMembersSayOfThemselvesIsBounded(t *testing.T) {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelayMs, cfg.MaxProtocolBytes = 0, 10_000
	clock := &fakeClock{}
	c := New(Options{Config: cfg, Store: &fakeLog{}, Clock: clock, Partitions: 4})
	defer c.Close()
	for p := range int32(4) {
		if err := c.Load(p, func(func(LogRecord, error) bool) {}); err != nil {
			t.Fatal(err)
		}
	}
	join := func(group, id string, size int) (code int16, member string) {
		req := joinRequest(group, id)
		req.Protocols[0].Metadata = make([]byte, size)
		c.JoinGroup(RequestContext{}, req, func(r *kmsg.JoinGroupResponse) { code, member = r.ErrorCode, r.MemberID })
		clock.advance(10)
		return code, member
	}
	code, first := join("a", "", 5000)
	if code != 0 {
		t.Fatal(errName(code))
	}
	for _, x := range []struct {
		group, id string
		size      int
		want      int16
	}{
		{"b", "", 6000, kerr.GroupMaxSizeReached.Code},
		{"a", first, 10_000, kerr.GroupMaxSizeReached.Code},
		{"a", first, 9000, 0}, // in the place of what it said before
		{"b", "", 2000, kerr.GroupMaxSizeReached.Code},
		{"a", first, 1000, 0},
		{"b", "", 6000, 0},
	} {
		if code, _ := join(x.group, x.id, x.size); code != x.want {
			t.Errorf("%+v: %s", x, errName(code))
		}
	}
	clock.advance(60_000) // nobody has sent a heartbeat
	if n := c.protocolBytes.Load(); n != 0 {
		t.Errorf("%d bytes are counted after all have gone", n)
	}
	if code, _ := join("c", "", 9000); code != 0 {
		t.Error(errName(code))
	}
	for p := range int32(4) {
		c.Resigned(p)
	}
	if n := c.protocolBytes.Load(); n != 0 {
		t.Errorf("%d bytes are counted of groups that are elsewhere now", n)
	}
}
