package server

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/raw"
)

// A txnRig is a broker with a log that transactions are written to by the engine, as a coordinator would have them written,
// and a connection to read it by.
type txnRig struct {
	t      *testing.T
	server *Server
	conn   net.Conn
	log    *engine.Log
	id     [16]byte
	now    int64 // ms, when it began: the markers' time is that or later
}

func newTxnRig(t *testing.T) *txnRig {
	t.Helper()
	static, err := config.Load(config.Options{Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": t.TempDir()}})
	must(t, err)
	r := &txnRig{t: t, now: time.Now().UnixMilli()}
	r.server, err = Start(context.Background(), Options{Config: static})
	must(t, err)
	t.Cleanup(func() { must(t, r.server.Close(context.Background())) })
	r.conn = raw.Dial(t, r.server.Addrs()[0].String())
	create := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: 10_000, Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}}
	created := raw.Ask[*kmsg.CreateTopicsResponse](r.t, r.conn, create).Topics[0]
	if created.ErrorCode != 0 {
		t.Fatalf("create: error %d", created.ErrorCode)
	}
	r.id = created.TopicID
	r.log = r.server.broker.Partitions.ByName("t").Partition(0).Log
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put appends n records of a transaction, or of none where the producer is -1.
func (r *txnRig) put(producer int64, sequence int32, n int) {
	r.t.Helper()
	times := make([]int64, n)
	for i := range times {
		times[i] = r.now - 1000 + int64(i)
	}
	r.putAt(producer, sequence, times...)
}

func (r *txnRig) putAt(producer int64, sequence int32, times ...int64) {
	r.t.Helper()
	b := record.NewBuilder(record.None)
	if producer >= 0 {
		b.Producer(producer, 0, sequence)
		b.Transactional = true
	}
	for _, time := range times {
		b.Add(time, nil, []byte("value"))
	}
	var p record.Prepared
	must(r.t, p.Prepare(b.Bytes(), record.DefaultRules(r.now)))
	done := make(chan engine.Appended, 1)
	r.log.Append(&p, 0, func(a engine.Appended) { done <- a })
	must(r.t, (<-done).Err)
}

func (r *txnRig) end(producer int64, commit bool) {
	r.t.Helper()
	done := make(chan engine.Appended, 1)
	r.log.AppendMarker(engine.Marker{ProducerID: producer, Commit: commit}, 0, func(a engine.Appended) { done <- a })
	must(r.t, (<-done).Err)
}

func (r *txnRig) fetchOf(version int16, isolation int8, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.IsolationLevel, req.MinBytes, req.MaxBytes, req.SessionEpoch = version, isolation, 1, 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: "t", TopicID: r.id, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return req
}

// say is what an answer says of the partition.
func say(p *kmsg.FetchResponseTopicPartition) string {
	end := int64(-1)
	for b := p.RecordBatches; len(b) > 0; {
		batch, rest, err := record.Next(b)
		if err != nil {
			break
		}
		end, b = batch.LastOffset()+1, rest
	}
	aborted := "null"
	if p.AbortedTransactions != nil {
		aborted = ""
		for _, a := range p.AbortedTransactions {
			aborted += fmt.Sprintf("%d@%d ", a.ProducerID, a.FirstOffset)
		}
	}
	return fmt.Sprintf("code %d high %d stable %d to %d aborted %s", p.ErrorCode, p.HighWatermark, p.LastStableOffset, end, aborted)
}

// some writes transactions: offsets 0 to 2 plain, 3 and 4 aborted by 5, 6 committed by 7, 8 open, 9 plain.
func (r *txnRig) some() {
	r.put(-1, 0, 3)
	r.put(1, 0, 2)
	r.end(1, false)
	r.put(2, 0, 1)
	r.end(2, true)
	r.put(3, 0, 1)
	r.put(-1, 0, 1)
}

func TestFetchesSeeWhatTheirIsolationLevelLetsThem(t *testing.T) {
	r := newTxnRig(t)
	r.some()
	for version := int16(4); version <= 18; version++ {
		for _, c := range []struct {
			isolation int8
			offset    int64
			limit     int32
			want      string
		}{
			{0, 0, 1 << 20, "code 0 high 10 stable 8 to 10 aborted null"},
			{1, 0, 1 << 20, "code 0 high 10 stable 8 to 8 aborted 1@3 "},
			{1, 4, 1 << 20, "code 0 high 10 stable 8 to 8 aborted 1@3 "},
			{1, 6, 1 << 20, "code 0 high 10 stable 8 to 8 aborted "},
			{1, 8, 1 << 20, "code 0 high 10 stable 8 to -1 aborted "},
			{1, 10, 1 << 20, "code 0 high 10 stable 8 to -1 aborted "},
			{0, 10, 1 << 20, "code 0 high 10 stable 8 to -1 aborted null"},
			{1, 0, 1, "code 0 high 10 stable 8 to 3 aborted 1@3 "}, // as Kafka, which looks further than the range
			{1, 11, 1 << 20, "code 1 high -1 stable -1 to -1 aborted null"},
		} {
			req := r.fetchOf(version, c.isolation, c.offset)
			req.Topics[0].Partitions[0].PartitionMaxBytes = c.limit
			if got := say(&raw.Ask[*kmsg.FetchResponse](r.t, r.conn, req).Topics[0].Partitions[0]); got != c.want {
				t.Errorf("version %d, isolation %d, offset %d: %s, want %s", version, c.isolation, c.offset, got, c.want)
			}
		}
	}
}

func TestAFetchOfCommittedRecordsWaitsForTheMarker(t *testing.T) {
	r := newTxnRig(t)
	r.put(1, 0, 2)
	reader := raw.Dial(t, r.server.Addrs()[0].String())
	req := r.fetchOf(12, 1, 0)
	req.MaxWaitMillis = 4 * 60_000
	raw.Send(t, reader, req)
	r.put(-1, 0, 1) // wakes it, for nothing
	same := raw.Ask[*kmsg.FetchResponse](r.t, r.conn, r.fetchOf(12, 1, 0)).Topics[0].Partitions[0]
	if got := say(&same); got != "code 0 high 3 stable 0 to -1 aborted " {
		t.Fatalf("before the marker: %s", got)
	}
	r.end(1, false)
	got := raw.Receive[*kmsg.FetchResponse](r.t, reader, req).Topics[0].Partitions[0]
	if say(&got) != "code 0 high 4 stable 4 to 4 aborted 1@0 " {
		t.Errorf("behind the marker: %s", say(&got))
	}
}

func TestASessionOfCommittedRecordsIsToldOfWhatHasBecomeStable(t *testing.T) {
	r := newTxnRig(t)
	r.put(-1, 0, 1)
	r.put(1, 0, 1)
	req := r.fetchOf(12, 1, 0)
	req.SessionEpoch = 0
	first := raw.Ask[*kmsg.FetchResponse](r.t, r.conn, req)
	next := kmsg.NewPtrFetchRequest()
	next.Version, next.IsolationLevel, next.MinBytes, next.MaxBytes = 12, 1, 1, 1<<20
	next.SessionID, next.SessionEpoch = first.SessionID, 1
	next.Topics = r.fetchOf(12, 1, 1).Topics // goes on behind what it had
	if got := raw.Ask[*kmsg.FetchResponse](r.t, r.conn, next); len(got.Topics) != 0 {
		t.Errorf("nothing has changed, and there is %s", say(&got.Topics[0].Partitions[0]))
	}
	r.end(1, false)
	next.SessionEpoch, next.Topics = 2, nil
	got := raw.Ask[*kmsg.FetchResponse](r.t, r.conn, next)
	if len(got.Topics) != 1 || say(&got.Topics[0].Partitions[0]) != "code 0 high 3 stable 3 to 3 aborted 1@1 " {
		t.Errorf("behind the marker: %+v", got.Topics)
	}
}

func TestTheLatestOffsetOfCommittedRecordsIsTheLastStableOne(t *testing.T) {
	r := newTxnRig(t)
	r.some()
	at := func(isolation int8, replica int32, time int64) int64 {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.IsolationLevel, req.ReplicaID = 7, isolation, replica
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = time
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
		got := raw.Ask[*kmsg.ListOffsetsResponse](r.t, r.conn, req).Topics[0].Partitions[0]
		if got.ErrorCode != 0 {
			t.Errorf("error %d", got.ErrorCode)
		}
		return got.Offset
	}
	got := []int64{at(0, -1, -1), at(1, -1, -1), at(1, 1, -1), at(1, -1, -2), at(1, -1, r.now-999)}
	if want := []int64{10, 8, 10, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	const soon = 30 * 60_000 // ms: before that no record has a time, and no marker
	r.putAt(-1, 0, r.now+soon)
	for _, time := range []int64{-3, r.now + soon/2} {
		if got := []int64{at(0, -1, time), at(1, -1, time)}; !slices.Equal(got, []int64{10, -1}) {
			t.Errorf("time %d, of a record behind the last stable offset: %v, want 10 and none", time, got)
		}
	}
}

func TestActiveProducersAreThoseThatTheLogKnows(t *testing.T) {
	r := newTxnRig(t)
	r.some()
	describe := func(topic string, partitions ...int32) []kmsg.DescribeProducersResponseTopicPartition {
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: partitions}}
		return raw.Ask[*kmsg.DescribeProducersResponse](r.t, r.conn, req).Topics[0].Partitions
	}
	got := describe("t", 0, 0)
	if len(got) != 1 || got[0].ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	said := ""
	for _, p := range got[0].ActiveProducers {
		said += fmt.Sprintf("%d: epoch %d sequence %d coordinator %d open %d; ", p.ProducerID, p.ProducerEpoch, p.LastSequence, p.CoordinatorEpoch, p.CurrentTxnStartOffset)
	}
	if want := "1: epoch 0 sequence 1 coordinator 0 open -1; 2: epoch 0 sequence 0 coordinator 0 open -1; 3: epoch 0 sequence 0 coordinator -1 open 8; "; said != want {
		t.Errorf("%s, want %s", said, want)
	}
	for topic, code := range map[string]int16{"none": 3, "a b": 17} {
		if got := describe(topic, 0)[0]; got.ErrorCode != code || got.ErrorMessage == nil || got.ActiveProducers != nil {
			t.Errorf("%s: %+v, want error %d", topic, got, code)
		}
	}
	if got := describe("t", 1)[0]; got.ErrorCode != 3 || got.ErrorMessage != nil {
		t.Errorf("another partition: %+v", got)
	}
}
