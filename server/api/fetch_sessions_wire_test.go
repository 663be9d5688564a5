package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// openSession fetches partitions of a topic in full, and returns the session's id.
func (r *groupRig) openSession(topic string, partitions int32) int32 {
	r.t.Helper()
	req := r.fetchOf(12, topic, 0)
	req.SessionEpoch = 0
	for p := int32(1); p < partitions; p++ {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(p, 0))
	}
	got := ask[*kmsg.FetchResponse](r, req)
	same(r.t, "partitions of the first answer", words(got.ErrorCode, len(got.Topics[0].Partitions), got.SessionID != 0), words(0, partitions, true))
	return got.SessionID
}

func next(id, epoch int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxBytes, req.SessionID, req.SessionEpoch = 12, 1, 50<<20, id, epoch
	return req
}

// shown lists the partitions of an answer, and how many records each has.
func shown(t *testing.T, resp *kmsg.FetchResponse) (s string) {
	t.Helper()
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			s += fmt.Sprintf("%s-%d/%d/%d ", topic.Topic, p.Partition, p.ErrorCode, len(rowsOf(t, p.RecordBatches)))
		}
	}
	return s
}

// A11: a session without news waits, and is answered with what came.
func TestASessionWaitsForNews(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 3)
	id := r.openSession("t", 3)
	req := next(id, 1)
	req.MaxWaitMillis = 20
	got := ask[*kmsg.FetchResponse](r, req)
	same(t, "without news", words(got.ErrorCode, got.SessionID, shown(t, got)), words(0, id, ""))
	c := r.dial()
	req = next(id, 2)
	req.MaxWaitMillis = minutes
	send(t, c, req)
	ask[*kmsg.ProduceResponse](r, produceOne("t", 1, batch(today, today).Bytes()))
	same(t, "with news", shown(t, receive[*kmsg.FetchResponse](t, c, req)), "t-1/0/2 ")
}

func TestASessionChangesWhatItWants(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 3)
	r.create("u")
	id := r.openSession("t", 3)
	for p := range int32(3) {
		ask[*kmsg.ProduceResponse](r, produceOne("t", p, batch(today).Bytes()))
	}
	ask[*kmsg.ProduceResponse](r, produceOne("u", 0, batch(today).Bytes()))

	req := next(id, 1)
	req.Topics = []kmsg.FetchRequestTopic{
		{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(1, 1)}}, // moves on
		{Topic: "u", Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(0, 0)}}, // is new
	}
	req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: []int32{2, 7}}}
	same(t, "after the change", shown(t, ask[*kmsg.FetchResponse](r, req)), "t-0/0/1 t-1/0/0 u-0/0/1 ")
	same(t, "asked again", shown(t, ask[*kmsg.FetchResponse](r, next(id, 2))), "t-0/0/1 u-0/0/1 ")
	same(t, "a wrong epoch", words(ask[*kmsg.FetchResponse](r, next(id, 2)).ErrorCode), "71")
	same(t, "another id", words(ask[*kmsg.FetchResponse](r, next(id^1, 3)).ErrorCode), "70")

	req = next(id, 3)
	req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: []int32{0, 1}}, {Topic: "u", Partitions: []int32{0}}}
	req.MaxWaitMillis = 20
	same(t, "everything forgotten", shown(t, ask[*kmsg.FetchResponse](r, req)), "")
	end := next(id, -1)
	same(t, "the end", words(ask[*kmsg.FetchResponse](r, end).ErrorCode), "0")
	same(t, "behind the end", words(ask[*kmsg.FetchResponse](r, next(id, 4)).ErrorCode), "70")
}

// A24: a session outlives a topic of it, and does not spin on its successor.
func TestASessionSeesThatATopicWentAndCameAgain(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.create("u")
	id := r.openSession("t", 1)
	r.drop("t")
	same(t, "gone", shown(t, ask[*kmsg.FetchResponse](r, next(id, 1))), "t-0/3/0 ")
	r.create("t")
	r.wantProduced("t", batch(today, today, today).Bytes(), 0)
	same(t, "come again", shown(t, ask[*kmsg.FetchResponse](r, next(id, 2))), "t-0/0/3 ")

	byID := r.fetchOf(13, "u", 0)
	byID.SessionEpoch = 0
	id = ask[*kmsg.FetchResponse](r, byID).SessionID
	r.drop("u")
	r.create("u")
	again := next(id, 1)
	again.Version = 13
	got := ask[*kmsg.FetchResponse](r, again)
	same(t, "the old id", words(got.ErrorCode, len(got.Topics), got.Topics[0].Partitions[0].ErrorCode), "0 1 100")
}

// A client that went away takes its wait along: the session of it is free again.
func TestAWaitEndsWithItsConnection(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.create("u")
	id := r.openSession("t", 1)
	c := r.dial()
	req := next(id, 1)
	req.MaxWaitMillis = minutes
	send(t, c, req)
	send(t, c, r.produceTo(9, 0, "u", batch(today).Bytes())) // starts behind it, so that we see when it has
	for r.at(7, "u", -1).offset == 0 {
	}
	c.(interface{ SetLinger(int) error }).SetLinger(0) // a reset: an orderly end may still want its answer
	c.Close()
	code := int16(71)
	for code == 71 { // until the broker has noticed
		code = ask[*kmsg.FetchResponse](r, next(id, 2)).ErrorCode
	}
	same(t, "afterwards", code, 0)
}

func TestWithoutPlacesThereAreNoSessions(t *testing.T) {
	r := newGroupRig(t, "max.incremental.fetch.session.cache.slots=1")
	r.create("t")
	id := r.openSession("t", 1)
	req := r.fetchOf(12, "t", 0)
	req.SessionEpoch = 0
	got := ask[*kmsg.FetchResponse](r, req)
	same(t, "no place", words(got.ErrorCode, got.SessionID, shown(t, got)), "0 0 t-0/0/0 ")
	req = next(id, -1)
	ask[*kmsg.FetchResponse](r, req)
	r.openSession("t", 1)
}
