package api

import (
	"testing"
	"time"

	"github.com/zurau/zurau/server/wire"
)

// The sessions themselves, without logs: a request begins, and ends with what was found.

func sessionBroker(slots int) *Broker { return &Broker{FetchSessions: slots, FetchMaxBytes: 1 << 20} }

// beginFetch begins a request in a session, for partitions of a topic.
func beginFetch(b *Broker, id, epoch int32, partitions ...int32) (*fetchRequest, int16) {
	body := fetchBody{id: id, epoch: epoch}
	for _, p := range partitions {
		body.want = append(body.want, wanted{topic: "t", index: p})
	}
	f := &fetchRequest{b: b, r: &wire.Request{Version: 12}}
	code := f.begin(body)
	return f, code
}

// end ends a request; full partitions had records.
func (f *fetchRequest) end(full ...int32) {
	f.got = make([]fetched, len(f.want))
	for i := range f.want {
		for _, p := range full {
			if f.want[i].index == p {
				f.got[i].r.Size = 1
			}
		}
	}
	f.session.release(f)
	for i := range f.got {
		f.got[i].r.Size = 0 // nothing was read
	}
}

// wants lists the partitions that the next request of a session finds.
func (f *fetchRequest) wants() (all []int32) {
	for i := range f.want {
		all = append(all, f.want[i].index)
	}
	return all
}

func TestASessionHasOnePlaceAndAnIdleOneGivesItsPlaceUp(t *testing.T) {
	b := sessionBroker(2)
	first, _ := beginFetch(b, 0, 0, 1)
	first.end()
	second, _ := beginFetch(b, 0, 0, 1)
	if first.session == nil || second.session == nil || first.session.id == second.session.id {
		t.Fatal("two places, and not two sessions")
	}
	third, code := beginFetch(b, 0, 0, 1)
	if third.session != nil || code != 0 || !third.full {
		t.Error("a third session while none was idle for long")
	}
	first.session.used = time.Now().Add(-sessionIdle)
	second.session.used = time.Now().Add(-2 * sessionIdle) // longer, but a request of it waits
	fourth, _ := beginFetch(b, 0, 0, 1)
	if fourth.session == nil || b.sessions.byID[first.session.id] != nil || b.sessions.byID[second.session.id] == nil {
		t.Error("the idle session, and it alone, gives its place up")
	}
	second.end()
	if _, code := beginFetch(b, first.session.id, 1); code != 70 {
		t.Errorf("a session that went: error %d", code)
	}
}

// Row 36: a flood of sessions takes their places and no more.
func TestAFloodOfSessionsIsBounded(t *testing.T) {
	b := sessionBroker(10)
	for range 1000 {
		f, _ := beginFetch(b, 0, 0, 1, 2, 3)
		f.end()
	}
	if len(b.sessions.byID) != 10 || b.sessions.partitions != 30 {
		t.Errorf("%d sessions of %d partitions", len(b.sessions.byID), b.sessions.partitions)
	}
}

func TestSessionsAreBoundedByTheirPartitionsToo(t *testing.T) {
	b := sessionBroker(100)
	many := make([]int32, maxFetchPartitions)
	for i := range many {
		many[i] = int32(i)
	}
	var last *fetchRequest
	for range maxSessionPartitions / maxFetchPartitions {
		f, _ := beginFetch(b, 0, 0, many...)
		if f.session == nil {
			t.Fatal("no session within the limit")
		}
		f.end()
		last = f
	}
	if f, _ := beginFetch(b, 0, 0, 1); f.session != nil {
		t.Error("a session beyond the limit")
	}
	f, code := beginFetch(b, last.session.id, 1, maxFetchPartitions) // one more
	if code != 70 || f.session != nil {
		t.Errorf("a session that grows beyond the limit: error %d", code)
	}
	if f, _ := beginFetch(b, 0, 0, 1); f.session == nil {
		t.Error("no session when there was room again")
	}
}

func TestNoSessionsAtAll(t *testing.T) {
	f, code := beginFetch(sessionBroker(-1), 0, 0, 1)
	if f.session != nil || code != 0 {
		t.Error("a session where there are to be none")
	}
}

func TestASessionCountsItsRequests(t *testing.T) {
	b := sessionBroker(10)
	f, _ := beginFetch(b, 0, 0, 1, 2)
	id := f.session.id
	if _, code := beginFetch(b, id, 1); code != 71 {
		t.Errorf("a request while another is on its way: error %d", code)
	}
	f.end()
	for _, epoch := range []int32{2, 7, 1<<31 - 1} {
		if _, code := beginFetch(b, id, epoch); code != 71 {
			t.Errorf("epoch %d: error %d", epoch, code)
		}
	}
	if _, code := beginFetch(b, id+1, 1); code != 70 {
		t.Errorf("another id: error %d", code)
	}
	f.session.epoch = 1<<31 - 1
	f, code := beginFetch(b, id, 1<<31-1)
	if code != 0 {
		t.Fatalf("the last epoch: error %d", code)
	}
	f.end()
	if f, code = beginFetch(b, id, 1); code != 0 {
		t.Fatalf("behind the last epoch comes 1: error %d", code)
	}
	f.end()
	if _, code := beginFetch(b, id, -1, 5); code != 0 || len(b.sessions.byID) != 0 || b.sessions.partitions != 0 {
		t.Errorf("epoch -1 ends the session: error %d, %d sessions of %d partitions", code, len(b.sessions.byID), b.sessions.partitions)
	}
}

func TestASessionsPartitionsTakeTurns(t *testing.T) {
	b := sessionBroker(10)
	f, _ := beginFetch(b, 0, 0, 1, 2, 3, 4)
	for epoch, c := range []struct {
		full []int32
		next []int32
	}{
		{[]int32{1, 2}, []int32{3, 4, 1, 2}},
		{nil, []int32{3, 4, 1, 2}},
		{[]int32{3, 4, 1, 2}, []int32{3, 4, 1, 2}},
		{[]int32{4}, []int32{3, 1, 2, 4}},
	} {
		f.end(c.full...)
		next, code := beginFetch(b, f.session.id, int32(epoch)+1)
		if code != 0 {
			t.Fatalf("error %d", code)
		}
		f = next
		got := f.wants()
		for i := range c.next {
			if got[i] != c.next[i] {
				t.Fatalf("round %d: %v, want %v", epoch, got, c.next)
			}
		}
	}
}

func TestASessionIsOfNamesOrOfIDs(t *testing.T) {
	b := sessionBroker(10)
	f, _ := beginFetch(b, 0, 0, 1)
	f.end()
	byID := &fetchRequest{b: b, r: &wire.Request{Version: 13}}
	if code := byID.begin(fetchBody{id: f.session.id, epoch: 1}); code != 106 {
		t.Errorf("ids in a session of names: error %d", code)
	}
}
