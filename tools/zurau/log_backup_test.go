package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// backedUp is a broker's directory with a topic, a group that has committed, and something in it that is only in memory when the
// broker is killed.
func backedUp(t *testing.T, kill bool) string {
	t.Helper()
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1 --config flush.messages=1")
	b.do("topic create async --partitions 1")
	b.give("a\nb\nc\n", "produce t")
	b.do("consume t --from start --count 2 --group g")
	b.give("d\n", "produce async")
	if kill {
		b.kill()
	} else {
		b.stop()
	}
	return b.dir
}

func TestABrokerIsStartedFromABackup(t *testing.T) {
	for name, kill := range map[string]bool{"after an orderly stop": false, "after kill -9": true} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t, kill)
			to := filepath.Join(t.TempDir(), "backup")
			r := zurau(t, nil, "log backup", dir, to)
			if r.code != 0 {
				t.Fatalf("exit status %d: %s%s", r.code, r.out, r.errors)
			}
			has(t, r.out, to+": ", " logs, ", "; bytes shared ")
			must(t, os.RemoveAll(dir)) // nothing is only there
			if r := zurau(t, nil, "log verify --records", to); r.code != 0 {
				t.Errorf("the backup is not sound: %s", r.out)
			}
			b := serve(t, to)
			if got := b.do("consume t --from start --count 3"); got != "a\nb\nc\n" {
				t.Errorf("the backup has %q", got)
			}
			if got := b.do("consume t --count 1 --group g"); got != "c\n" {
				t.Errorf("the group goes on with %q", got)
			}
			if got := b.do("consume async --from start --count 1"); got != "d\n" {
				t.Errorf("the backup has %q of the async topic", got)
			}
			b.give("e\n", "produce t")
			b.stop()
		})
	}
}

func TestWhatABackupHasIsTold(t *testing.T) {
	dir := backedUp(t, false)
	to := filepath.Join(t.TempDir(), "backup")
	r := zurau(t, nil, "log backup --json --no-links", dir, to)
	var line backupLine
	must(t, json.Unmarshal([]byte(r.out), &line))
	if r.code != 0 || line.Path != to || line.Logs < 3 || line.Records < 4 || line.Bytes["copy"]+line.Bytes["reflink"] == 0 || line.Bytes["link"] != 0 {
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
}

func TestABackupThatCannotBeMadeIsRefused(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1")
	b.give("a\n", "produce t")
	dest := filepath.Join(t.TempDir(), "backup")
	refused := func(code int, want string, words ...string) {
		t.Helper()
		r := zurau(t, nil, "log backup", words...)
		if r.code != code {
			t.Errorf("%q: exit status %d: %s%s", words, r.code, r.out, r.errors)
		}
		has(t, r.errors, want)
		for _, name := range []string{dest, dest + ".incomplete"} {
			if _, err := os.Stat(name); err == nil {
				t.Errorf("%q: %s is there", words, name)
			}
		}
	}
	refused(exitFailed, "in use by a running broker: stop it first", b.dir, dest)
	b.stop()
	refused(exitFailed, "already exists", b.dir, t.TempDir())
	refused(exitFailed, "lies within the directory", b.dir, filepath.Join(b.dir, "backup"))
	refused(exitFailed, "is no log directory", t.TempDir(), dest)
	refused(exitFailed, "no such file", filepath.Join(b.dir, "none"), dest)
	refused(exitUsage, "is a file: want a log directory", filepath.Join(b.dir, "meta.properties"), dest)
	refused(exitUsage, "an argument is missing", b.dir)
}
