package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/tools/logfile"
)

// filled returns the directory of a broker that took records in all codecs, into several segments.
func filled(t *testing.T, b *broker) {
	b.do("topic create t --partitions 2 --config segment.bytes=1048576")
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		b.give(string(lines(20_000)), "produce t --partition 0 --compression "+codec)
		b.give("k=v\n", "produce t --partition 1 --key-separator = --compression "+codec)
	}
	b.do("consume t --group g --exit-at-end")
}

func TestFilesVerifyAfterAnOrderlyStopAndAfterAKill(t *testing.T) {
	b := serve(t, t.TempDir())
	filled(t, b)
	has(t, zurau(t, nil, "log verify", b.dir).errors, "warning: "+b.dir+" is in use by a running broker")
	b.kill()
	verify := func(when string) {
		t.Helper()
		r := zurau(t, nil, "log verify --records --json", b.dir)
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		var s logfile.Summary
		must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s))
		if r.errors != "" || r.code != 0 || s.Problems != 0 || s.Records < 100_005 || s.Logs < 3 {
			t.Errorf("%s: exit status %d: %s%s", when, r.code, r.out, r.errors)
		}
	}
	verify("after kill -9")
	b = serve(t, b.dir)
	b.stop()
	verify("after an orderly stop")
}

func TestVerifyFailsWhereABitIsFlipped(t *testing.T) {
	b := serve(t, t.TempDir())
	filled(t, b)
	b.stop()
	name := filepath.Join(b.dir, "t-0", "00000000000000000000.log")
	file, err := os.ReadFile(name)
	must(t, err)
	file[len(file)/2] ^= 4
	must(t, os.WriteFile(name, file, 0o644))
	r := zurau(t, nil, "log verify", b.dir)
	if r.code != exitFailed || r.errors != "" {
		t.Errorf("exit status %d: %s", r.code, r.errors)
	}
	has(t, r.out, name+" at position ", ": rotten-batch: found ", ", expected a batch from offset ", ": 1 problem, 0 torn, ",
		"\nrotten-batch (1): ", "\n  means: ", "\n  next start: ")
	r = zurau(t, nil, "log dump", name)
	if r.code != exitFailed {
		t.Errorf("dump: exit status %d", r.code)
	}
	has(t, r.out, "BAD: ")
}

func TestDumpShowsRecordsForPeopleAndPrograms(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("k="+strings.Repeat("v", 100)+"\n", "produce t --key-separator = --compression zstd")
	b.stop()
	dir := filepath.Join(b.dir, "t-0")
	has(t, zurau(t, nil, "log dump --records", dir).out, "codec zstd", `key "k" value "vvvv`, "topic id ")
	for _, line := range strings.Split(strings.TrimSpace(zurau(t, nil, "log dump --records --json", b.dir).out), "\n") {
		var o map[string]any
		must(t, json.Unmarshal([]byte(line), &o))
		if o["type"] == "" {
			t.Error(line)
		}
	}
	for _, words := range []string{"log dump", "log verify"} {
		if r := zurau(t, nil, words, filepath.Join(dir, "nothing")); r.code != exitFailed || !strings.Contains(r.errors, "no such file") {
			t.Errorf("%s: exit status %d: %s", words, r.code, r.errors)
		}
	}
}
