package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

func TestRowsAreChosenByIDOrFamilyInTheirOwnOrder(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"P2,P1a", "P1a P2"},
		{"P3", "P3a P3b P3c P3d"},
		{"P5b,P5", "P5a P5b P5c"},
		{"", "P1a P1b P2 P3a P3b P3c P3d P4 P5a P5b P5c P6 P8 P9"},
		{"P7", "error"},
		{"P1a,,P2", "error"},
	} {
		chosen, err := choose(c.list)
		var ids []string
		for _, r := range chosen {
			ids = append(ids, r.id)
		}
		got := strings.Join(ids, " ")
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.list, got, c.want)
		}
	}
}

func TestEveryFloorIsAboutAFigureThatItsRowHas(t *testing.T) {
	for _, f := range floors {
		found := false
		for _, r := range rows {
			for _, g := range r.figures {
				found = found || r.id == f.row && g.slot == f.slot
			}
		}
		if !found || (f.least == 0) == (f.most == 0) {
			t.Errorf("%+v", f)
		}
	}
}

func TestRatiosAreMadeWithinARound(t *testing.T) {
	var lines []results.Line
	for i, kz := range [][2]float64{{100, 200}, {200, 800}, {50, 150}} {
		for j, b := range []string{kafkaName, zurauName} {
			lines = append(lines, results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: "P1a", Round: i, Broker: b, Values: results.Values{"MB_s": kz[j]}})
		}
	}
	// A round that has one broker alone has no ratio.
	lines = append(lines, results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: "P1a", Round: 3, Broker: zurauName, Values: results.Values{"MB_s": 1}})
	if got := summarize(lines, rows).ratio("P1a", "MB_s"); got != (results.Spread{Median: 3, Min: 2, Max: 4, N: 3}) {
		t.Fatalf("%+v", got)
	}
}

func TestTheLoadToolsLineIsRead(t *testing.T) {
	v, err := parseLoad(`{"MB_s":281.5,"lat_ms":{"max":9,"p99":3.25},"mode":"produce"}` + "\n")
	if err != nil || len(v) != 3 || v["MB_s"] != 281.5 || v["lat_p99_ms"] != 3.25 {
		t.Fatalf("%v, %v", v, err)
	}
	if _, err := parseLoad("load: no leaders"); err == nil {
		t.Fatal("no error")
	}
}

func TestTheLimitToolsLinesAreRead(t *testing.T) {
	for in, want := range map[string]float64{
		"sendfile conns=4 kb=1024: 3520 MB/s, 0.251 cpu-s/GB, machine with client 0.600 cpu-s/GB\n": 0.6,
		"append direct kb=64: 750 MB/s, 0.600 cpu-s/GB, machine 0.700 cpu-s/GB\n":                   0.7,
	} {
		if v, err := parseLimit(in); err != nil || v["machine_cpu_s_per_GB"] != want || v["MB_s"] < 700 {
			t.Errorf("%q: %v, %v", in, v, err)
		}
	}
	if _, err := parseLimit("panic: address in use"); err == nil {
		t.Error("no error")
	}
}

func TestTheReportHoldsFloorsAgainstRatios(t *testing.T) {
	lines := []results.Line{
		{Kind: results.KindMachine, Machine: &machine.Facts{CPUs: 2, CPU: "model", FileSystem: "ext4", MountOptions: "rw", Kafka: "4.4.0", Heap: "1g"}},
		{Kind: results.KindRun, Phase: results.PhaseSample, Row: "P1a", LoadBefore: 0.1, OtherCores: 0.05},
		{Kind: results.KindLimit, Row: "P1a", Values: results.Values{"MB_s": 1180, "cpu_s_per_GB": 0.82}},
	}
	for i, mb := range []float64{900, 1100} {
		lines = append(lines,
			results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: "P1a", Round: i, Broker: kafkaName, Values: results.Values{"MB_s": 250, "cpu_s_per_GB": 5, "lat_p99_ms": 10, "rss_MB": 400}},
			results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: "P1a", Round: i, Broker: zurauName, Values: results.Values{"MB_s": mb, "cpu_s_per_GB": 2.5, "lat_p99_ms": 1, "rss_MB": 40}})
	}
	lines = append(lines, results.Line{Kind: results.KindRun, Phase: results.PhaseResult, Row: "P6", Broker: zurauName, Values: results.Values{"ready_ms": 20, "rss_MB": 25}})
	r := summarize(lines, rows)
	var b strings.Builder
	r.write(&b, true)
	golden := filepath.Join("testdata", "report.md")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", b.String())
	}
	if m := r.missed(); len(m) != 1 || m[0] != "P1a broker CPU: 0.500, floor ≤ 0.4x" {
		t.Errorf("missed %q", m)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestBadUsageIsToldApartFromFailure(t *testing.T) {
	for _, args := range [][]string{nil, {"redpanda"}, {"kafka", "--rows", "P99"}, {"kafka", "--fast"}, {"kafka", "now"}, {"kafka", "--only", "x"}, {"report"}} {
		var bad usageError
		if err := run(args); !errors.As(err, &bad) {
			t.Errorf("%q: %v", args, err)
		}
	}
	var bad usageError
	if err := run([]string{"report", filepath.Join(t.TempDir(), "none")}); err == nil || errors.As(err, &bad) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAMissingSharedFolderIsExplained(t *testing.T) {
	err := run([]string{"kafka", "--shared", t.TempDir(), "--dir", t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "--shared DIR") {
		t.Fatal(err)
	}
}
