package logfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
)

// Choice is what is done about batches that are damaged or lost, and take their log offline.
type Choice uint8

const (
	Leave Choice = iota
	// Cut ends the log before the first of them. All that is behind it is lost, too.
	Cut
	// Skip puts an empty batch of their offsets in their place, as Kafka's cleaner leaves where it has removed all records:
	// offsets stay what they are, and only what is damaged is lost. A transaction whose marker is among it stays open.
	Skip
)

// Repair plans and does what a start does not, because a person has to decide it. Use: hold Lock(Root(path)), Plan, show
// it, Apply. Nothing is removed: all that goes is copied to Keep before anything is changed, and every change is durable
// before the next. After a crash in its midst call it again.
//
//	row                                        what is done
//	corrupt-batch, corrupt-flushed,            by Choice
//	rotten-batch, bad-records, segment-lost,
//	segment-overlap
//	index-damaged, timeindex-damaged           made again
//	epochs-damaged                             made again
//	snapshot-damaged, snapshot-disagrees       set aside: producers are read from the one before and the log
//	metadata-damaged, checkpoint-damaged       set aside: made again by the next start
//	foreign-file, foreign-folder               set aside where Foreign says so
//	torn-kept                                  set aside where Torn says so
//	other problems                             nothing: the plan says so
//	torn, notes                                left to the next start
//
// What a killed broker has staged for a segment that is written anew, or a start has kept since in a .redo- file, goes into it: a start finds its
// place by the position, which changes.
type Repair struct {
	Choice  Choice
	Records bool // walk the records of batches, too
	Foreign bool
	Torn    bool
	// Keep is the directory for what is removed, "" for Root(path) with ".repair-" and the time behind it. It must not lie
	// in the log directory: Kafka stops at folders that it does not know.
	Keep string
	Now  time.Time
	// FS is what is changed; nil is the host's. The checks before read the host's in any case.
	FS fs.FS
	// Progress and Stop are those of Verify. Stop ends the planning, and an Apply before its first change.
	Progress func(bytes int64)
	Stop     func() error
}

// Plan is what a repair would do.
type Plan struct {
	Root, Keep string
	Steps      []Step
	// Undecided are problems that Choice leaves, Beyond those that no choice repairs.
	Undecided, Beyond []Problem
	// Healed counts what the next start heals by itself.
	Healed int64

	r        *Repair
	unmarked bool
	gone     map[string]bool // files that are set aside
}

// A Step is one change. It prints itself.
type Step struct {
	text string
	// keep copies what goes; change is called when all steps' copies are durable.
	keep, change func(w *work) error
}

func (s Step) String() string { return s.text }

// Root returns the log directory that a path is, or, for the folder of a log, lies in.
func Root(path string) (root string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if isLog(filepath.Base(path)) && slices.ContainsFunc(entries, func(e os.DirEntry) bool { _, base := KindOf(e.Name()); return base >= 0 }) {
		return filepath.Dir(path), nil
	}
	return path, nil
}

// Plan finds out what is to be done about a log directory or the folder of a log. It changes nothing.
func (r *Repair) Plan(path string) (*Plan, error) {
	root, err := Root(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	var problems []Problem
	v := Verify{Records: r.Records, Progress: r.Progress, Stop: r.Stop, Report: func(p Problem) { problems = append(problems, p) }}
	if err := v.Path(path); err != nil {
		return nil, err
	}
	return r.plan(root, problems)
}

func (r *Repair) plan(root string, problems []Problem) (*Plan, error) {
	if r.FS == nil {
		r.FS = fs.OS()
	}
	p := &Plan{Root: root, Keep: r.Keep, r: r}
	if p.Keep == "" {
		p.Keep = root + ".repair-" + r.Now.UTC().Format("20060102T150405Z")
	}
	if rel, err := filepath.Rel(root, p.Keep); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return nil, fmt.Errorf("%s lies in the log directory %s, where Kafka would stop at it", p.Keep, root)
	}
	if _, err := r.FS.Stat(p.Keep); !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%s is there already: what is kept goes to a new directory", p.Keep), err)
	}
	damaged := map[string][]Problem{} // by folder
	done := map[string]bool{}
	for _, x := range problems {
		p.sort(x, damaged, done)
	}
	for _, dir := range sortedNames(damaged) {
		if err := p.log(dir, damaged[dir]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// chosen are the states that Choice is about.
var chosen = []engine.State{engine.CorruptBatch, engine.CorruptFlushed, engine.CorruptGuarded, engine.RottenBatch, engine.BadRecords,
	engine.SegmentLost, engine.SegmentOverlap}

// disputed are states of a file that is whole by itself, and not what its guard says. Where somebody chooses, the file is believed.
var disputed = []engine.State{engine.GuardDiffers, engine.EndBelowGuard}

// healed are states that the next start heals, too, and nobody has to decide.
var healed = []engine.State{engine.DirtyAfterClean, engine.EndBelowPoint, engine.PointWithinBatch}

// sort finds the step for a problem, or leaves it to others.
func (p *Plan) sort(x Problem, damaged map[string][]Problem, done map[string]bool) {
	switch s := x.State; {
	case x.Torn || RowOf(s).Harm == engine.Torn || slices.Contains(healed, s):
		p.Healed++
	case slices.Contains(disputed, s) && p.r.Choice != Leave:
		_, base := KindOf(x.File)
		p.unmark()
		p.aside(Problem{State: s, File: guard.Name(filepath.Dir(x.File), base)})
	case (slices.Contains(chosen, s) || slices.Contains(disputed, s)) && p.r.Choice == Leave:
		p.Undecided = append(p.Undecided, x)
	case slices.Contains(chosen, s) && x.folder == "":
		p.Beyond = append(p.Beyond, x) // a file of batches that is no log's
	case slices.Contains(chosen, s):
		damaged[x.folder] = append(damaged[x.folder], x)
	case s == engine.ForeignFile || s == engine.ForeignFolder:
		if p.r.Foreign {
			p.aside(x)
		}
	case s == engine.TornKept:
		if p.r.Torn {
			p.aside(x)
		}
	case x.Note():
		p.Healed++
	case s == engine.IndexDamaged || s == engine.TimeIndexDamaged:
		if log := strings.TrimSuffix(x.File, filepath.Ext(x.File)) + ".log"; !done[log] {
			done[log] = true
			p.Steps = append(p.Steps, indexStep(x, log))
		}
	case s == engine.EpochsDamaged:
		p.Steps = append(p.Steps, epochsStep(x))
	case s == engine.SnapshotDamaged, s == engine.SnapshotDisagrees, s == engine.MetadataDamaged, s == engine.CheckpointDamaged:
		p.aside(x)
	default:
		p.Beyond = append(p.Beyond, x)
	}
}

// aside is the step that moves a file, or a folder, to where what is removed is kept.
func (p *Plan) aside(x Problem) {
	if p.gone[x.File] {
		return
	}
	if p.gone == nil {
		p.gone = map[string]bool{}
	}
	p.gone[x.File] = true
	p.Steps = append(p.Steps, Step{
		text:   fmt.Sprintf("set %s aside: %s", x.File, x.State),
		keep:   func(w *work) error { return w.keepAll(x.File) },
		change: func(w *work) error { return w.remove(x.File) },
	})
}

func indexStep(x Problem, log string) Step {
	return Step{
		text:   fmt.Sprintf("make the indexes of %s again: %s", log, x.State),
		keep:   func(w *work) error { return w.keepIndexes(log) },
		change: func(w *work) error { return w.rebuild(log) },
	}
}

func epochsStep(x Problem) Step {
	dir := filepath.Dir(x.File)
	return Step{
		text: fmt.Sprintf("make %s again from the batches: %s", x.File, x.State),
		keep: func(w *work) error { return w.keepIfThere(x.File) },
		change: func(w *work) error {
			s, err := surveyOf(w.fs, dir, nil, nil)
			if err != nil {
				return err
			}
			return s.epochs.Write(w.fs, dir)
		},
	}
}

// log adds the steps for a log that has lost batches.
func (p *Plan) log(dir string, problems []Problem) error {
	s, err := surveyOf(p.r.FS, dir, problems, p.r.Progress)
	if err != nil {
		return err
	}
	for _, x := range problems {
		if isGuard(x.File) { // of the newest segment, which is lost: the log ends with the one before it
			p.unmark()
			p.aside(x)
			if len(s.bases) > 0 {
				p.snapshotsAside(s, s.end)
				p.lowerPoint(dir, s.end)
			} // else it goes on at the recovery point, so that no offset is given again
		}
	}
	if len(s.losses) == 0 {
		return nil
	}
	p.unmark()
	if _, err := p.r.FS.Stat(filepath.Join(p.Root, checkpoint.CleanShutdownName)); err != nil {
		topic, partition, _ := partitionOf(dir)
		runs, err := engine.StagedRuns(p.r.FS, p.Root)
		if err != nil {
			return err
		}
		s.runs = runs[engine.Name{Topic: topic, Partition: partition}]
	}
	kept, err := engine.KeptRuns(p.r.FS, dir)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, kept...)
	slices.SortStableFunc(s.runs, func(a, b engine.StagedRun) int {
		return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(a.Position, b.Position))
	})
	if p.r.Choice == Cut {
		p.cut(s, s.losses[0])
	} else {
		p.skip(s)
	}
	return nil
}

// isGuard reports whether a file is a guard by its name.
func isGuard(path string) bool {
	kind, _ := KindOf(filepath.Base(path))
	return kind == Guard
}

// unmark plans to remove the mark of an orderly stop, so that the next start looks at what was changed.
func (p *Plan) unmark() {
	mark := filepath.Join(p.Root, checkpoint.CleanShutdownName)
	if _, err := p.r.FS.Stat(mark); err != nil || p.unmarked {
		return
	}
	p.unmarked = true
	p.Steps = append(p.Steps, Step{
		text:   fmt.Sprintf("remove %s, so that the next start looks at the logs", mark),
		keep:   func(w *work) error { return w.keepIfThere(mark) },
		change: func(w *work) error { return checkpoint.RemoveCleanShutdown(w.fs, p.Root) },
	})
}
