package main

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/results"
)

func lines(t *testing.T) []results.Line {
	t.Helper()
	m := load.NewMeter()
	m.Begin(time.Hour)
	for i := range 5000 {
		now := time.Now()
		m.Done(i, now, now, now.Add(time.Duration(i)*time.Microsecond), 1)
	}
	h, err := load.Encoded(m.Result().Latency)
	if err != nil {
		t.Fatal(err)
	}
	var all []results.Line
	for round := 1; round <= 3; round++ {
		for f, level := range []string{"device", "engine", "broker"} {
			for i, row := range []string{"append-1", "append-8", "append-64"} {
				files := []float64{1, 8, 64}[i]
				all = append(all, results.Line{
					Kind: results.KindRun, Profile: "a profile", Row: row, Level: level, Round: round, Histogram: h,
					Params: results.Values{"files": files, "streams": files, "bs": 4096},
					Values: results.Values{"MB_s": 100 * files / float64(f+1), "ops_s": 1000 * files, "lat_p99_ms": 0.1 * float64(f+1), "cpu_s_per_GB": float64(f + 1)},
				})
			}
		}
	}
	return all
}

func TestEveryChartIsDrawnInBothForms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	names, err := draw(lines(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	// growth over bs has one size alone; over files and streams there is one each.
	want := []string{"throughput-latency", "cpu", "growth-files", "growth-streams", "percentiles"}
	if len(names) != 2*len(want) {
		t.Errorf("%d files: %q", len(names), names)
	}
	for _, w := range want {
		svg, err := os.ReadFile(filepath.Join(dir, "a_profile-"+w+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", w, err)
		}
		if !strings.Contains(string(svg), "engine") {
			t.Errorf("%s does not name its levels", w)
		}
		pix, err := os.ReadFile(filepath.Join(dir, "a_profile-"+w+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(bytes.NewReader(pix)); err != nil || img.Bounds().Dx() < 300 {
			t.Errorf("%s: %v", w, err)
		}
	}
}

func TestACallWithoutFilesIsWrongAndOneThatDrawsNothingFails(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, []byte(`{"kind":"machine"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[int][]string{2: {"-fast"}, 1: {"-out", t.TempDir(), empty}} {
		if got := run(args, io.Discard); got != want {
			t.Errorf("%q: exit status %d, want %d", args, got, want)
		}
	}
	if got := run(nil, io.Discard); got != 2 {
		t.Errorf("no file: exit status %d", got)
	}
}

func TestLinesWithoutFiguresGiveNoChart(t *testing.T) {
	names, err := draw([]results.Line{{Kind: results.KindMachine}, {Kind: results.KindRun, Row: "x", Error: "broken"}}, t.TempDir())
	if err != nil || len(names) != 0 {
		t.Fatalf("%q, %v", names, err)
	}
	if _, err := draw([]results.Line{{Kind: results.KindRun, Row: "x", Level: "engine", Histogram: "?", Values: results.Values{"MB_s": 1}}}, t.TempDir()); err == nil {
		t.Error("a broken histogram is drawn")
	}
}

func TestAComparisonIsDrawnAsRatios(t *testing.T) {
	var all []results.Line
	for round := 1; round <= 2; round++ {
		for i, row := range []string{"P1a", "P2", "P9"} {
			for _, broker := range []string{"kafka", "zurau"} {
				v := results.Values{"rss_MB": 900}
				if broker == "zurau" {
					v["rss_MB"] = 30
				}
				v[[]string{"MB_s", "req_s", "killed_s"}[i]] = 2 * v["rss_MB"]
				all = append(all, results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: row, Broker: broker, Round: round, Values: v})
			}
		}
	}
	names, err := draw(all, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(names, func(n string) bool { return filepath.Base(n) == "versus-ratios.svg" })
	if i < 0 {
		t.Fatalf("%q", names)
	}
	svg, err := os.ReadFile(names[i])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"P1a", "P9", "throughput", "memory", "0.1x", "latency"} {
		if !strings.Contains(string(svg), ">"+want+"<") {
			t.Errorf("the chart has no %q", want)
		}
	}
	if r := ratioOf(map[int]map[string]results.Values{1: {"zurau": {"a": 1}}}, []string{"a"}); r != 0 {
		t.Errorf("a ratio of %v to nothing", r)
	}
}
