package engine

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// telling is a logger that hands on every message of one kind.
type telling struct {
	slog.Handler
	message string
	said    chan map[string]slog.Value
}

func (h telling) Enabled(context.Context, slog.Level) bool { return true }

func (h telling) Handle(_ context.Context, r slog.Record) error {
	if r.Message != h.message {
		return nil
	}
	attrs := map[string]slog.Value{}
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value
		return true
	})
	select {
	case h.said <- attrs:
	default:
	}
	return nil
}

func TestAStartThatTakesLongSaysHowFarItIs(t *testing.T) {
	disk := fs.NewCrash(1)
	opt := Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1}
	e := open(t, opt)
	for p := range int32(3) {
		l, err := e.Create(Name{"t", p}, [16]byte{1}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		appendIn(t, l, 0)
	}
	disk = disk.Clone(fs.KeepAll)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	said := make(chan map[string]slog.Value, 1)
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpReadDir && strings.HasSuffix(name, "t-2") { // this log takes as long as it takes to say so
			got := <-said
			said <- got
		}
		return nil
	})
	opt.FS, opt.Logger, opt.RecoveryWorkers = disk, slog.New(telling{message: "opening logs", said: said}), 1
	e = open(t, opt)
	got := <-said
	if got["ready"].Int64() != 2 || got["of"].Any() != int64(3) {
		t.Errorf("said %v while the last of 3 logs was being opened", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
