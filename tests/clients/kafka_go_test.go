package clients

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/segmentio/kafka-go"
)

func TestKafkaGoReadsBackWhatItWroteInEveryCodec(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	want := values(500)
	for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		topic := fmt.Sprintf("codec-%d", codec)
		w := &kafka.Writer{Addr: kafka.TCP(b.Addr), Topic: topic, Compression: codec, RequiredAcks: kafka.RequireAll,
			AllowAutoTopicCreation: true, BatchSize: len(want)}
		messages := make([]kafka.Message, len(want))
		for i, v := range want {
			messages[i] = kafka.Message{Key: fmt.Append(nil, i), Value: []byte(v), Headers: []kafka.Header{{Key: "h", Value: []byte{1}}}}
		}
		// It makes the topic by asking for it, and is told at first that it is not there.
		err := w.WriteMessages(ctx, messages...)
		for errors.Is(err, kafka.UnknownTopicOrPartition) && ctx.Err() == nil {
			err = w.WriteMessages(ctx, messages...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{b.Addr}, Topic: topic, MaxWait: pollWait})
		got := make([]string, len(want))
		for i := range got {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m.Offset != int64(i) || string(m.Key) != fmt.Sprint(i) || len(m.Headers) != 1 {
				t.Fatalf("record %d: offset %d, key %s, headers %v", i, m.Offset, m.Key, m.Headers)
			}
			got[i] = string(m.Value)
		}
		same(t, got, want)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	clean(t, b)
}

func TestKafkaGoGroupContinuesWhereItCommitted(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	create(ctx, t, franz(t, b), "grouped", 1)
	w := &kafka.Writer{Addr: kafka.TCP(b.Addr), Topic: "grouped", BatchSize: 1}
	defer w.Close()
	for round := range 2 {
		r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{b.Addr}, Topic: "grouped", GroupID: "kg", StartOffset: kafka.FirstOffset,
			MaxWait: pollWait})
		for i := range 10 {
			want := fmt.Sprintf("%d %d", round, i)
			if err := w.WriteMessages(ctx, kafka.Message{Value: []byte(want)}); err != nil {
				t.Fatal(err)
			}
			m, err := r.FetchMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if string(m.Value) != want {
				t.Fatalf("got %q, want %q", m.Value, want)
			}
			if err := r.CommitMessages(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	clean(t, b)
}

func TestKafkaGoConnectionAndClientRequests(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	c := &kafka.Client{Addr: kafka.TCP(b.Addr)}
	made, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: "raw", NumPartitions: 1, ReplicationFactor: 1}}})
	if err != nil || made.Errors["raw"] != nil {
		t.Fatal(err, made)
	}
	// The old API: one connection to a partition's leader.
	conn, err := kafka.DialLeader(ctx, "tcp", b.Addr, "raw", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.WriteMessages(kafka.Message{Value: []byte("one")}, kafka.Message{Value: []byte("two")}); err != nil {
		t.Fatal(err)
	}
	first, last, err := conn.ReadOffsets()
	if err != nil || first != 0 || last != 2 {
		t.Fatalf("offsets %d to %d, %v", first, last, err)
	}
	batch := conn.ReadBatch(1, 1<<20)
	for _, want := range []string{"one", "two"} {
		m, err := batch.ReadMessage()
		if err != nil || string(m.Value) != want {
			t.Fatalf("got %q, %v, want %q", m.Value, err, want)
		}
	}
	if _, err := batch.ReadMessage(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last record: %v", err)
	}
	if err := batch.Close(); err != nil {
		t.Error(err)
	}
	clean(t, b)
}
