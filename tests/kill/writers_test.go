package kill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A place is where a record is: what a broker acknowledged, or what a reader found.
type place struct {
	partition int32
	offset    int64
}

// writers send numbered records, each with a value that nobody else sends, until they are told to stop, and note which
// were acknowledged. They go on over a restart of the broker, as clients do.
type writers struct {
	topic      string
	idempotent int // how many of them, the first ones, are idempotent

	clients []*kgo.Client
	// stop ends the writers between two records, drop gives up what is on its way.
	stop, drop context.CancelFunc
	running    sync.WaitGroup

	// acked counts acknowledgements; more is signalled by each.
	acked atomic.Int64
	more  chan struct{}

	mu struct {
		sync.Mutex
		places map[string]place // of acknowledged records, by value
		failed []error
	}
}

// writersOn starts n writers, half of them idempotent, who number their records from first on.
func writersOn(t *testing.T, addr, topic string, n, first int) *writers {
	t.Helper()
	w := &writers{topic: topic, idempotent: n / 2, more: make(chan struct{}, 1)}
	w.mu.places = map[string]place{}
	sending, drop := context.WithCancel(t.Context())
	writing, stop := context.WithCancel(sending)
	w.stop, w.drop = stop, drop
	for i := range n {
		opts := []kgo.Opt{
			kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.MaxBufferedRecords(8), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
			// A restart takes milliseconds: ask again as soon.
			kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }), kgo.MetadataMinAge(10 * time.Millisecond),
		}
		if i >= w.idempotent {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
		c, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		w.clients = append(w.clients, c)
		t.Cleanup(c.Close)
		w.running.Go(func() {
			for n := first; writing.Err() == nil; n++ {
				value := valueOf(i, n)
				c.Produce(sending, kgo.StringRecord(value), func(r *kgo.Record, err error) { w.done(sending, r, value, err) })
			}
		})
	}
	return w
}

func (w *writers) done(ctx context.Context, r *kgo.Record, value string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.mu.places[value] = place{r.Partition, r.Offset}
		w.acked.Add(1)
		select {
		case w.more <- struct{}{}:
		default:
		}
	case errors.As(err, new(*kgo.ErrFirstReadEOF)):
		// The kill came between a connection and its first answer, and the client guesses at TLS and gives the record up.
	case ctx.Err() == nil:
		w.mu.failed = append(w.mu.failed, fmt.Errorf("%.20s: %w", value, err))
	}
}

// until waits for n more acknowledgements.
func (w *writers) until(ctx context.Context, t *testing.T, n int64) {
	t.Helper()
	for goal := w.acked.Load() + n; w.acked.Load() < goal; {
		select {
		case <-w.more:
		case <-ctx.Done():
			t.Fatalf("%d acknowledgements, want %d", w.acked.Load(), goal)
		}
	}
}

// finish ends the writers once what they have sent is answered, and returns where the acknowledged records are.
func (w *writers) finish(ctx context.Context, t *testing.T) map[string]place {
	t.Helper()
	w.stop()
	for _, c := range w.clients {
		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return w.end(t)
}

// abandon ends the writers at once, whatever is on its way, and returns where the acknowledged records are.
func (w *writers) abandon(t *testing.T) map[string]place {
	t.Helper()
	w.drop()
	return w.end(t)
}

func (w *writers) end(t *testing.T) map[string]place {
	t.Helper()
	w.running.Wait()
	for _, c := range w.clients {
		c.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.mu.failed {
		t.Error(err)
	}
	return maps.Clone(w.mu.places)
}

// valueOf is a writer's nth value: tens of bytes to some kilobytes.
func valueOf(id, n int) string {
	return fmt.Sprintf("%d %d %s", id, n, strings.Repeat(".", n*n*(id+1)%3000))
}

// writerOf says who wrote a value, and which one of his it is.
func writerOf(value string) (id, n int, err error) {
	_, err = fmt.Sscanf(value, "%d %d", &id, &n)
	if err == nil && value != valueOf(id, n) {
		err = fmt.Errorf("not the bytes of writer %d's value %d", id, n)
	}
	return id, n, err
}
