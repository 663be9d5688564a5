package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine"
)

// Problem is something that is not as it has to be, or, where it is a note, something that is worth a word.
type Problem struct {
	Type string `json:"type"` // problem, torn or note
	// State is the row of the recovery table that it is, or one of States.
	State engine.State `json:"state"`
	File  string       `json:"file"`
	// Position is in bytes, -1 where it is about the file as a whole.
	Position int64  `json:"position"`
	Found    string `json:"found"`
	Expected string `json:"expected"`
	// Torn says that it is what a crash leaves above the recovery point: the next start cuts it off or builds it again.
	Torn bool `json:"torn"`
	// Means and Next are the state's row: what it means, and what the next start does.
	Means string `json:"means"`
	Next  string `json:"next"`

	folder string // of the log that it is of, where a repair has to choose
}

// Note reports whether nothing is wrong.
func (p Problem) Note() bool { return p.Type == "note" }

func (p Problem) String() string {
	s := p.File
	if p.Position >= 0 {
		s += fmt.Sprintf(" at position %d", p.Position)
	}
	s += ": " + string(p.State) + ": found " + p.Found
	if p.Expected != "" {
		s += ", expected " + p.Expected
	}
	if p.Torn {
		s += " (torn: what a crash leaves)"
	}
	return s
}

// Summary counts what was looked at.
type Summary struct {
	Type     string `json:"type"` // summary
	Logs     int    `json:"logs"`
	Files    int    `json:"files"`
	Batches  int64  `json:"batches"`
	Records  int64  `json:"records"`
	Bytes    int64  `json:"bytes"` // of batches
	Problems int64  `json:"problems"`
	Torn     int64  `json:"torn"`  // not counted in Problems
	Notes    int64  `json:"notes"` // nor are these
	// States counts the rows of the recovery table that were met.
	States map[engine.State]int64 `json:"states,omitempty"`
}

func (s Summary) String() string {
	return fmt.Sprintf("%s, %s, %s, %s, %s: %s, %d torn, %s", count(s.Logs, "log", "logs"), count(s.Files, "file", "files"),
		count(s.Batches, "batch", "batches"), count(s.Records, "record", "records"), count(s.Bytes, "byte", "bytes"),
		count(s.Problems, "problem", "problems"), s.Torn, count(s.Notes, "note", "notes"))
}

func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Verify checks files. The zero value checks everything but the inside of batches.
type Verify struct {
	Records bool // decompress batches and walk their records too
	// Report is called for each Problem, and for each note.
	Report func(Problem)
	// Progress, if not nil, is told how many more bytes were read.
	Progress func(bytes int64)
	// Stop, if not nil, is asked at every batch; its error ends the work.
	Stop func() error

	Summary Summary
}

func (v *Verify) report(p Problem) {
	row := RowOf(p.State)
	p.Means, p.Next = row.Means, row.Done
	switch {
	case p.Torn:
		p.Type = "torn"
		v.Summary.Torn++
	case row.Harm == engine.Note:
		p.Type = "note"
		v.Summary.Notes++
	default:
		p.Type = "problem"
		v.Summary.Problems++
	}
	if v.Summary.States == nil {
		v.Summary.States = map[engine.State]int64{}
	}
	v.Summary.States[p.State]++
	v.Report(p)
}

func (v *Verify) problem(state engine.State, file string, position int64, found, expected string) {
	v.report(Problem{State: state, File: file, Position: position, Found: found, Expected: expected})
}

// Path checks a file with those that belong to it, the folder of a partition, or a log directory. What is wrong with the
// files is reported, also that one of a partition cannot be read; an error is of listing, of a file that stands alone, or Stop's.
func (v *Verify) Path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return v.dir(path)
	}
	kind, base := KindOf(path)
	switch kind {
	case Unknown:
		return fmt.Errorf("%s: not the name of a segment, index, snapshot, checkpoint or any other file of a log directory", path)
	case Batches, OffsetIndex, TimeIndex, TxnIndex, Guard:
		dir, name := filepath.Split(path)
		if base < 0 || filepath.Ext(name) == ".checkpoint" || isPassing(name) {
			return v.lone(path, base)
		}
		return v.log(filepath.Clean(dir), base)
	}
	return v.small(kind, path)
}

// dir checks a directory: one with segments is a partition's, any other holds such and checkpoints.
func (v *Verify) dir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if kind, base := KindOf(e.Name()); kind == Batches && base >= 0 && strings.HasSuffix(e.Name(), ".log") {
			return v.log(dir, -1)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, leaderEpochsName)); err == nil {
		return v.log(dir, -1)
	}
	return v.root(dir, entries)
}

// root checks a log directory: the files at its root, then each partition.
func (v *Verify) root(dir string, entries []os.DirEntry) error {
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch kind, _ := KindOf(path); {
		case e.Name() == engine.Unfinished:
			v.problem(BackupUnfinished, path, -1, "a file", "none: a backup that is made")
		case e.IsDir() && isLog(e.Name()):
			errs = append(errs, v.log(path, -1))
		case e.IsDir():
			v.folder(path)
		case !isPassing(path) && kind != Unknown && kind != Text && kind != Batches:
			errs = append(errs, v.small(kind, path))
		default:
			v.leftAtRoot(path, kind)
		}
	}
	v.checkpoints(dir, entries)
	v.topicIDs(dir, entries)
	return errors.Join(errs...)
}

// log checks a partition. That a file of it cannot be read is a problem of it, not of those after it.
func (v *Verify) log(dir string, only int64) error {
	err := v.partition(dir, only)
	if bad := (*os.PathError)(nil); errors.As(err, &bad) {
		v.problem(engine.Unreadable, bad.Path, -1, bad.Op+": "+bad.Err.Error(), "a file that can be read")
		return nil
	}
	return err
}

// small checks a file that stands alone.
func (v *Verify) small(kind Kind, path string) error {
	b, err := readFile(path)
	if err != nil {
		return err
	}
	v.Summary.Files++
	switch kind {
	case ProducerSnapshot:
		_, base := KindOf(path)
		v.loadSnapshot(path, base)
	case MetadataLog:
		v.metadataLog(path, b)
	case MetadataSnapshot:
		if _, err := metadataRecords(b); err != nil {
			v.problem(MetadataSnapshotDamaged, path, 0, err.Error(), "a metadata snapshot")
		}
	default:
		if _, err := smallItems(kind, path, b); err != nil {
			v.problem(stateOf[kind], path, -1, err.Error(), "")
		}
	}
	return nil
}

func (v *Verify) metadataLog(path string, b []byte) {
	bad, proven, err := frames(b, func(f frame) error {
		_, err := f.item()
		return err
	})
	if err == nil {
		return
	}
	p := Problem{State: MetadataLogDamaged, File: path, Position: int64(bad), Found: err.Error(), Expected: "a frame", Torn: !proven && bad > 0}
	if p.Torn {
		p.State = MetadataLogTorn
	}
	v.report(p)
}

// lone checks a file of batches that belongs to no log.
func (v *Verify) lone(path string, base int64) error {
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	v.Summary.Files++
	return Scan(f, size, base, func(s Span) error {
		if s.Err != nil {
			v.problem(engine.RottenBatch, path, s.Position, s.Err.Error(), "a batch")
		}
		return v.count(s)
	})
}

// count accounts for a span, and asks whether to go on.
func (v *Verify) count(s Span) error {
	if v.Progress != nil {
		v.Progress(s.End - s.Position)
	}
	if s.Batch != nil && s.Err == nil {
		v.Summary.Batches++
		v.Summary.Records += int64(s.Batch.Count())
		v.Summary.Bytes += s.End - s.Position
	}
	if v.Stop != nil {
		return v.Stop()
	}
	return nil
}

func open(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
