package api

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/server/wire"
)

// A topicClient is a connection to a broker's topic handlers, by a listener called PLAINTEXT.
type topicClient struct {
	t    *testing.T
	conn net.Conn
}

func dialTopics(t *testing.T, b *Broker) topicClient {
	t.Helper()
	s, err := netio.Start(netio.Options{Loops: 1, Listeners: []netio.Listener{{Name: "PLAINTEXT", Addr: "127.0.0.1:0"}}},
		&wire.Server{Table: wire.NewTable(b.topicHandlers()...), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(t.Context()) })
	conn, err := net.Dial("tcp", s.Addr()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return topicClient{t, conn}
}

func (c topicClient) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	if _, err := c.conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		c.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c.conn, size[:]); err != nil {
		c.t.Fatalf("%T version %d: %v", req, req.GetVersion(), err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.conn, frame); err != nil {
		c.t.Fatal(err)
	}
	frame = frame[4:] // correlation id
	if req.IsFlexible() {
		frame = frame[1:] // no tags
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(frame); err != nil {
		c.t.Fatalf("%T version %d: %v", req, req.GetVersion(), err)
	}
	return resp
}

func TestEveryVersionIsAnsweredOnTheWire(t *testing.T) {
	b := topicBroker(t)
	c := dialTopics(t, b)
	name := "t"
	for _, h := range b.topicHandlers() {
		for v := h.Min; v <= h.Max; v++ {
			req := kmsg.RequestForKey(h.Key)
			req.SetVersion(v)
			switch req := req.(type) {
			case *kmsg.MetadataRequest:
				req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
			case *kmsg.CreateTopicsRequest:
				req.Topics = []kmsg.CreateTopicsRequestTopic{newTopic(name, 1, 1, "flush.ms", "5")}
			case *kmsg.DeleteTopicsRequest:
				req.TopicNames, req.Topics = []string{"none"}, []kmsg.DeleteTopicsRequestTopic{byName("none")}
			case *kmsg.DescribeConfigsRequest:
				req.Resources = describeRequest(2, name).Resources
			case *kmsg.AlterConfigsRequest:
				req.Resources = replaceRequest(2, name).Resources
			case *kmsg.CreatePartitionsRequest:
				req.Topics = []kmsg.CreatePartitionsRequestTopic{growTo(name, int32(v)+2)}
			case *kmsg.IncrementalAlterConfigsRequest:
				req.Resources = changeRequest(2, name).Resources
			}
			c.ask(req)
		}
	}
	wantPartitions(t, b, name, 5)
}

// A client that waits for the topic that it has asked for must not wait for more than one answer.
func TestAutomaticTopicIsThereWhenTheFirstAnswerIs(t *testing.T) {
	b := topicBroker(t)
	c := dialTopics(t, b)
	req := metadataRequest(12, "new", strings.Repeat("x", 250))
	req.AllowAutoTopicCreation = true
	got := c.ask(req).(*kmsg.MetadataResponse)
	if len(got.Topics) != 2 || got.Topics[0].ErrorCode != 3 || got.Topics[1].ErrorCode != 17 || len(got.Brokers) != 1 {
		t.Errorf("%+v", got)
	}
	wantTopics(t, b, "new")
	if got := c.ask(req).(*kmsg.MetadataResponse); got.Topics[0].ErrorCode != 0 || got.Topics[0].Partitions[0].Leader != 1 {
		t.Errorf("%+v", got)
	}
}
