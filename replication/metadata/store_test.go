package metadata

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// closedDir is the directory of a node that was closed in order, with a snapshot and a log behind it.
func closedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	n := open(t, Options{Dir: dir, CompactBytes: 100})
	for i := range 5 {
		update(t, n, topicRecords(numberedID(i), string(rune('a'+i)), 1)...)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDamageIsRefusedWithFilePlaceAndWayOut(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte // nil: removed
		want       string
		newer      bool
	}{
		{"row 2: no log", logName, nil, "missing", false},
		{"row 3: a bad header", logName, flip(10), "at position 0", false},
		{"row 3: an empty log", logName, func([]byte) []byte { return []byte{} }, "shorter than its header", false},
		{"row 5: a bad entry", logName, flip(60), "proves that it was flushed", false},
		{"row 7: no snapshot", snapshotName, nil, "zurau-metadata.snapshot is missing", false},
		{"row 10: a bad snapshot", snapshotName, flip(40), "checksum", false},
		{"row 10: a short snapshot", snapshotName, func(b []byte) []byte { return b[:10] }, "less than a header", false},
		{"row 10: another file", snapshotName, func(b []byte) []byte { copy(b, "garbage!"); return b }, "no metadata snapshot", false},
		{"a newer snapshot", snapshotName, flip(7), "version 0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := closedDir(t)
			path := filepath.Join(dir, c.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if c.change == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, c.change(b), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir+"/"+logName) && !strings.Contains(err.Error(), path) {
				t.Fatalf("error %v", err)
			}
			if errors.Is(err, ErrNewer) != c.newer || errors.Is(err, ErrCorrupt) == c.newer {
				t.Fatalf("error %v is of the wrong kind", err)
			}
			if !c.newer && !strings.Contains(err.Error(), "backup") {
				t.Fatalf("error %v does not say what to do", err)
			}
		})
	}
}

func TestADirectoryIsOneNodesAndOneProcesss(t *testing.T) {
	dir := t.TempDir()
	n := open(t, Options{Dir: dir, NodeID: 3})
	if _, err := Open(Options{Dir: dir, NodeID: 3}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir, NodeID: 4}); err == nil || !strings.Contains(err.Error(), "belongs to node 3") {
		t.Fatal(err)
	}
	open(t, Options{Dir: dir, NodeID: 3})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, opts := range map[string]Options{
		"no directory":           {},
		"a negative node":        {Dir: dir, NodeID: -1},
		"not among the voters":   {Dir: dir, NodeID: 1, Voters: []int32{2}},
		"voters, no transport":   {Dir: dir, NodeID: 1, Voters: []int32{1, 2}},
		"a directory that isn't": {Dir: filepath.Join(dir, "none")},
	} {
		if _, err := Open(opts); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}
