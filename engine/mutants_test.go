package engine

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A plant is a bug that is put into the engine's source, and a test that has to find it. All are in one build of the tests, on
// copies of the files (go test -overlay), each behind a switch: nothing of it is in the engine.
type plant struct {
	name  string
	edits []edit
	test  string
	only  string // the faults that the test tries, all of them: see only
	quick bool   // a part of the ordinary run
}

// An edit replaces a place of a file, which is there once.
type edit struct{ file, old, new string }

const (
	testOfCuts     = "TestAKillOrAPowerCutInFrontOfEachDiskCallTakesNothingThatWasPromised"
	testOfFaults   = "TestEachDiskCallThatFailsOnceCostsNothingThatWasPromised"
	testOfRecovery = "TestARecoveryMayFailAtAnyCallAndBeTriedAgain"
)

var plants = []plant{
	{name: "skipped directory sync", test: testOfCuts, edits: []edit{{"flush.go",
		`	if err := l.e.fs.SyncDir(l.dir); err != nil {`,
		`	if mutant("skipped directory sync") {
	} else if err := l.e.fs.SyncDir(l.dir); err != nil {`}}},
	{name: "ignored fsync error", test: testOfFaults, only: "flush: datasync /data/sync-0", quick: true, edits: []edit{{"flush.go",
		`		if err := s.Flush(); err != nil {`,
		`		err := s.Flush()
		for mutant("retried flush") && err != nil {
			err = s.Flush()
		}
		if err != nil && !mutant("ignored fsync error") {`}}},
	{name: "retried flush", test: testOfFaults, only: "flush: datasync /data/sync-0"}, // with the edit above
	{name: "flush retried by the next start", test: testOfRecovery, only: "recovery: datasync", edits: []edit{{"scan.go",
		`	if err := r.rewrite(s, f, cached, from, end); err != nil {`,
		`	if mutant("flush retried by the next start") {
	} else if err := r.rewrite(s, f, cached, from, end); err != nil {`}}},
	{name: "index trusted too far", test: "TestAnIndexDamagedInItsMiddleIsNoticedByTheLookUp", quick: true, edits: []edit{
		{"segment/load.go", `func (s *Segment) TrimIndexes(next int64) error {`,
			`func (s *Segment) TrimIndexes(next int64) error {
	if mutant("index trusted too far") {
		return nil
	}`},
		{"segment/load.go", `	if check {`,
			`	if mutant("index trusted too far") {
		return true, nil
	}
	if check {`},
		{"segment/scan.go", `wrong = !seen && at > 0 && p.BaseOffset > entry`,
			`wrong = !mutant("index trusted too far") && !seen && at > 0 && p.BaseOffset > entry`}}},
	{name: "pre-written tail", test: testOfCuts, edits: []edit{{"directlog.go",
		`		clear(mem[n:end])`,
		`		clear(mem[n:end])
		if mutant("pre-written tail") {
			leaveOld(mem[head:n], mem[n:end], r.end)
		}`}}},
	{name: "overlapping writes", test: testOfCuts, edits: []edit{{"direct.go",
		`	c.tag++
	if !c.q.Push(f, p, at, dsync, c.tag) {`,
		`	if mutant("overlapping writes") {
		c.pushOld(l, f, at, dsync)
	}
	c.tag++
	if !c.q.Push(f, p, at, dsync, c.tag) {`}}},
	{name: "truncation without a flush", test: testOfCuts, edits: []edit{{"segment/load.go",
		`	if err := f.Datasync(); err != nil {
		return err
	}
	s.size.Store(position)`,
		`	if mutant("truncation without a flush") {
	} else if err := f.Datasync(); err != nil {
		return err
	}
	s.size.Store(position)`}}},
	{name: "sync mode without a flush", test: "TestAChangeToSyncModeFlushesWhatAsyncLeftInEveryWayOfWriting", quick: true, edits: []edit{
		{"writer.go", `l.flushed.Load().offset == l.written.Load().offset`,
			`(mutant("sync mode without a flush") || l.flushed.Load().offset == l.written.Load().offset)`},
		{"directlog.go", `	return l.flushed.Load().offset < l.written.Load().offset || !l.namesDurable()`,
			`	return !mutant("sync mode without a flush") && l.flushed.Load().offset < l.written.Load().offset || !l.namesDurable()`}}},
	{name: "descriptor closed with a lost error", test: "TestTheErrorOfAWriteBackIsNotLostWithItsDescriptor", quick: true, edits: []edit{{"flush.go",
		`	if l.flushWritten() == nil && l.w.beyond`,
		`	if !mutant("descriptor closed with a lost error") && l.flushWritten() == nil && l.w.beyond`}, {"hot.go",
		`	if err := l.flushTo(l.written.Load()); err != nil {
		return err
	}
	return l.onceFlushing`,
		`	if mutant("descriptor closed with a lost error") {
	} else if err := l.flushTo(l.written.Load()); err != nil {
		return err
	}
	return l.onceFlushing`}}},
}

// mutantFiles are added to the packages.
var mutantFiles = map[string]string{
	"mutant_switch.go": `package engine

import (
	"os"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

var mutantOn = os.Getenv("ZURAU_MUTANT")

func mutant(name string) bool { return mutantOn == name }

// leaveOld leaves a batch of before behind a run, with the offset that comes next.
func leaveOld(run, rest []byte, offset int64) {
	b := run[:record.Batch(run).Size()]
	if len(b) <= len(rest) {
		copy(rest, b)
		record.Batch(rest).SetBaseOffset(offset)
	}
}

// pushOld pushes the block that a run begins in as it was before it.
func (c *committer) pushOld(l *Log, f fs.File, at int64, durable bool) {
	b := l.e.buffers.get(fs.BlockSize).bytes[:fs.BlockSize]
	clear(b[copy(b, l.w.direct.tail):])
	c.tag++
	c.q.Push(f, b, at, durable, c.tag)
}
`,
	"segment/mutant_switch.go": `package segment

import "os"

var mutantOn = os.Getenv("ZURAU_MUTANT")

func mutant(name string) bool { return mutantOn == name }
`,
}

// mutated writes the files of all mutants to a folder, and the overlay that puts them into the place of the engine's.
func mutated(t *testing.T) (overlay string) {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
	to, replace := t.TempDir(), map[string]string{}
	sources := map[string]string{}
	for _, m := range plants {
		for _, e := range m.edits {
			if sources[e.file] == "" {
				b, err := os.ReadFile(e.file)
				must(t, err)
				sources[e.file] = string(b)
			}
			if n := strings.Count(sources[e.file], e.old); n != 1 {
				t.Fatalf("%s: what it changes is there %d times in %s, want once: the source has changed, and so must the mutant:\n%s",
					m.name, n, e.file, e.old)
			}
			sources[e.file] = strings.Replace(sources[e.file], e.old, e.new, 1)
		}
	}
	for _, files := range []map[string]string{sources, mutantFiles} {
		for name, text := range files {
			path := filepath.Join(to, strings.ReplaceAll(name, "/", "_"))
			must(t, os.WriteFile(path, []byte(text), 0o644))
			replace[filepath.Join(dir, name)] = path
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	overlay = filepath.Join(to, "overlay.json")
	must(t, os.WriteFile(overlay, b, 0o644))
	return overlay
}

// Each of these bugs was once somebody's, and the tests of this package have to find them: else they prove nothing. The ordinary
// run sees that each can be put in, and puts some in; the long one all.
func TestTheTestsFindEachPlantedBug(t *testing.T) {
	if os.Getenv("ZURAU_MUTANT") != "" {
		t.Skip("this is the build with the bugs")
	}
	overlay := mutated(t)
	tests := filepath.Join(t.TempDir(), "engine.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", tests, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, m := range plants {
		if !long() && !m.quick {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.Command(tests, "-test.run", "^"+m.test+"$", "-test.timeout", "3m")
			cmd.Env = append(os.Environ(), "ZURAU_LONG=", "ZURAU_MUTANT="+m.name, "ZURAU_FAULTS="+m.only)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("--- FAIL: "+m.test)) {
				t.Fatalf("%s does not find it: %v\n%s", m.test, err, tail(out))
			}
			t.Logf("%s: %s", m.test, firstError(out))
		})
	}
}

// tail returns the end of what a test has written.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// firstError returns the first line of an error in what a test has written.
func firstError(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if _, text, ok := strings.Cut(line, "_test.go:"); ok && strings.Contains(text, "seed") && !strings.Contains(text, "of which") && !strings.Contains(text, "cuts") {
			return strings.TrimSpace(text)
		}
	}
	return string(tail(out))
}
