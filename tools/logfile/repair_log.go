package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
)

// logName returns the path of a file of a segment.
func logName(dir string, base int64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", base, suffix))
}

// cut plans to end a log before a loss. What is bad goes last: after a crash it still tells that the log is to be cut.
func (p *Plan) cut(s *survey, l loss) {
	first := l.seg // of those that go as a whole
	within := !l.whole && !l.hole && l.at > 0 || l.seg == 0
	if within {
		first++
	}
	for i := len(s.bases) - 1; i >= first; i-- { // from the end, so that a crash leaves no hole
		text := fmt.Sprintf("set the segment %s aside: it lies behind the cut", s.path(i))
		if i == first && !within {
			text = fmt.Sprintf("end the log at offset %d, and set the segment %s aside: %s, %s%s", l.from, s.path(i), l.state, l.found, s.lostFrom(l.from))
		}
		p.segmentAside(s, i, text)
	}
	if within {
		p.cutFile(s, l)
	}
	p.stagedAside(s)
	p.snapshotsAside(s, l.from)
	p.lowerPoint(s.dir, l.from)
}

func (p *Plan) cutFile(s *survey, l loss) {
	path, size := s.path(l.seg), s.sizes[l.seg]
	p.Steps = append(p.Steps, Step{
		text: fmt.Sprintf("cut %s at position %d, offset %d, and take the %s behind it off: %s, %s%s", path, l.at, l.from,
			count(size-l.at, "byte", "bytes"), l.state, l.found, s.lostFrom(l.from)),
		keep:   func(w *work) error { return errors.Join(w.keepRange(path, l.at, size), w.keepIndexes(path)) },
		change: func(w *work) error { return w.rewrite(path, []part{{at: 0, end: l.at}}) },
	})
}

// segmentAside plans to move the files of a segment to where what is removed is kept.
func (p *Plan) segmentAside(s *survey, i int, text string) {
	var files []string
	for _, suffix := range []string{guard.Suffix, ".log", ".index", ".timeindex", ".txnindex"} {
		files = append(files, logName(s.dir, s.bases[i], suffix))
	}
	p.Steps = append(p.Steps, Step{text: text,
		keep: func(w *work) error {
			for _, f := range files {
				if err := w.keepIfThere(f); err != nil {
					return err
				}
			}
			return nil
		},
		change: func(w *work) error {
			// The guard first, and durably: one that a crash leaves says that its segment is lost.
			if err := w.remove(files[0]); err != nil {
				return err
			}
			return w.remove(files[1:]...)
		},
	})
}

// snapshotsAside plans to move the producer snapshots that lie behind the new end of the log.
func (p *Plan) snapshotsAside(s *survey, end int64) {
	entries, err := p.r.FS.ReadDir(s.dir)
	for _, e := range entries {
		if kind, offset := KindOf(e.Name()); err == nil && kind == ProducerSnapshot && offset > end && !isPassing(e.Name()) {
			p.aside(Problem{State: engine.SnapshotStray, File: filepath.Join(s.dir, e.Name())})
		}
	}
}

// lowerPoint plans to take the recovery point to the new end of the log.
func (p *Plan) lowerPoint(dir string, end int64) {
	topic, partition, _ := partitionOf(dir)
	path := filepath.Join(p.Root, checkpoint.RecoveryPoints)
	p.Steps = append(p.Steps, Step{
		text: fmt.Sprintf("lower the recovery point of %s to %d where it is higher", filepath.Base(dir), end),
		keep: func(w *work) error { return w.keepIfThere(path) },
		change: func(w *work) error {
			offsets, err := checkpoint.ReadOffsets(w.fs, path)
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, checkpoint.ErrCorrupt) {
				return nil // as if it were 0
			}
			for i, o := range offsets {
				if o.Topic == topic && o.Partition == partition && o.Offset > end {
					offsets[i].Offset = end
					return errors.Join(err, checkpoint.WriteOffsets(w.fs, path, offsets))
				}
			}
			return err
		},
	})
}

// A part of a file that is written anew: bytes of the old one, or of another, or an empty batch.
type part struct {
	at, end int64
	empty   record.Batch
	file    string // that at and end are of, if it is another one
}

// skip plans to put empty batches in the place of losses.
func (p *Plan) skip(s *survey) {
	parts, text := make([][]part, len(s.bases)), make([]string, len(s.bases))
	gone := make([]bool, len(s.bases))
	at := make([]int64, len(s.bases)) // up to where parts have the file
	ended := false
	for _, l := range s.losses {
		if ended {
			break
		}
		i := l.seg
		switch {
		case l.to < 0: // nothing is behind it
			p.cut(s, l)
			s.sizes[i] = l.at
			ended = true
			continue
		case l.whole:
			gone[i] = true
			p.segmentAside(s, i, fmt.Sprintf("set the segment %s aside: %s, %s", s.path(i), l.state, l.found))
			continue
		case l.hole:
			if i--; !l.fits(s.bases[i]) {
				p.Beyond = append(p.Beyond, Problem{State: l.state, File: s.path(l.seg), Position: -1, Found: l.found, Expected: "less offsets than a segment can have"})
				continue
			}
			l.at, l.end = s.sizes[i], s.sizes[i]
		}
		parts[i] = append(parts[i], part{at: at[i], end: l.at})
		at[i] = l.end
		what := fmt.Sprintf("\n     take %s at position %d out: %s, %s", count(l.end-l.at, "byte", "bytes"), l.at, l.state, l.found)
		if l.hole {
			what = fmt.Sprintf("\n     add to it: %s, %s", l.state, l.found)
		}
		if l.from < l.to {
			parts[i] = append(parts[i], part{empty: emptyBatch(l.from, l.to, l.epoch)})
			what += fmt.Sprintf("; an empty batch stands for %s, lost", offsetRange(l.from, l.to))
		}
		text[i] += what
	}
	for i := range parts {
		if len(parts[i]) == 0 || gone[i] {
			continue
		}
		end := s.sizes[i]
		var staged []part
		if !ended {
			staged = s.stagedParts(i)
		}
		if len(staged) > 0 {
			end = s.ends[i] // what is behind it is staged in full
		}
		all := append(parts[i], part{at: at[i], end: end})
		for _, x := range staged {
			text[i] += fmt.Sprintf("\n     add the %s that were staged for it", count(x.end-x.at, "byte", "bytes"))
			all = append(all, x)
		}
		p.rewriteStep(s, i, all, text[i])
		for _, r := range s.runs { // which are in the segment now, or are of a place that it has no more
			if p.kept(r) && r.Base == s.bases[i] && !ended {
				p.aside(Problem{State: engine.TornKept, File: r.File})
			}
		}
	}
}

// kept reports whether a run is in a side file of its own.
func (p *Plan) kept(r engine.StagedRun) bool { return filepath.Dir(r.File) != p.Root }

// stagedParts returns what the next start would add to a segment. It knows the place by the position in the file, which a
// repair changes.
func (s *survey) stagedParts(i int) (parts []part) {
	end := s.ends[i]
	for _, r := range s.runs { // ascending
		if r.Base == s.bases[i] && r.Position <= end && end < r.Position+r.Size {
			parts = append(parts, part{at: r.At + end - r.Position, end: r.At + r.Size, file: r.File})
			end = r.Position + r.Size
		}
	}
	return parts
}

// stagedAside plans to keep what was staged for a log that is cut: it lies behind the cut.
func (p *Plan) stagedAside(s *survey) {
	for _, r := range s.runs {
		if p.kept(r) {
			p.aside(Problem{State: engine.TornKept, File: r.File})
			continue
		}
		path := logName(s.dir, r.Base, ".log")
		p.Steps = append(p.Steps, Step{
			text: fmt.Sprintf("keep the %s that were staged for %s at position %d", count(r.Size, "byte", "bytes"), path, r.Position),
			keep: func(w *work) error {
				name, err := w.kept(path)
				if err != nil {
					return err
				}
				return w.write(fmt.Sprintf("%s.staged-%d", name, r.Position), func(to fs.File) error {
					return w.copy(to, 0, filepath.Join(p.Root, engine.StageName), r.At, r.At+r.Size)
				})
			},
			change: func(*work) error { return nil },
		})
	}
}

func (p *Plan) rewriteStep(s *survey, i int, parts []part, text string) {
	path := s.path(i)
	p.Steps = append(p.Steps, Step{
		text: fmt.Sprintf("write %s anew:%s", path, text),
		keep: func(w *work) error {
			at := int64(0)
			for _, x := range parts {
				if x.empty == nil && x.file == "" {
					if err := w.keepRange(path, at, x.at); err != nil {
						return err
					}
					at = x.end
				}
			}
			if err := w.keepRange(path, at, s.sizes[i]); err != nil {
				return err
			}
			return w.keepIndexes(path)
		},
		change: func(w *work) error { return w.rewrite(path, parts) },
	})
}

// lostFrom says what is lost with a cut at an offset.
func (s *survey) lostFrom(offset int64) string {
	if offset >= s.end {
		return ""
	}
	return "; with it " + offsetRange(offset, s.end) + " of the log are lost"
}

// offsetRange names the offsets [from, to).
func offsetRange(from, to int64) string {
	if to == from+1 {
		return fmt.Sprintf("offset %d", from)
	}
	return fmt.Sprintf("offsets %d to %d", from, to-1)
}

// emptyBatch returns a batch without records that has the offsets from to to: what Kafka's cleaner writes for a batch of
// which only the offsets are to stay.
func emptyBatch(from, to int64, epoch int32) record.Batch {
	return record.EmptyBatch(from, to-1, max(epoch, 0))
}
