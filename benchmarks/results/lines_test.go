package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinesComeBackAndAnAppendedFileKnowsItsLastRound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.jsonl")
	for round := range 3 {
		j, last, err := Append(name)
		if err != nil || last != round {
			t.Fatalf("round %d: last %d, %v", round, last, err)
		}
		if err := j.Add(Line{Kind: KindRun, Row: "r", Level: "engine", Round: last + 1, Values: Values{"MB_s": 1.5}}); err != nil {
			t.Fatal(err)
		}
		if err := j.File.Close(); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := Read(name)
	if err != nil || len(lines) != 3 || lines[2].Round != 3 || lines[1].Values["MB_s"] != 1.5 || lines[0].Who() != "engine" {
		t.Fatalf("%+v, %v", lines, err)
	}
}

func TestAFileThatIsNoResultsIsRefusedWithFileAndLine(t *testing.T) {
	for _, text := range []string{"{\"kind\":\"run\"}\nMB/s\n", "{\"kind\":\"run\"}\n{}\n"} {
		name := filepath.Join(t.TempDir(), "bad.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), "bad.jsonl, line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTwoJournalsOfOneSecondHaveDifferentNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	for range 3 {
		j, err := Create(dir, "device")
		if err != nil {
			t.Fatal(err)
		}
		if err := j.File.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
}
