package clients

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/tests/broker"
)

func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }

// pollWait is how long a client has the broker wait for records. Clients end that wait before they let themselves be closed.
const pollWait = 100 * time.Millisecond

// shared is a broker for tests that only need topics and groups of their own. Groups form without the usual wait.
func shared(t *testing.T) *broker.Broker {
	t.Helper()
	return broker.Start(t, broker.Options{Set: []string{"group.initial.rebalance.delay.ms=0", "num.partitions=1"}})
}

// deadline ends a test that waits for something that does not come. It is no measure of speed.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// values returns n different values, of sizes from a few bytes to some kilobytes, that compress.
func values(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%0*d", 8+(i%7)*(i%97), i)
	}
	return all
}

// same fails the test where got is not want, and shows the first difference.
func same(t *testing.T, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("record %d is %.60q, want %.60q", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
}

// clean fails the test where the broker logged an error: a client must not bring it to that.
func clean(t *testing.T, b *broker.Broker) {
	t.Helper()
	for _, word := range []string{"level=ERROR", "panic"} {
		if log := b.Log(); strings.Contains(log, word) {
			t.Errorf("the broker's log has %s:\n%s", word, log)
		}
	}
}
