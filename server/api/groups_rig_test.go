package api_test

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

// A groupRig is a whole broker in this process and one connection to it.
type groupRig struct {
	t      *testing.T
	dir    string
	set    []string
	server *server.Server
	conn   net.Conn
	log    *raw.Log
}

// newGroupRig starts a broker on an empty directory.
func newGroupRig(t *testing.T, set ...string) *groupRig {
	t.Helper()
	r := &groupRig{t: t, dir: t.TempDir(), set: set, log: new(raw.Log)}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *groupRig) start() {
	r.t.Helper()
	var err error
	if r.server, err = inprocess.Try(context.Background(), r.dir, r.log, r.set...); err != nil {
		r.t.Fatal(err)
	}
	r.conn = r.dial()
}

// stop stops the broker in order. Twice is once.
func (r *groupRig) stop() {
	if r.server == nil {
		return
	}
	r.conn.Close()
	inprocess.Stop(r.t, r.server)
	r.server = nil
}

func (r *groupRig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *groupRig) dial() net.Conn {
	r.t.Helper()
	return raw.Dial(r.t, r.server.Addrs()[0].String())
}

// ask sends a request and returns its answer. While groups are being loaded it asks again, as clients do.
func ask[T kmsg.Response](r *groupRig, req kmsg.Request) T {
	r.t.Helper()
	for range 1000 {
		if resp := exchange[T](r, r.conn, req); codeOf(resp) != 14 { // COORDINATOR_LOAD_IN_PROGRESS
			return resp
		}
	}
	r.t.Fatalf("%s: still loading", kmsg.NameForKey(req.Key()))
	panic("unreachable")
}

// codeOf returns the code of a group's answer as a whole, 0 where it has none.
func codeOf(resp kmsg.Response) int16 {
	switch resp := resp.(type) {
	case *kmsg.OffsetFetchResponse:
		if len(resp.Groups) > 0 {
			return resp.Groups[0].ErrorCode
		}
		return resp.ErrorCode
	case *kmsg.OffsetCommitResponse:
		return resp.Topics[0].Partitions[0].ErrorCode
	case *kmsg.ListGroupsResponse:
		return resp.ErrorCode
	}
	return 0
}

func exchange[T kmsg.Response](r *groupRig, c net.Conn, req kmsg.Request) T {
	r.t.Helper()
	return raw.Ask[T](r.t, c, req)
}

// roundTrip sends a frame and returns the answer's frame without its size.
func roundTrip(c net.Conn, frame []byte) ([]byte, error) {
	if err := raw.Write(c, frame); err != nil {
		return nil, err
	}
	return raw.Frame(c)
}

// create makes a topic of one partition.
func (r *groupRig) create(topic string, configs ...string) {
	r.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, 1
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req.Topics = append(req.Topics, t)
	same(r.t, "create "+topic, ask[*kmsg.CreateTopicsResponse](r, req).Topics[0].ErrorCode, 0)
}

func (r *groupRig) drop(topic string) {
	r.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = 5, 10_000, []string{topic}
	same(r.t, "delete "+topic, ask[*kmsg.DeleteTopicsResponse](r, req).Topics[0].ErrorCode, 0)
}

// put produces a batch to partition 0 and returns its code.
func (r *groupRig) put(topic string, b *record.Builder) int16 {
	r.t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 10_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = b.Bytes()
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return ask[*kmsg.ProduceResponse](r, req).Topics[0].Partitions[0].ErrorCode
}

// today is a time of records that is not too old for anything, in ms.
var today = time.Now().UnixMilli()

// batch is a batch of records with these times.
func batch(times ...int64) *record.Builder {
	b := record.NewBuilder(record.None)
	for _, t := range times {
		b.Add(t, []byte("k"), []byte("v"))
	}
	return b
}

// found is an answer of ListOffsets.
type found struct {
	offset, time int64
	code         int16
	epoch        int32
}

// at looks a time up in partition 0.
func (r *groupRig) at(version int16, topic string, time int64) found {
	r.t.Helper()
	resp := ask[*kmsg.ListOffsetsResponse](r, offsetsAt(version, topic, time))
	p := resp.Topics[0].Partitions[0]
	return found{p.Offset, p.Timestamp, p.ErrorCode, p.LeaderEpoch}
}

func offsetsAt(version int16, topic string, times ...int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, time := range times {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = time, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// deleteTo deletes records of partition 0.
func (r *groupRig) deleteTo(topic string, offset int64) (low int64, code int16) {
	r.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 2, 1000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	p := ask[*kmsg.DeleteRecordsResponse](r, req).Topics[0].Partitions[0]
	return p.LowWatermark, p.ErrorCode
}

// commit commits an offset of partition 0 without a group.
func (r *groupRig) commit(group, topic string, offset int64, metadata string) int16 {
	r.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 9, group, -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &metadata
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return ask[*kmsg.OffsetCommitResponse](r, req).Topics[0].Partitions[0].ErrorCode
}

// committed returns the offset of partition 0.
func (r *groupRig) committed(group, topic string) (offset int64, metadata string) {
	r.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 9
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}}}
	g := ask[*kmsg.OffsetFetchResponse](r, req).Groups[0]
	same(r.t, "code of "+group, g.ErrorCode, 0)
	p := g.Topics[0].Partitions[0]
	return p.Offset, *p.Metadata
}

// join is a JoinGroup that needs no second one.
func join(group string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.ProtocolType = 3, group, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 10_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{1}}}
	return req
}

// words puts values side by side.
func words(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
