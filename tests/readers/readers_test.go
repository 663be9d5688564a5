package readers

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/broker"
)

func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }

const (
	topic = "wide"
	// records of recordBytes each are what every healthy reader reads.
	records, recordBytes = 160, 100_000
	// pipelined is how many fetches a reader that takes no answer sends: asks for so many MiB.
	pipelined = 100
	// spare is what all readers that do not read may cost the broker together, in bytes. It is far less than what
	// they ask for, and more than the noise of a garbage collector.
	spare = 64 << 20
)

// healthy and each kind of the others are so many.
func counts() (healthy, each int) {
	if broker.Long() {
		return 1000, 50
	}
	return 100, 10
}

// fill produces the topic.
func fill(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	random := rand.NewChaCha8([32]byte{})
	all := make([]*kgo.Record, records)
	for i := range all {
		v := make([]byte, recordBytes)
		random.Read(v)
		all[i] = kgo.SliceRecord(v)
	}
	if err := c.ProduceSync(ctx, all...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// readTopic reads the topic from start to end on one connection.
func readTopic(c conn) error {
	for next := int64(0); next < records; {
		if _, err := c.Write(fetch(topic, next)); err != nil {
			return err
		}
		b, err := c.answer()
		if err != nil {
			return fmt.Errorf("at offset %d: %w", next, err)
		}
		from := next
		for {
			batch, rest, err := record.Next(b)
			if err != nil {
				break // the last one may be cut off
			}
			if err := batch.Check(); err != nil || batch.BaseOffset() > next {
				return fmt.Errorf("at offset %d comes %d: %w", next, batch.BaseOffset(), err)
			}
			next, b = batch.LastOffset()+1, rest
		}
		if next == from {
			return fmt.Errorf("no whole batch in %d bytes at offset %d", len(b), next)
		}
	}
	return nil
}

// everybody has all healthy readers read the topic once, at the same time.
func everybody(t *testing.T, all []conn) {
	t.Helper()
	var g errgroup.Group
	for _, c := range all {
		g.Go(func() error { return readTopic(c) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// stalled opens connections that ask for much and take nothing. What they do then is after's.
func stalled(t *testing.T, addr string, n int, after func(conn)) (all []conn) {
	t.Helper()
	ask := bytes.Repeat(fetch(topic, 0), pipelined)
	for range n {
		c := dial(t, addr)
		if _, err := c.Write(ask); err != nil {
			t.Fatal(err)
		}
		after(c)
		all = append(all, c)
	}
	return all
}

func TestReadersThatDoNotReadCostLittleAndHarmNobody(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b := broker.Start(t, broker.Options{})
	fill(ctx, t, b.Addr)
	healthy, each := counts()
	var good []conn
	for range healthy {
		good = append(good, dial(t, b.Addr))
	}
	everybody(t, good)
	peak, sockets := b.PeakRSS(t), b.Sockets(t)

	never := stalled(t, b.Addr, each, func(conn) {})
	slow := stalled(t, b.Addr, each, func(conn) {})
	half := stalled(t, b.Addr, each, func(c conn) { c.CloseWrite() })
	stalled(t, b.Addr, each, func(c conn) { c.SetLinger(0); c.Close() })
	for range 2 {
		everybody(t, good)
		for _, c := range slow {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatalf("a reader of one byte at a time: %v", err)
			}
		}
	}
	if grown := b.PeakRSS(t) - peak; grown > spare {
		t.Errorf("%d readers that do not read cost %d MiB, want at most %d", 4*each, grown>>20, spare>>20)
	} else {
		t.Logf("%d readers that do not read cost %d MiB", 4*each, grown>>20)
	}

	// A client that closed only its own side still gets all that it asked for.
	for range pipelined {
		if _, err := half[0].answer(); err != nil {
			t.Fatalf("half-closed: %v", err)
		}
	}
	for _, c := range append(append(never, slow...), half...) {
		c.Close()
	}
	// The broker gives their sockets back, in its own time: a healthy one is the clock.
	for b.Sockets(t) > sockets {
		if ctx.Err() != nil {
			t.Fatalf("%d sockets are open after all have gone who did not read, %d before they came", b.Sockets(t), sockets)
		}
		everybody(t, good[:1])
	}
}
