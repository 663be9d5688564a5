package logfile

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// A loss is a place of a log where batches are not what they were, or not there.
type loss struct {
	state engine.State
	found string
	seg   int   // number of the segment
	whole bool  // the whole segment is not to be used: its offsets are in another one
	hole  bool  // nothing is bad in it, but offsets before it are missing
	at    int64 // bytes of its file, [at, end)
	end   int64
	from  int64 // offsets that are lost, [from, to); to is -1 where the log ends with it
	to    int64
	epoch int32 // leader epoch of the batch before, -1 where there is none
}

// survey is what a repair has to know of a log.
type survey struct {
	dir    string
	bases  []int64
	sizes  []int64
	ends   []int64 // of what is not left to the next start to cut off, in each
	losses []loss
	runs   []engine.StagedRun      // what a killed broker has beside the segments
	epochs checkpoint.LeaderEpochs // as the good batches have them
	end    int64                   // offset after the last good batch
}

func (s *survey) path(i int) string { return logName(s.dir, s.bases[i], ".log") }

// surveyor walks the segments of a log and finds its losses: what Verify has told as damage, by file and position. It ends
// at what it has not, which the next start cuts off.
type surveyor struct {
	*survey
	damage map[string]map[int64]Problem // by file and position; -1 is the file as a whole
	open   []int                        // losses whose end is not known yet
	next   int64
	epoch  int32
	torn   bool
}

// surveyOf reads a log.
func surveyOf(fsys fs.FS, dir string, problems []Problem, progress func(int64)) (*survey, error) {
	w := &surveyor{survey: &survey{dir: dir}, damage: map[string]map[int64]Problem{}, epoch: -1}
	for _, p := range problems {
		if p.folder != dir || p.Torn {
			continue
		}
		if w.damage[p.File] == nil {
			w.damage[p.File] = map[int64]Problem{}
		}
		w.damage[p.File][p.Position] = p
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if kind, base := KindOf(e.Name()); kind == Batches && base >= 0 && filepath.Ext(e.Name()) == ".log" {
			w.bases = append(w.bases, base)
		}
	}
	slices.Sort(w.bases)
	for i := range w.bases {
		if err := w.segment(fsys, i, progress); err != nil {
			return nil, err
		}
	}
	for _, i := range w.open {
		w.losses[i].to = -1
	}
	w.end = w.next
	return w.survey, nil
}

func (w *surveyor) segment(fsys fs.FS, i int, progress func(int64)) (err error) {
	f, err := fsys.Open(w.path(i), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	w.sizes, w.ends = append(w.sizes, size), append(w.ends, 0)
	base := w.bases[i]
	if i == 0 {
		w.next = base
	}
	whole, told := w.damage[w.path(i)][-1]
	switch {
	case w.torn:
		return nil
	case base < w.next && told:
		w.losses = append(w.losses, loss{state: whole.State, found: whole.Found, seg: i, whole: true, end: size, from: w.next, to: w.next, epoch: w.epoch})
		return nil
	case base > w.next:
		w.close(base)
		if told {
			w.losses = append(w.losses, loss{state: whole.State, found: whole.Found, seg: i, hole: true, from: w.next, to: base, epoch: w.epoch})
		}
		w.next = base
	}
	limit := int64(math.MaxInt64)
	if i+1 < len(w.bases) {
		limit = w.bases[i+1]
	}
	return scanBelow(f, size, base, limit, func(s Span) error {
		if !w.torn {
			w.span(i, s)
		}
		if progress != nil {
			progress(s.End - s.Position)
		}
		return nil
	})
}

func (w *surveyor) span(i int, s Span) {
	p, told := w.damage[w.path(i)][s.Position]
	switch good := s.Err == nil && s.Batch != nil; {
	case told && p.Position >= 0:
		w.ends[i] = s.End
		w.open = append(w.open, len(w.losses))
		w.losses = append(w.losses, loss{state: p.State, found: p.Found, seg: i, at: s.Position, end: s.End, from: w.next, epoch: w.epoch})
	case !good:
		w.torn = true
	default:
		w.ends[i] = s.End
		w.close(s.Batch.BaseOffset())
		w.next = max(w.next, s.Batch.LastOffset()+1)
		if e := s.Batch.PartitionLeaderEpoch(); e > w.epoch {
			w.epochs.Assign(e, s.Batch.BaseOffset())
			w.epoch = e
		}
	}
}

// close says where the offsets go on. Of several bad places in a row the first is answerable for what is lost.
func (w *surveyor) close(next int64) {
	for n, i := range w.open {
		w.losses[i].to = next
		if n > 0 {
			w.losses[i].from = next
		}
	}
	w.open = w.open[:0]
}

// fits reports whether an empty batch of the offsets can stand in the segment that starts at base.
func (l loss) fits(base int64) bool { return l.to-1-base <= math.MaxInt32 }
