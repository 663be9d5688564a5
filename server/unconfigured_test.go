package server_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/inprocess"
)

// A slowLog holds up whoever reads the metadata, for as long as retention takes to look at all logs many times.
type slowLog struct {
	slog.Handler
	held *atomic.Bool
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(context.Context, slog.Record) error {
	if !l.held.Swap(true) {
		<-time.After(300 * time.Millisecond)
	}
	return nil
}

// The logs of a directory are open before it is known how they are to be kept: with several directories the first ones may have to wait for
// minutes until the last one has recovered. Nothing is deleted meanwhile.
func TestAStartDeletesNothingBeforeItKnowsHowLogsAreToBeKept(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1, "retention.ms", "-1", "segment.ms", "60000")
	old := time.Now().Add(-30 * 24 * time.Hour)
	for hour := range 5 { // each in a segment of its own, and all older than what is kept by default
		at := old.Add(time.Duration(hour) * time.Hour).UnixMilli()
		c.put("t", 0, record.NewBuilder(record.None).Add(at, nil, []byte{byte('a' + hour)}))
	}
	b.stop()
	segments := func() []string {
		names, err := filepath.Glob(filepath.Join(b.dir, "t-0", "*.log"))
		must(t, err)
		return names
	}
	before := segments()
	if len(before) != 5 {
		t.Fatalf("%d segments", len(before))
	}
	static, err := config.Load(config.Options{
		Set:   []string{"log.retention.check.interval.ms=1"},
		Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": b.dir},
	})
	must(t, err)
	must(t, os.Remove(filepath.Join(b.dir, "zurau-logs"))) // what is known of logs is no matter here
	s, err := server.Start(context.Background(), server.Options{Config: static, Logger: slog.New(slowLog{slog.DiscardHandler, new(atomic.Bool)})})
	must(t, err)
	defer inprocess.Stop(t, s)
	if after := segments(); !slices.Equal(after, before) {
		t.Errorf("of the segments %v there are %v", before, after)
	}
	if got := dial(t, s).values("t"); !slices.Equal(got, []string{"a"}) { // of the first segment
		t.Errorf("there is %q", got)
	}
}

func TestAnIndexThatIsMadeAgainHasTheIntervalOfItsTopic(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1, "index.interval.bytes", "100")
	for range 50 {
		c.put("t", 0, batch("a value of some bytes"))
	}
	b.stop()
	name := filepath.Join(b.dir, "t-0", "00000000000000000000.index")
	before := read(t, name)
	if len(before) < 20*8 {
		t.Fatalf("an index of %d bytes", len(before))
	}
	must(t, os.Remove(name))
	start(t, b.dir).stop()
	if after := read(t, name); after != before {
		t.Errorf("it had %d bytes, and has %d now", len(before), len(after))
	}
}
