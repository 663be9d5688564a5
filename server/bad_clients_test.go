package server_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	proc "github.com/zurau/zurau/tests/broker"
)

// Row 25: who says that it is a broker is not one, and learns and changes nothing.
func TestAClientThatSaysItIsABrokerIsNotOne(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	id := c.create("t", 1)
	c.put("t", 0, batch("v"))
	for _, replica := range []int32{0, 1, 7, 1<<31 - 1} {
		for _, version := range []int16{12, 17} {
			req := kmsg.NewPtrFetchRequest()
			req.Version, req.SessionEpoch = version, -1
			if req.ReplicaID = replica; version >= 15 {
				req.ReplicaState.ID = replica
			}
			p := kmsg.NewFetchRequestTopicPartition()
			p.PartitionMaxBytes = 1 << 20
			req.Topics = []kmsg.FetchRequestTopic{{Topic: "t", TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
			got := ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0]
			if got.ErrorCode != kerr.NotLeaderForPartition.Code || len(got.RecordBatches) > 0 {
				t.Errorf("replica %d, version %d: error %d, %d bytes", replica, version, got.ErrorCode, len(got.RecordBatches))
			}
		}
	}
	for _, key := range []int16{4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 64, 67} { // LeaderAndISR, Vote, AlterPartition, BrokerRegistration ...
		req := kmsg.RequestForKey(key)
		req.SetVersion(req.MaxVersion())
		one := b.dial()
		one.send(req)
		if answer, err := one.read(); err == nil {
			t.Errorf("%s was answered: %x", kmsg.NameForKey(key), answer)
		}
	}
	if got := c.values("t"); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

// Row 34: an address that connects again and again, and holds what it can, keeps nobody else out.
func TestAnAddressOverItsLimitKeepsNobodyElseOut(t *testing.T) {
	const limit = 5
	b := start(t, t.TempDir(), fmt.Sprint("max.connections.per.ip=", limit))
	c := b.dial()
	c.create("t", 1)
	greedy := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	rounds := 500
	if proc.Long() {
		rounds = 50_000
	}
	served := 0
	for i := range rounds {
		nc, err := greedy.Dial("tcp", b.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		if (client{t, nc}).alive() {
			served++
			defer nc.Close() // idle from here on
		} else {
			nc.Close()
		}
		if i%100 == 0 {
			c.put("t", 0, batch("v"))
		}
	}
	if served != limit {
		t.Errorf("%d connections of one address are served, want %d", served, limit)
	}
	if !b.served() {
		t.Error("another address is not served")
	}
}

// Row 41: the longest time-outs there are, and the shortest, are answered like any other.
func TestTimeoutsAtTheirExtremesAreAnswered(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1)
	const longest, none = 1<<31 - 1, -1
	for _, ms := range []int32{longest, none, -1 << 31, 0} {
		late := int16(0)
		if ms <= 0 {
			late = kerr.RequestTimedOut.Code // what changes the metadata is late at once, as in Kafka
		}
		create := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: ms,
			Topics: []kmsg.CreateTopicsRequestTopic{{Topic: fmt.Sprint("t", ms), NumPartitions: 1, ReplicationFactor: 1}}}
		if got := ask[*kmsg.CreateTopicsResponse](c, create).Topics[0].ErrorCode; got != late {
			t.Errorf("CreateTopics, %d ms: error %d", ms, got)
		}
		grow := &kmsg.CreatePartitionsRequest{Version: 3, TimeoutMillis: ms, Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: "t", Count: 2}}}
		if got := ask[*kmsg.CreatePartitionsResponse](c, grow).Topics[0].ErrorCode; got != late {
			t.Errorf("CreatePartitions, %d ms: error %d", ms, got)
		}
		produce := produceRequest("t", 0, -1, batch("v").Bytes())
		produce.TimeoutMillis = ms
		if got := ask[*kmsg.ProduceResponse](c, produce).Topics[0].Partitions[0].ErrorCode; got != 0 {
			t.Errorf("Produce, %d ms: error %d", ms, got)
		}
		remove := &kmsg.DeleteRecordsRequest{Version: 2, TimeoutMillis: ms,
			Topics: []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 1}}}}}
		if got := ask[*kmsg.DeleteRecordsResponse](c, remove).Topics[0].Partitions[0].ErrorCode; got != 0 {
			t.Errorf("DeleteRecords, %d ms: error %d", ms, got)
		}
	}
}
