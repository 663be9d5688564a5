package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/zurau/zurau/tests/broker"
)

func franz(t *testing.T, b *broker.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr), kgo.AllowAutoTopicCreation(), kgo.FetchMaxWait(pollWait),
		kgo.MetadataMinAge(pollWait), kgo.HeartbeatInterval(pollWait)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// send produces values to a topic, keyed by their number, and waits for the acknowledgements.
func send(ctx context.Context, t *testing.T, c *kgo.Client, topic string, values []string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: []byte(v),
			Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}}
	}
	for _, r := range c.ProduceSync(ctx, records...) {
		if r.Err != nil {
			t.Fatalf("produce to %s: %v", topic, r.Err)
		}
	}
}

// poll returns the next n records that a client is given.
func poll(ctx context.Context, t *testing.T, c *kgo.Client, n int) []*kgo.Record {
	t.Helper()
	var all []*kgo.Record
	for len(all) < n {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("after %d records of %d: %v", len(all), n, err)
		}
		all = append(all, f.Records()...)
	}
	return all
}

func valuesOf(records []*kgo.Record) []string {
	all := make([]string, len(records))
	for i, r := range records {
		all[i] = string(r.Value)
	}
	return all
}

func TestFranzReadsBackWhatItWroteInEveryCodec(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	want := values(3000)
	for name, codec := range codecs {
		send(ctx, t, franz(t, b, kgo.ProducerBatchCompression(codec)), name, want)
		got := poll(ctx, t, franz(t, b, kgo.ConsumeTopics(name)), len(want))
		same(t, valuesOf(got), want)
		for i, r := range got {
			if r.Offset != int64(i) || string(r.Key) != fmt.Sprint(i) || len(r.Headers) != 1 || string(r.Headers[0].Value) != fmt.Sprint(i) {
				t.Fatalf("%s: record %d has offset %d, key %s, headers %v", name, i, r.Offset, r.Key, r.Headers)
			}
		}
	}
	clean(t, b)
}

func TestFranzAcksOneAndNoneKeepTheOrder(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	want := values(500)
	for topic, acks := range map[string]kgo.Acks{"one": kgo.LeaderAck(), "none": kgo.NoAck()} {
		// With one request in flight order is not a matter of luck without idempotence.
		c := franz(t, b, kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
		create(ctx, t, c, topic, 1)
		send(ctx, t, c, topic, want)
		same(t, valuesOf(poll(ctx, t, franz(t, b, kgo.ConsumeTopics(topic)), len(want))), want)
	}
	clean(t, b)
}

func TestFranzIdempotentProducersKeepEachPartitionsOrder(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	create(ctx, t, franz(t, b), "busy", 3)
	const producers, each = 4, 2000
	for p := range producers {
		c := franz(t, b, kgo.ProducerLinger(0), kgo.MaxBufferedRecords(100), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		go func() {
			for i := range each {
				c.Produce(ctx, &kgo.Record{Topic: "busy", Key: fmt.Append(nil, p), Value: fmt.Appendf(nil, "%08d", i)}, nil)
			}
		}()
	}
	last := map[string]string{}
	for _, r := range poll(ctx, t, franz(t, b, kgo.ConsumeTopics("busy")), producers*each) {
		line := fmt.Sprintf("producer %s, partition %d", r.Key, r.Partition)
		if last[line] >= string(r.Value) {
			t.Fatalf("%s: %s after %s", line, r.Value, last[line])
		}
		last[line] = string(r.Value)
	}
	clean(t, b)
}
