package api_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/raw"
)

// What tests of Produce and Fetch share, on top of groupRig.

type (
	produced = kmsg.ProduceResponseTopicPartition
	fetched  = kmsg.FetchResponseTopicPartition
)

// id returns a topic's id.
func (r *groupRig) id(topic string) [16]byte {
	r.t.Helper()
	req := &kmsg.MetadataRequest{Version: 12, Topics: []kmsg.MetadataRequestTopic{{Topic: &topic}}}
	got := ask[*kmsg.MetadataResponse](r, req).Topics[0]
	if got.ErrorCode != 0 {
		r.t.Fatalf("metadata of %s: error %d", topic, got.ErrorCode)
	}
	return got.TopicID
}

// createN makes a topic of n partitions.
func (r *groupRig) createN(topic string, n int32, configs ...string) {
	r.t.Helper()
	t := kmsg.CreateTopicsRequestTopic{Topic: topic, NumPartitions: n, ReplicationFactor: 1}
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: 10_000, Topics: []kmsg.CreateTopicsRequestTopic{t}}
	same(r.t, "create "+topic, ask[*kmsg.CreateTopicsResponse](r, req).Topics[0].ErrorCode, 0)
}

// produceTo is a request for partition 0 of a topic.
func (r *groupRig) produceTo(version, acks int16, topic string, records []byte) *kmsg.ProduceRequest {
	r.t.Helper()
	t := kmsg.ProduceRequestTopic{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records}}}
	if version >= 13 {
		t.TopicID = r.id(topic)
	}
	return &kmsg.ProduceRequest{Version: version, Acks: acks, TimeoutMillis: 10_000, Topics: []kmsg.ProduceRequestTopic{t}}
}

// produce sends records to partition 0 of a topic.
func (r *groupRig) produce(version int16, topic string, records []byte) produced {
	r.t.Helper()
	return ask[*kmsg.ProduceResponse](r, r.produceTo(version, -1, topic, records)).Topics[0].Partitions[0]
}

// wantProduced checks that records are taken, and where.
func (r *groupRig) wantProduced(topic string, records []byte, base int64) {
	r.t.Helper()
	if p := r.produce(9, topic, records); p.ErrorCode != 0 || p.BaseOffset != base {
		r.t.Fatalf("produce to %s: error %d, base offset %d, want %d", topic, p.ErrorCode, p.BaseOffset, base)
	}
}

// fetchOf is a request for partition 0 of a topic, which waits for nothing.
func (r *groupRig) fetchOf(version int16, topic string, offset int64) *kmsg.FetchRequest {
	r.t.Helper()
	req := &kmsg.FetchRequest{Version: version, ReplicaID: -1, MinBytes: 1, MaxBytes: 50 << 20, SessionEpoch: -1, Topics: []kmsg.FetchRequestTopic{{
		Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(0, offset)}}}}
	req.ReplicaState.ID = -1
	if version >= 13 {
		req.Topics[0].TopicID = r.id(topic)
	}
	return req
}

func fetchPartition(index int32, offset int64) kmsg.FetchRequestTopicPartition {
	return kmsg.FetchRequestTopicPartition{Partition: index, FetchOffset: offset, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1,
		LogStartOffset: -1, PartitionMaxBytes: 1 << 20}
}

func (r *groupRig) fetch(version int16, topic string, offset int64) fetched {
	r.t.Helper()
	return ask[*kmsg.FetchResponse](r, r.fetchOf(version, topic, offset)).Topics[0].Partitions[0]
}

// A row is a record as a consumer sees it.
type row struct {
	offset     int64
	time       int64
	key, value string
}

// rowsOf reads the records of an answer; a batch that is cut off at its end is left out.
func rowsOf(t testing.TB, b []byte) (all []row) {
	t.Helper()
	for len(b) > 0 {
		batch, rest, err := record.Next(b)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range batch.Records(0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, row{rec.Offset, rec.Timestamp, string(rec.Key), string(rec.Value)})
		}
		b = rest
	}
	return all
}

// all reads partition 0 of a topic to its end: an answer is of one segment.
func (r *groupRig) all(topic string) (all []row) {
	r.t.Helper()
	for {
		p := r.fetch(12, topic, int64(len(all)))
		rows := rowsOf(r.t, p.RecordBatches)
		if p.ErrorCode != 0 || len(rows) == 0 {
			same(r.t, "code", p.ErrorCode, 0)
			return all
		}
		all = append(all, rows...)
	}
}

// wantRows checks what partition 0 of a topic has.
func (r *groupRig) wantRows(topic string, want ...row) {
	r.t.Helper()
	p := r.fetch(12, topic, 0)
	if got := rowsOf(r.t, p.RecordBatches); p.ErrorCode != 0 || !reflect.DeepEqual(got, want) {
		r.t.Errorf("%s has %v (error %d), want %v", topic, got, p.ErrorCode, want)
	}
}

// changed returns a batch in which bytes were changed, with a right CRC.
func changed(b []byte, at int, with ...byte) []byte {
	b = append([]byte(nil), b...)
	copy(b[at:], with)
	return sealed(b)
}

// sealed puts a right CRC into a batch.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func wantClosed(t *testing.T, what string, c net.Conn) {
	t.Helper()
	raw.WantClosed(t, what, c)
}

func send(t *testing.T, c net.Conn, req kmsg.Request) {
	t.Helper()
	raw.Send(t, c, req)
}

// receive returns the answer to a request that was sent.
func receive[T kmsg.Response](t *testing.T, c net.Conn, req kmsg.Request) T {
	t.Helper()
	return raw.Receive[T](t, c, req)
}
