package kill

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zurau/zurau/tests/broker"
)

// Each directory recovers for itself; the metadata is in the first. After the second kill they come in another order.
func TestNothingAcknowledgedIsLostByKillsOfABrokerWithTwoDirectories(t *testing.T) {
	root := t.TempDir()
	one, other := filepath.Join(root, "one"), filepath.Join(root, "other")
	b := broker.Start(t, broker.Options{Dir: one + "," + other, Set: []string{"log.flush.interval.messages=1", "log.segment.bytes=1048576"}})
	ctx := deadline(t)
	create(ctx, t, b.Addr, "sync", partitions)
	w := writersOn(t, b.Addr, "sync", writersPerBroker, 0)
	for range rounds() {
		w.until(ctx, t, acksPerRound)
		b.Kill(t)
		one, other = other, one
		b.Dir = one + "," + other
		b.Start(t)
	}
	w.until(ctx, t, acksPerRound)
	acked := w.finish(ctx, t)
	there := readAll(ctx, t, b.Addr, "sync", partitions)
	for _, err := range there.check(acked, w.idempotent) {
		t.Error(err)
	}
	b.Stop(t)
	broker.Run(t, "log", "verify", "--records", one, other)
	for _, dir := range []string{one, other} {
		if logs, err := filepath.Glob(filepath.Join(dir, "sync-*", "*.log")); err != nil || len(logs) == 0 {
			entries, _ := os.ReadDir(dir)
			t.Errorf("%s has no logs: %v", dir, entries)
		}
	}
}
