package api_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// Fetches here wait for minutes if nothing wakes them, which the tests' connections do not: what passes was woken.

const minutes = 4 * 60_000 // ms

// waiting is a fetch that waits for one byte behind an offset.
func (r *groupRig) waiting(version int16, topic string, offset int64) *kmsg.FetchRequest {
	r.t.Helper()
	req := r.fetchOf(version, topic, offset)
	req.MaxWaitMillis = minutes
	return req
}

func TestAFetchWaitsForItsMinBytes(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 2)
	reader := r.dial()
	req := r.waiting(12, "t", 0)
	req.MinBytes = 1000
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0))
	send(t, reader, req)
	for range 20 { // 100 bytes each, in two partitions
		for p := range int32(2) {
			ask[*kmsg.ProduceResponse](r, produceOne("t", p, sizedBatch(100).Bytes()))
		}
	}
	total := 0
	for _, p := range receive[*kmsg.FetchResponse](t, reader, req).Topics[0].Partitions {
		total += len(p.RecordBatches)
	}
	if total < 1000 {
		t.Errorf("%d bytes, and 1000 were asked for", total)
	}
}

// More than an answer may have cannot be waited for.
func TestMinBytesAboveTheLimitCountAsTheLimit(t *testing.T) {
	r := newGroupRig(t, "fetch.max.bytes=10000")
	r.create("t")
	r.wantProduced("t", sizedBatch(12_000).Bytes(), 0)
	req := r.waiting(12, "t", 0)
	req.MinBytes = 1 << 30
	same(t, "records", len(rowsOf(t, ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0].RecordBatches)), 1)
}

func TestAFetchIsAnsweredWhenItsTimeIsOver(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.wantProduced("t", sizedBatch(100).Bytes(), 0)
	req := r.fetchOf(12, "t", 0)
	req.MaxWaitMillis, req.MinBytes = 20, 1<<20
	same(t, "what there is", len(rowsOf(t, ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0].RecordBatches)), 1)
	req = r.fetchOf(12, "t", 1)
	req.MaxWaitMillis = 20
	p := ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0]
	same(t, "nothing", words(p.ErrorCode, len(p.RecordBatches), p.HighWatermark), "0 0 1")
}

// Row 41: the longest waits there are, and the shortest.
func TestExtremeWaits(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	for _, wait := range []int32{-1, -1 << 31, 0} {
		req := r.fetchOf(12, "t", 0)
		req.MaxWaitMillis = wait
		same(t, fmt.Sprint("wait ", wait), ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0].ErrorCode, 0)
	}
	reader := r.dial()
	req := r.fetchOf(12, "t", 0)
	req.MaxWaitMillis = 1<<31 - 1
	send(t, reader, req)
	r.wantProduced("t", batch(today).Bytes(), 0)
	same(t, "records", len(rowsOf(t, receive[*kmsg.FetchResponse](t, reader, req).Topics[0].Partitions[0].RecordBatches)), 1)
}

// A24: a topic that goes wakes who waits for it, and its successor is another one.
func TestADeletedTopicWakesWhoWaitsForIt(t *testing.T) {
	r := newGroupRig(t)
	for round := range 5 {
		r.createN("t", 2)
		r.wantProduced("t", batch(today).Bytes(), 0)
		byName, byID, other := r.dial(), r.dial(), r.dial()
		named, ided := r.waiting(12, "t", 1), r.waiting(13, "t", 1)
		idle := r.waiting(12, "t", 0)
		idle.Topics[0].Partitions[0] = fetchPartition(1, 0)
		send(t, byName, named)
		send(t, byID, ided)
		send(t, other, idle)
		r.drop("t")
		same(t, "by name", receive[*kmsg.FetchResponse](t, byName, named).Topics[0].Partitions[0].ErrorCode, 3)
		same(t, "by id", receive[*kmsg.FetchResponse](t, byID, ided).Topics[0].Partitions[0].ErrorCode, 100)
		same(t, "another partition", receive[*kmsg.FetchResponse](t, other, idle).Topics[0].Partitions[0].ErrorCode, 3)
		old := ided.Topics[0].TopicID
		r.createN("t", 2)
		r.wantProduced("t", batch(today, today).Bytes(), 0)
		same(t, fmt.Sprint("round ", round), len(r.all("t")), 2)
		again := r.fetchOf(13, "t", 0)
		again.Topics[0].TopicID = old
		same(t, "the old id", ask[*kmsg.FetchResponse](r, again).Topics[0].Partitions[0].ErrorCode, 100)
		same(t, "produce to the old id", r.produceByID(old, batch(today).Bytes()).ErrorCode, 100)
		r.drop("t")
	}
}

// A client may ask for more before it has the answer: requests behind a fetch that waits start, and its answers come in order.
func TestFetchesOverlap(t *testing.T) {
	r := newGroupRig(t)
	r.create("a")
	r.create("b")
	c := r.dial()
	first, second := r.waiting(12, "a", 0), r.waiting(12, "b", 0)
	send(t, c, first)
	send(t, c, second)
	send(t, c, r.produceTo(9, -1, "a", batch(today).Bytes())) // which the first waits for
	r.wantProduced("b", batch(today).Bytes(), 0)
	same(t, "first", receive[*kmsg.FetchResponse](t, c, first).Topics[0].Topic, "a")
	same(t, "second", receive[*kmsg.FetchResponse](t, c, second).Topics[0].Topic, "b")
	same(t, "produce", receive[*kmsg.ProduceResponse](t, c, &kmsg.ProduceRequest{Version: 9}).Topics[0].Partitions[0].ErrorCode, 0)
}

// Requests for many partitions, and old ones, are looked at by readers, not by writers: they are woken all the same.
func TestWhatReadersLookAtIsWokenToo(t *testing.T) {
	const partitions = 300
	r := newGroupRig(t)
	r.createN("many", partitions)
	r.create("old")
	many, old := r.dial(), r.dial()
	wide := r.waiting(12, "many", 0)
	for p := int32(1); p < partitions; p++ {
		wide.Topics[0].Partitions = append(wide.Topics[0].Partitions, fetchPartition(p, 0))
	}
	for i := range int64(20) {
		narrow := r.waiting(5, "old", i)
		wide.Topics[0].Partitions[partitions-1].FetchOffset = i
		send(t, many, wide)
		send(t, old, narrow)
		ask[*kmsg.ProduceResponse](r, produceOne("many", partitions-1, batch(today).Bytes()))
		r.wantProduced("old", batch(today).Bytes(), i)
		got := receive[*kmsg.FetchResponse](t, many, wide).Topics[0].Partitions
		same(t, "of many", words(len(got), rowsOf(t, got[partitions-1].RecordBatches)[0].offset), words(partitions, i))
		same(t, "of an old version", rowsOf(t, receive[*kmsg.FetchResponse](t, old, narrow).Topics[0].Partitions[0].RecordBatches)[0].offset, i)
	}
}

// Producers, consumers that wait, and topics that come and go, all at once: every record arrives, in order.
func TestConsumersSeeEveryRecordInOrder(t *testing.T) {
	const consumers, records = 4, 200
	r := newGroupRig(t)
	r.createN("t", 1, "segment.bytes", "1048576")
	var all sync.WaitGroup
	for n := range consumers {
		c := r.dial()
		all.Go(func() {
			for next := int64(0); next < records; {
				req := r.waiting(12, "t", next)
				req.MinBytes = int32(1 + n*500)
				if next > records-20 {
					req.MinBytes = 1
				}
				send(t, c, req)
				p := receive[*kmsg.FetchResponse](t, c, req).Topics[0].Partitions[0]
				for _, row := range rowsOf(t, p.RecordBatches) {
					if row.offset > next {
						t.Errorf("consumer %d: offset %d, and %d is next", n, row.offset, next)
						return
					}
					next = max(next, row.offset+1)
				}
				if p.ErrorCode != 0 {
					t.Errorf("consumer %d: error %d", n, p.ErrorCode)
					return
				}
			}
		})
	}
	c := r.dial()
	all.Go(func() {
		for i := range int64(records) {
			b := record.NewBuilder(record.None).Add(today, []byte("k"), make([]byte, 20_000))
			send(t, c, produceOne("t", 0, b.Bytes()))
			same(t, "base offset", receive[*kmsg.ProduceResponse](t, c, &kmsg.ProduceRequest{Version: 9}).Topics[0].Partitions[0].BaseOffset, i)
		}
	})
	for range 20 {
		r.create("comes")
		r.drop("comes")
	}
	all.Wait()
}
