package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/benchmarks/results"
)

// benchJob writes a job file and returns its name.
func benchJob(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "job.fio")
	must(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

const smallJob = "[small]\nrw=write\nbs=4k\nsize=1m\nioengine=psync\nruntime=1\ntime_based=1\n"

func TestAJobRunsAtThreeLevelsAndItsResultsAreKeptComparedAndDrawn(t *testing.T) {
	name, dir := benchJob(t, smallJob), t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for _, file := range []string{a, a, a, b, b, b} {
		r := zurau(t, nil, "bench engine --quick", name, "--directory", dir, "--results", file)
		if r.code != 0 {
			t.Fatalf("%d: %s", r.code, r.errors)
		}
		has(t, r.out, "Throughput", "small", "quick runs")
		has(t, r.errors, "round ", "small, engine")
	}
	r := zurau(t, nil, "bench all --quick --json", name, "--directory", dir, "--results", filepath.Join(dir, "all.jsonl"))
	if r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.errors)
	}
	has(t, r.out, `"level":"device"`, `"level":"engine"`, `"level":"broker"`, `"kernel"`)
	lines, err := results.Read(a)
	must(t, err)
	if len(lines) != 6 || lines[5].Round != 3 || lines[5].Values["MB_s"] <= 0 || lines[5].Histogram == "" {
		t.Errorf("%d lines, the last %+v", len(lines), lines[len(lines)-1])
	}
	r = zurau(t, nil, "bench compare --all", a, b)
	if r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.errors)
	}
	has(t, r.out, "job/small", "MB_s", "95 % interval", "quick runs")
	has(t, zurau(t, nil, "bench report --markdown", filepath.Join(dir, "all.jsonl")).out, "| small | ", "engine / device")
	left, err := filepath.Glob(filepath.Join(dir, "zurau-bench-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestPlotsAreDrawnByAProgramOnThePathWithAbsoluteNames(t *testing.T) {
	dir := t.TempDir()
	fake := "#!/bin/sh\necho \"$@\"\ncase \"$*\" in *bad*) exit 1;; esac\n"
	must(t, os.WriteFile(filepath.Join(dir, plotProgram), []byte(fake), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Chdir(dir)
	for name, code := range map[string]int{"good.jsonl": 0, "bad.jsonl": 1} {
		must(t, os.WriteFile(name, nil, 0o644))
		r := zurau(t, nil, "bench plot --out plots "+name)
		if want := "-out " + filepath.Join(dir, "plots") + " " + filepath.Join(dir, name) + "\n"; r.code != code || r.out != want {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	if r := zurau(t, nil, "bench plot none.jsonl"); r.code != 1 || !strings.Contains(r.errors, "none.jsonl") {
		t.Errorf("%+v", r)
	}
}

func TestABrokerThatRunsIsMeasuredAndKeepsNoTopicOfIt(t *testing.T) {
	b := serve(t, t.TempDir())
	dir := t.TempDir()
	b.do("topic create mine")
	r := zurau(t, nil, "bench broker --quick --json", benchJob(t, smallJob), "--directory", dir, "--results", dir, "--bootstrap", b.addr)
	if r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.errors)
	}
	has(t, r.out, `"cpu_us_per_op"`, `"client_rss_MB"`)
	if list := b.do("topic list"); strings.TrimSpace(list) != "mine" {
		t.Errorf("topics %q", list)
	}
}

func TestTheFlushModesStandBesideEachOther(t *testing.T) {
	dir := t.TempDir()
	r := zurau(t, nil, "bench modes --quick --bs 4k --logs 1 --writers 4", "--directory", dir, "--results", dir)
	if r.code != 0 {
		t.Fatalf("%d: %s", r.code, r.errors)
	}
	for _, m := range benchModes {
		has(t, r.out, m.name+"-4k-w4-l1")
	}
	has(t, r.out, "at risk at most, MB")
}

func TestABadJobIsToldWithFileLineAndValue(t *testing.T) {
	for text, want := range map[string]string{
		smallJob + "verify=md5\n": "job.fio:8: verify=md5: not supported here",
		"[a]\nbs=huge\n":          "job.fio:2: bs=huge: want a size",
	} {
		r := zurau(t, nil, "bench engine", benchJob(t, text))
		if r.code != 1 {
			t.Errorf("%q: %d", text, r.code)
		}
		has(t, r.errors, want)
	}
}

func TestWrongCallsOfBenchExitWithTwo(t *testing.T) {
	job := benchJob(t, smallJob)
	for _, words := range []string{
		"bench engine", "bench engine --rounds 0 " + job, "bench engine --quick --runtime 1s " + job, "bench engine --only [ " + job,
		"bench broker -b nowhere: " + job, "bench compare a", "bench plot", "bench fast", "bench modes --bs huge", "bench modes --writers 0", "bench device --runtime 1ms " + job,
	} {
		if r := zurau(t, nil, words+" --directory "+t.TempDir()+" --results "+t.TempDir()); r.code != 2 {
			if r = zurau(t, nil, words); r.code != 2 { // commands without these flags
				t.Errorf("%s: %d, %s", words, r.code, r.errors)
			}
		}
	}
	if r := zurau(t, nil, "bench keys"); r.code != 0 || !strings.Contains(r.out, "#zurau:") {
		t.Errorf("%+v", r)
	}
}
