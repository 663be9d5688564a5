package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/benchmarks/results"
)

func TestAJobRunsByTheOtherBinding(t *testing.T) {
	dir := t.TempDir()
	file, lines := filepath.Join(dir, "job.fio"), filepath.Join(dir, "lines.jsonl")
	text := `[global]
ioengine=io_uring
direct=1
bs=4k
size=1m
runtime=1
time_based=1
ramp_time=100ms
[write]
rw=write
sync=dsync
iodepth=8
[at-a-rate]
stonewall
rw=write
iodepth=4
rate_iops=200
[read]
stonewall
rw=read
iodepth=8
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if status := run(t.Context(), []string{"-directory", dir, "-results", lines, file}); status != 0 {
		t.Fatalf("status %d", status)
	}
	all, err := results.Read(lines)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d lines", len(all))
	}
	for _, l := range all {
		if l.Error != "" || l.Values["ops"] < 1 {
			t.Errorf("%s: %v, %q", l.Row, l.Values, l.Error)
		}
	}
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "job.fio")
	if err := os.WriteFile(file, []byte("[a]\nrw=write\nsize=1m\nioengine=io_uring\nfdatasync=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(dir, "lines.jsonl")
	if status := run(t.Context(), []string{"-directory", dir, "-results", lines, file}); status != 0 {
		t.Errorf("status %d: not at this level is no failure", status)
	}
	all, err := results.Read(lines)
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Error, "not at this level") {
		t.Errorf("%v, %v", all, err)
	}
	if status := run(t.Context(), []string{"-directory", dir, file + ".missing"}); status != 1 {
		t.Errorf("status %d of a file that is not there", status)
	}
	if status := run(t.Context(), nil); status != 2 {
		t.Errorf("status %d without a file", status)
	}
}
