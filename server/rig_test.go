package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, raw.Leaks()...) }

// A broker is one broker in this process.
type broker struct {
	t   testing.TB
	dir string
	log *raw.Log
	*server.Server
}

func start(t testing.TB, dir string, set ...string) *broker {
	t.Helper()
	b := &broker{t: t, dir: dir, log: new(raw.Log)}
	var err error
	if b.Server, err = inprocess.Try(context.Background(), dir, b.log, set...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

// stop stops the broker in order. Twice is once.
func (b *broker) stop() { inprocess.Stop(b.t, b.Server) }

// A client is a connection to a broker.
type client struct {
	t testing.TB
	net.Conn
}

func (b *broker) dial() client {
	b.t.Helper()
	return dial(b.t, b.Server)
}

func dial(t testing.TB, s *server.Server) client {
	t.Helper()
	return client{t, raw.Dial(t, s.Addrs()[0].String())}
}

func (c client) send(req kmsg.Request) {
	c.t.Helper()
	raw.Send(c.t, c, req)
}

func receive[T kmsg.Response](c client, req kmsg.Request) T {
	c.t.Helper()
	return raw.Receive[T](c.t, c, req)
}

func ask[T kmsg.Response](c client, req kmsg.Request) T {
	c.t.Helper()
	return raw.Ask[T](c.t, c, req)
}

// read returns the next answer, without its size.
func (c client) read() ([]byte, error) { return raw.Frame(c) }

// create makes a topic of n partitions; configs are keys and values in turn. It returns the topic's id.
func (c client) create(name string, n int32, configs ...string) [16]byte {
	c.t.Helper()
	req := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: 10_000}
	t := kmsg.CreateTopicsRequestTopic{Topic: name, NumPartitions: n, ReplicationFactor: 1}
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req.Topics = append(req.Topics, t)
	got := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]
	if got.ErrorCode != 0 {
		c.t.Fatalf("create %s: error %d", name, got.ErrorCode)
	}
	return got.TopicID
}

func produceRequest(topic string, partition int32, acks int16, records []byte) *kmsg.ProduceRequest {
	return &kmsg.ProduceRequest{Version: 9, Acks: acks, TimeoutMillis: 10_000, Topics: []kmsg.ProduceRequestTopic{{
		Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: records}},
	}}}
}

// batch is a batch of records of now with these values.
func batch(values ...string) *record.Builder {
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Add(time.Now().UnixMilli(), []byte("k"), []byte(v))
	}
	return b
}

// put produces to a partition and returns the base offset.
func (c client) put(topic string, partition int32, b *record.Builder) int64 {
	c.t.Helper()
	p := ask[*kmsg.ProduceResponse](c, produceRequest(topic, partition, -1, b.Bytes())).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("produce to %s: error %d", topic, p.ErrorCode)
	}
	return p.BaseOffset
}

func fetchRequest(topic string, offset int64, wait time.Duration) *kmsg.FetchRequest {
	return &kmsg.FetchRequest{
		Version: 12, ReplicaID: -1, MaxWaitMillis: int32(wait.Milliseconds()), MinBytes: 1, MaxBytes: 50 << 20, SessionEpoch: -1,
		Topics: []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{
			CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, FetchOffset: offset, LogStartOffset: -1, PartitionMaxBytes: 1 << 20,
		}}}},
	}
}

// values returns the values that partition 0 of a topic has.
func (c client) values(topic string) []string {
	c.t.Helper()
	return c.fetched(fetchRequest(topic, 0, 0))
}

// fetched returns the values that a fetch of one partition brings.
func (c client) fetched(r *kmsg.FetchRequest) (all []string) {
	c.t.Helper()
	p := ask[*kmsg.FetchResponse](c, r).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("fetch from %s: error %d", r.Topics[0].Topic, p.ErrorCode)
	}
	for rest := p.RecordBatches; len(rest) > 0; {
		b, next, err := record.Next(rest)
		if err != nil {
			c.t.Fatal(err)
		}
		for r, err := range b.Records(0) {
			if err != nil {
				c.t.Fatal(err)
			}
			all = append(all, string(r.Value))
		}
		rest = next
	}
	return all
}
