package kill

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/zurau/zurau/tests/broker"
)

func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }

const (
	writersPerBroker = 32
	partitions       = 4
	// acksPerRound is what must be acknowledged between a start and the next kill.
	acksPerRound = 1000
)

// rounds is how often the broker is killed.
func rounds() int {
	if broker.Long() {
		return 100
	}
	return 3
}

// deadline ends a test that waits for something that does not come. It is no measure of speed.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(rounds())*10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// One set of writers goes on over all rounds, so a retry of a batch whose answer the kill took away meets what the
// recovery brought back of its producer.
func TestNothingAcknowledgedInSyncModeIsLostOrDoubledByKills(t *testing.T) {
	b := broker.Start(t, broker.Options{Set: []string{"log.flush.interval.messages=1", "log.segment.bytes=1048576"}})
	ctx := deadline(t)
	create(ctx, t, b.Addr, "sync", partitions)
	w := writersOn(t, b.Addr, "sync", writersPerBroker, 0)
	for range rounds() {
		w.until(ctx, t, acksPerRound)
		b.Kill(t)
		b.Start(t)
	}
	w.until(ctx, t, acksPerRound)
	acked := w.finish(ctx, t)

	there := readAll(ctx, t, b.Addr, "sync", partitions)
	for _, err := range there.check(acked, w.idempotent) {
		t.Error(err)
	}
	t.Logf("%d acknowledged, %d there", len(acked), there.size())
	stopAndVerify(t, b, "sync", there)
}

// A killed process takes nothing with it that the kernel has: async answers come when it has.
func TestWhatAKillTakesFromAnAsyncLogIsASuffix(t *testing.T) {
	b := broker.Start(t, broker.Options{Set: []string{"log.segment.bytes=1048576"}})
	ctx := deadline(t)
	create(ctx, t, b.Addr, "async", partitions)
	acked, before := map[string]place{}, make(found, partitions)
	for round := range rounds() {
		w := writersOn(t, b.Addr, "async", writersPerBroker, round*1_000_000)
		w.until(ctx, t, acksPerRound)
		b.Kill(t)
		maps.Copy(acked, w.abandon(t))
		b.Start(t)
		there := readAll(ctx, t, b.Addr, "async", partitions)
		for p := range there {
			if len(there[p]) < len(before[p]) || !slices.Equal(there[p][:len(before[p])], before[p]) {
				t.Fatalf("round %d changed what was there before it in partition %d", round, p)
			}
		}
		for _, err := range there.check(acked, w.idempotent) {
			t.Error(err)
		}
		before = there
	}
	stopAndVerify(t, b, "async", before)
}

func (f found) size() (n int) {
	for _, values := range f {
		n += len(values)
	}
	return n
}

// stopAndVerify stops the broker in order and checks that its files hold what it served.
func stopAndVerify(t *testing.T, b *broker.Broker, topic string, there found) {
	t.Helper()
	b.Stop(t)
	want := make([]int64, len(there))
	for p := range there {
		want[p] = int64(len(there[p]))
	}
	verifyFiles(t, b.Dir, topic, want)
	broker.Run(t, "log", "verify", "--records", b.Dir)
}
