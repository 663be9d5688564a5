package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zurau/zurau/benchmarks/results"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 7 && os.Args[1] == "one" { // a trial's process
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEveryStoreAppendsInAProcessOfItsOwnAndLeavesNothingBehind(t *testing.T) {
	o := &options{dir: t.TempDir(), secs: 0.05}
	for _, r := range rivals {
		v, err := trial(context.Background(), o, row{writers: 4, bytes: 1000}, r.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if v["ops"] < 1 || v["lat_p99_ms"] <= 0 || v["rss_MB"] <= 0 {
			t.Errorf("%s: %v", r.name, v)
		}
	}
	if left, err := os.ReadDir(o.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := trial(context.Background(), o, row{writers: 1, bytes: 1}, "none"); err == nil {
		t.Error("a store that is not there")
	}
}

func TestGoalsAreHeldAgainstTheBestOfTheOthersWithinARound(t *testing.T) {
	var lines []results.Line
	add := func(round int, store string, ops float64) {
		lines = append(lines, results.Line{Kind: results.KindRun, Row: rows[0].name(), Broker: store, Round: round, Values: results.Values{"ops_s": ops}})
	}
	for round, ops := range []float64{100, 200, 400} {
		add(round, ours, 1.3*ops)
		add(round, "pebble", ops)
		add(round, "bbolt", ops/2)
		add(round, oursUnsynced, 9*ops)
		add(round, natsUnsynced, ops)
	}
	r := summarize(lines)
	v := r.verdicts()
	if len(v) != 2 || !v[0].reached() || v[0].best != "pebble" || v[1].reached() {
		t.Errorf("%+v", v)
	}
	if m := r.missed(); len(m) != 1 || !strings.Contains(m[0], "goal 10x") {
		t.Errorf("%q", m)
	}
	var b strings.Builder
	r.write(&b, true)
	if !strings.Contains(b.String(), "| reached |") || !strings.Contains(b.String(), "| missed ") {
		t.Error(b.String())
	}
}

func TestBadUsageIsToldApartFromFailure(t *testing.T) {
	for _, args := range [][]string{{"--rounds", "0"}, {"--stores", "leveldb"}, {"now"}, {"--fast"}, {"one", "zurau", "d", "x", "y", "z"}} {
		var bad usageError
		if err := run(context.Background(), args); !errors.As(err, &bad) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
