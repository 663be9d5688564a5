package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
)

func TestMain(m *testing.M) {
	// The goroutine pool that gnet brings along keeps these.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*goWorker).run.func1"))
}

// A broker is one broker in this process.
type broker struct {
	t   testing.TB
	dir string
	log *lockedBuffer
	*server.Server
}

// try starts a broker on a directory, on a free port, with settings as KEY=VALUE.
func try(ctx context.Context, dir string, log io.Writer, set ...string) (*server.Server, error) {
	static, err := config.Load(config.Options{
		Set:   append([]string{"group.initial.rebalance.delay.ms=0"}, set...),
		Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": dir},
	})
	if err != nil {
		return nil, err
	}
	return server.Start(ctx, server.Options{Config: static, Logger: slog.New(slog.NewTextHandler(log, nil))})
}

func start(t testing.TB, dir string, set ...string) *broker {
	t.Helper()
	b := &broker{t: t, dir: dir, log: new(lockedBuffer)}
	var err error
	if b.Server, err = try(context.Background(), dir, b.log, set...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

// stop stops the broker in order. Twice is once.
func (b *broker) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		b.t.Error(err)
	}
}

// A client is a connection to a broker.
type client struct {
	t testing.TB
	net.Conn
}

func (b *broker) dial() client {
	b.t.Helper()
	c := dial(b.t, b.Server)
	b.t.Cleanup(func() { c.Close() })
	return c
}

func dial(t testing.TB, s *server.Server) client {
	t.Helper()
	c, err := net.Dial("tcp", s.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(30 * time.Second)) // a test that hangs says where
	return client{t, c}
}

func (c client) send(req kmsg.Request) {
	c.t.Helper()
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 7)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the answer to a request.
func receive[T kmsg.Response](c client, req kmsg.Request) T {
	c.t.Helper()
	b, err := c.read()
	if err != nil {
		c.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	b = b[4:]
	if req.IsFlexible() && req.Key() != 18 {
		b = b[1:]
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(b); err != nil {
		c.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(T)
}

func ask[T kmsg.Response](c client, req kmsg.Request) T {
	c.t.Helper()
	c.send(req)
	return receive[T](c, req)
}

// read returns the next answer, without its size.
func (c client) read() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

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
func (c client) values(topic string) (all []string) {
	c.t.Helper()
	p := ask[*kmsg.FetchResponse](c, fetchRequest(topic, 0, 0)).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("fetch from %s: error %d", topic, p.ErrorCode)
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

// lockedBuffer is a log that is written to from everywhere.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
