package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// guarding says where the guard of a log was last written. Log.settling owns it.
type guarding struct {
	known bool
	base  int64 // of the segment
	start int64 // of the piece in the last slot: the same one takes its place
	slot  int64 // the number of that slot
}

// writeGuards writes pieces of the log that were flushed to the guards beside their segments. They are not flushed, and where there
// is no room for them they are left out: nobody counts on them. The caller holds settling.
func (l *Log) writeGuards(pieces []guard.Of) error {
	for len(pieces) > 0 {
		base, n := pieces[0].Base, 1
		for n < len(pieces) && pieces[n].Base == base {
			n++
		}
		if err := l.writeGuard(base, pieces[:n]); err != nil && final(err) {
			return err
		} else if err != nil {
			l.e.log.Warn("batches are left without a guard", "partition", l.name, "segment", base, "error", err)
		}
		pieces = pieces[n:]
	}
	return nil
}

func (l *Log) writeGuard(base int64, of []guard.Of) error {
	pieces := make([]guard.Piece, len(of))
	for i := range of {
		pieces[i] = of[i].Piece
	}
	g := &l.guarding
	slot := int64(-1)
	if g.known && g.base == base {
		slot = g.slot
		if pieces[0].Start != g.start {
			slot++
		}
	}
	slot, err := guard.Write(l.e.fs, l.dir, base, slot, pieces)
	last := len(pieces) - 1
	*g = guarding{err == nil, base, pieces[last].Start, slot + int64(last)}
	return err
}

// inView leaves the pieces of segments that are gone out.
func (l *Log) inView(pieces []guard.Of) []guard.Of {
	segs := *l.view.Load()
	return slices.DeleteFunc(pieces, func(p guard.Of) bool {
		_, found := slices.BinarySearchFunc(segs, p.Base, compareBase)
		return !found
	})
}

// cutGuard removes what the guard of a segment says of what lies behind a position, for good: it is called before the segment is cut.
// g is the guard, and f reads the segment. The log is locked, and the caller holds settling.
func (l *Log) cutGuard(s *segment.Segment, f fs.File, g guard.Guard, position int64) error {
	l.mu.tally.Cut(s.Base, position)
	l.guarding = guarding{}
	if l.w.planted.stale {
		return nil
	}
	_, err := guard.Cut(l.e.fs, l.dir, s.Base, g, position)
	if err == nil {
		l.sumAgain(s, f, g, position)
	}
	if err == nil || final(err) {
		return err
	}
	if err := l.e.removeIfThere(guard.Name(l.dir, s.Base)); err != nil { // it cannot be written
		return err
	}
	return l.e.fs.SyncDir(l.dir)
}

// sumAgainBytes bounds what is read for a piece that is cut: no piece of ours is larger but by one batch.
const sumAgainBytes = 8 << 20

// sumAgain takes what is left of a piece that is cut into the log's tally again, where that piece is still what it was.
func (l *Log) sumAgain(s *segment.Segment, f fs.File, g guard.Guard, position int64) {
	from, to := int64(0), position
	for _, p := range g.Pieces {
		if p.End <= position {
			from = p.End
		} else if p.Start < position {
			to = p.End
		}
	}
	if to-from > sumAgainBytes {
		return
	}
	check := guard.NewCheck(g)
	err := error(nil)
	read := segment.Headers(f, from, to, func(p segment.Place, b record.Batch) bool {
		err = check.Note(p.Position, b, p.Size)
		return err == nil
	})
	if errors.Join(err, read) != nil {
		return // it is left without a guard: that it rotted is not for a truncation to tell
	}
	_ = segment.Headers(f, from, position, func(p segment.Place, b record.Batch) bool {
		l.mu.tally.Note(s.Base, p.Position, b, p.Size)
		return true
	})
}

// removeGuards removes the guards of segments that are about to go, durably: one that a crash leaves says that its segment was lost, or speaks
// of another one of that base offset.
func (l *Log) removeGuards(segs []*segment.Segment) error {
	if len(segs) == 0 {
		return nil
	}
	var errs []error
	for _, s := range segs {
		errs = append(errs, l.e.removeIfThere(guard.Name(l.dir, s.Base)))
	}
	return errors.Join(append(errs, l.e.fs.SyncDir(l.dir))...)
}

// readGuard reads the guard of a segment that is being recovered. One that cannot be read, for a moment perhaps, is not one that is not
// there: what it says was flushed might be cut.
func (r *recovering) readGuard(base int64) (guard.Guard, error) {
	g, err := guard.Read(r.e.fs, r.dir, base)
	if err != nil {
		return g, fmt.Errorf("%w (where it stays so, remove it)", err)
	}
	if g.Bad > 0 {
		r.meet(GuardDamaged, "file", guard.Name(r.dir, base), "slots", g.Slots, "bad", g.Bad)
	}
	return g, nil
}

// lostNewest finds a guard behind the last segment, or in a log without any: the segment that it is of was flushed, and is gone. The guard of one that goes as it
// should goes before it, and is made after the segment has its name for good, so that no crash explains it.
func (r *recovering) lostNewest() error {
	for _, name := range r.indexes {
		base, _, _ := splitName(name)
		if n := len(r.files); !isGuard(name) || n > 0 && base < r.files[n-1] {
			continue
		}
		if _, ok := r.sizes[base]; ok {
			continue
		}
		g, err := guard.Read(r.e.fs, r.dir, base)
		if err != nil {
			return err
		}
		if g.End() > 0 {
			return &corruption{SegmentLost, fmt.Errorf("%s is gone, and %d bytes of it were flushed (where nothing is missing, remove %s)",
				segment.Name(r.dir, base, segment.LogSuffix), g.End(), name)}
		}
	}
	return nil
}

// guardedFrom names a guard of the segments from number i on, or "": it was written after everything before was flushed.
func (r *recovering) guardedFrom(i int) (string, error) {
	for _, base := range r.files[i:] {
		if g, err := guard.Read(r.e.fs, r.dir, base); err != nil || g.End() > 0 {
			return guard.Name(r.dir, base), err
		}
	}
	return "", nil
}

// isGuard reports whether a file in a log's folder is a guard by its name.
func isGuard(name string) bool {
	_, kind, ok := splitName(name)
	return ok && kind == guard.Suffix
}

// unreadable reports whether err is that of a read, and not of what was read.
func unreadable(err error) bool {
	op := (*os.PathError)(nil)
	return errors.As(err, &op) || errors.Is(err, segment.ErrShortRead)
}

// compareGuard decides what it means that the scan of a segment ended at a position, because of bad, or at the end of the file, which
// has a size:
//
//	a piece is not what it was              guard-differs
//	the file ends before the guard does     end-below-guard
//	a bad batch before the guard's end      corrupt-guarded
//	else                                    nothing: what judge says
func (r *recovering) compareGuard(s *segment.Segment, g guard.Guard, at, size int64, bad error) error {
	differs := (*guard.Mismatch)(nil)
	switch {
	case errors.As(bad, &differs):
		return differsFrom(s, bad)
	case size < g.End():
		return &corruption{EndBelowGuard, fmt.Errorf("%s ends at position %d, and up to %d it was flushed (%s)", s.Path(), size, g.End(), rightFile(s))}
	case at < g.End():
		return &corruption{CorruptGuarded, fmt.Errorf("%s at position %d: %w, and up to %d it was flushed", s.Path(), at, bad, g.End())}
	}
	return nil
}

func differsFrom(s *segment.Segment, why error) error {
	return &corruption{GuardDiffers, fmt.Errorf("%s: %w (%s)", s.Path(), why, rightFile(s))}
}

// rightFile says what to do where it is the guard that is wrong.
func rightFile(s *segment.Segment) string {
	return "where that is the right file, remove " + fmt.Sprintf("%020d%s", s.Base, guard.Suffix)
}
