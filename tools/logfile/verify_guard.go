package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
)

// readGuard reads the guard of a segment.
func (p *partition) readGuard(base int64) {
	g, err := guard.Read(fs.OS(), p.dir, base)
	path := guard.Name(p.dir, base)
	switch {
	case err != nil:
		p.problem(engine.Unreadable, path, -1, err.Error(), "")
	case g.Bad > 0:
		p.problem(engine.GuardDamaged, path, -1, fmt.Sprintf("%d of %s torn or garbage", g.Bad, count(g.Slots, "slot", "slots")), "")
	}
	if g.Slots > 0 {
		p.Summary.Files++
	}
	p.guard, p.guards = g, guard.NewCheck(g)
}

// compareGuard holds a good batch against the guard.
func (p *partition) compareGuard(path string, s Span) {
	differs := (*guard.Mismatch)(nil)
	if !errors.As(p.guards.Note(s.Position, s.Batch, len(s.Batch)), &differs) {
		return
	}
	want, got := differs.Want, differs.Got
	p.report(Problem{State: engine.GuardDiffers, File: path, Position: want.Start, folder: p.dir,
		Found: fmt.Sprintf("%s from offset %d on, up to position %d, with the sum %08x", count(int64(got.Batches), "batch", "batches"), got.First, got.End, got.Sum),
		Expected: fmt.Sprintf("%s from offset %d on, up to position %d, with the sum %08x, as %s says", count(int64(want.Batches), "batch", "batches"),
			want.First, want.End, want.Sum, filepath.Base(guard.Name(p.dir, p.base)))})
}

// beyond are what a bad place is where the next start comes to it, and no guard says that it was flushed.
var beyond = []engine.State{engine.HoledTail, engine.TornTail, engine.EndBelowPoint, engine.DirtyAfterClean}

// guarded reports whether a start that comes to a bad place finds that the guard says it was flushed.
func (p *partition) guarded(state engine.State, s Span) bool {
	scanned := slices.Contains(beyond, state) || state == engine.CorruptBatch && p.unknown
	return scanned && s.Position < p.guard.End()
}

// endBelowGuard tells of a segment that ends before what its guard says was flushed.
func (p *partition) endBelowGuard(path string, size int64) {
	if end := p.guard.End(); size < end {
		p.hole = true
		p.report(Problem{State: engine.EndBelowGuard, File: path, Position: size, Found: "the end of the file", folder: p.dir,
			Expected: fmt.Sprintf("position %d, up to which %s says that it was flushed", end, filepath.Base(guard.Name(p.dir, p.base)))})
	}
}

// orphan tells of a guard without its segment. Behind the last one, or where there is none, it says that the newest segment is lost.
func (p *partition) orphan(path string, base int64, bases []int64) {
	log := p.name(base, ".log")
	if len(bases) == 0 || base > bases[len(bases)-1] {
		switch g, err := guard.Read(fs.OS(), p.dir, base); {
		case err != nil:
			p.problem(engine.Unreadable, path, -1, err.Error(), "")
			return
		case g.End() > 0:
			if _, err := os.Stat(log); errors.Is(err, os.ErrNotExist) { // a broker that is at it may have made it since
				p.lost = true
				p.report(Problem{State: engine.SegmentLost, File: path, Position: -1, Found: "a guard of a segment that is gone", folder: p.dir,
					Expected: fmt.Sprintf("%s, of which %d bytes were flushed", filepath.Base(log), g.End())})
			}
			return
		}
	}
	p.problem(engine.GuardOrphan, path, -1, "a guard", filepath.Base(log)+" beside it")
}

// guardedFrom reports whether a segment from a base offset on has a guard: it was written after everything before was flushed. One that cannot
// be read is told where its segment is.
func (p *partition) guardedFrom(base int64) bool {
	return slices.ContainsFunc(p.bases, func(b int64) bool {
		if b < base {
			return false
		}
		g, err := guard.Read(fs.OS(), p.dir, b)
		return err == nil && g.End() > 0
	})
}
