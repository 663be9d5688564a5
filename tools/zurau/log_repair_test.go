package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// damaged returns the directory of a stopped broker whose topic t has a bad batch in the midst of its one partition.
func damaged(t *testing.T) string {
	t.Helper()
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1")
	for _, line := range []string{"a\n", "b\n", "c\n"} {
		b.give(line, "produce t")
	}
	b.stop()
	name := filepath.Join(b.dir, "t-0", "00000000000000000000.log")
	file, err := os.ReadFile(name)
	must(t, err)
	at := record.Batch(file).Size() // of the second batch
	file[at+record.HeaderSize+2] ^= 4
	must(t, os.WriteFile(name, file, 0o644))
	return b.dir
}

func TestARepairShowsItsPlanAndDoesWhatIsConfirmed(t *testing.T) {
	dir := damaged(t)
	name := filepath.Join(dir, "t-0", "00000000000000000000.log")
	before, err := os.ReadFile(name)
	must(t, err)
	unchanged := func(r result, want ...string) {
		t.Helper()
		after, err := os.ReadFile(name)
		must(t, err)
		if r.code != exitFailed || !bytes.Equal(before, after) {
			t.Errorf("exit status %d, changed %t: %s%s", r.code, !bytes.Equal(before, after), r.out, r.errors)
		}
		has(t, r.out, want...)
	}
	unchanged(zurau(t, nil, "log repair", dir), "For you to decide, with --cut or --skip:\n   - "+name+" at position ", ": rotten-batch: found ", "next start: ")
	unchanged(zurau(t, nil, "log repair --skip", dir), "Plan for "+dir, "what is removed goes to "+dir+".repair-", "write "+name+" anew:",
		"an empty batch stands for offset 1, lost", "Call it with --yes to do this.", "Nothing was changed.")
	unchanged(zurau(t, strings.NewReader("yes\n"), "log repair --cut", dir), "cut "+name+" at position ", "offset 1,", "; with it offsets 1 to 2 of the log are lost", "Nothing was changed.")

	keep := filepath.Join(t.TempDir(), "kept")
	r := zurau(t, nil, "log repair --skip --yes --keep "+keep, filepath.Join(dir, "t-0"))
	if r.code != 0 {
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	has(t, r.out, "Done: ", " What was removed is in "+keep)
	if _, err := os.Stat(filepath.Join(keep, "REPAIR.txt")); err != nil {
		t.Error(err)
	}
	if r := zurau(t, nil, "log verify --records", dir); r.code != 0 {
		t.Errorf("exit status %d: %s", r.code, r.out)
	}
	has(t, zurau(t, nil, "log repair", dir).out, "There is nothing to repair.\n")

	b := serve(t, dir)
	if got := b.do("consume t --exit-at-end --from start"); got != "a\nc\n" {
		t.Errorf("consumed %q", got)
	}
	b.give("d\n", "produce t")
	if got := b.do("consume t --exit-at-end --from start --format %o:%v\\n"); got != "0:a\n2:c\n3:d\n" {
		t.Errorf("consumed %q", got)
	}
	b.stop()
}

func TestARepairRefusesADirectoryInUseAndWhatItCannotTake(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1 --config flush.messages=1") // else the folder may come later
	b.give("a\n", "produce t")
	for _, path := range []string{b.dir, filepath.Join(b.dir, "t-0")} {
		r := zurau(t, nil, "log repair --yes", path)
		if r.code != exitFailed {
			t.Errorf("exit status %d: %s", r.code, r.out)
		}
		has(t, r.errors, b.dir+": in use by a running broker: stop it first")
	}
	b.stop()
	for words, want := range map[string]string{
		"log repair":                         "the path of a file or directory is missing",
		"log repair a b":                     "takes at most 1 arguments",
		"log repair --cut --skip " + b.dir:   "--cut and --skip: want one of them",
		"log repair " + b.dir + "/.lock":     "is a file: want a log directory or the folder of a partition",
		"log repair --records=x " + b.dir:    "--records",
		"log repair --cut=perhaps " + b.dir:  "--cut",
		"log repair --unknown-flag " + b.dir: "unknown flag",
	} {
		if r := zurau(t, nil, words); r.code != exitUsage || !strings.Contains(r.errors, want) {
			t.Errorf("zurau %s: exit status %d: %s", words, r.code, r.errors)
		}
	}
	if r := zurau(t, nil, "log repair "+b.dir+"/nothing"); r.code != exitFailed || !strings.Contains(r.errors, "no such file") {
		t.Errorf("exit status %d: %s", r.code, r.errors)
	}
	if r := zurau(t, nil, "log repair --keep "+b.dir+"/kept --yes", b.dir); r.code != exitFailed || !strings.Contains(r.errors, "lies in the log directory") {
		t.Errorf("exit status %d: %s", r.code, r.errors)
	}
}

func TestOnlyAYesIsOne(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES \n": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		var out bytes.Buffer
		if got := asked(strings.NewReader(answer), &out); got != want || !strings.Contains(out.String(), "[y/N]") {
			t.Errorf("%q: %t, %s", answer, got, out.String())
		}
	}
}
