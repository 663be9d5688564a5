package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"syscall"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
	"github.com/zurau/zurau/uring"
)

// scrubChunk is how much is read at once, and scrubActive where somebody may append to the file meanwhile: a file system may keep a
// direct write that grows a file waiting for a direct read of it.
const (
	scrubChunk  = 256 << 10
	scrubActive = 64 << 10
)

// A scrubReader reads a segment past the page cache, where the file system can, at the pace of a pass.
type scrubReader struct {
	f      fs.File
	mem    *uring.Buffer
	pace   *pacer
	chunk  int64
	start  int64 // position of what is in mem
	have   []byte
	direct bool
	read   int64 // so far
}

// openScrub opens a file for a scrub.
func (e *Engine) openScrub(name string, pace *pacer, chunk int64) (*scrubReader, error) {
	r := &scrubReader{pace: pace, chunk: chunk, direct: true}
	var err error
	if r.f, err = e.opt.FS.Open(name, os.O_RDONLY|fs.Direct); errors.Is(err, fs.ErrUnsupported) {
		r.direct = false
		r.f, err = e.opt.FS.Open(name, os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	if r.mem, err = uring.Alloc(int(chunk)); err != nil {
		return nil, errors.Join(err, r.f.Close())
	}
	return r, nil
}

func (r *scrubReader) close() {
	r.mem.Free()
	_ = r.f.Close() // it was read
}

// ReadAt implements io.ReaderAt.
func (r *scrubReader) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if pos := at + int64(n); pos < r.start || pos >= r.start+int64(len(r.have)) {
			if err := r.fill(pos); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], r.have[at+int64(n)-r.start:])
	}
	return n, nil
}

// fill reads the chunk that holds a position.
func (r *scrubReader) fill(at int64) error {
	r.start, r.have = at-at%r.chunk, nil
	if err := r.pace.wait(r.chunk); err != nil {
		return err
	}
	n, err := r.f.ReadAt(r.mem.Bytes(), r.start)
	if err == io.EOF {
		err = nil
	}
	if r.have = r.mem.Bytes()[:n]; err == nil && r.start+int64(n) <= at {
		err = io.EOF
	}
	r.read += int64(n)
	return err
}

// A finding is a place of a log where it is not what it was.
type finding struct {
	name     Name
	base     int64 // of the segment
	position int64 // of the first batch that is concerned
	state    State
	next     int64 // the least offset that that batch may have
}

func compareBase(s *segment.Segment, base int64) int { return cmp.Compare(s.Base, base) }

// scrubSegment checks what is flushed of a segment, and takes the log offline where it is not what it was. Of a sealed one it guards what
// has no guard. Its error is one of the pass, not of what is read.
func (e *Engine) scrubSegment(l *Log, s *segment.Segment, pace *pacer) error {
	cuts := l.cuts.Load()
	x, pieces, err := e.checkSegment(l, s, pace)
	switch {
	case x != nil:
		return e.confirm(l, s, x, cuts, pace)
	case err != nil:
		return err
	case len(pieces) > 0:
		return e.guardSealed(l, s, pieces, cuts)
	}
	return nil
}

// flushedOf returns up to which position a segment is flushed, and whether nothing more is appended to it.
func (l *Log) flushedOf(s *segment.Segment) (end int64, sealed bool) {
	switch f := l.flushed.Load(); {
	case f.seg == nil || s.Base > f.seg.Base:
		return 0, false
	case s == f.seg:
		return f.position, false
	}
	return s.Size(), true
}

// checkSegment reads what is flushed of a segment. It returns what it has found, and the pieces that have no guard.
func (e *Engine) checkSegment(l *Log, s *segment.Segment, pace *pacer) (*finding, []guard.Of, error) {
	g, blind := guard.Read(e.opt.FS, l.dir, s.Base) // before the look at what is flushed, which goes before it
	if blind != nil {
		e.scrubCannot(s, blind) // but for the checksums
	}
	end, sealed := l.flushedOf(s)
	if end == 0 {
		return nil, nil, pace.wait(0)
	}
	chunk := int64(scrubChunk)
	if !sealed {
		chunk = scrubActive
	}
	r, err := e.openScrub(s.Path(), pace, chunk)
	if errors.Is(err, os.ErrNotExist) && !s.Removed() { // a start that knew the log has not looked
		return &finding{name: l.name, base: s.Base, state: SegmentLost, next: s.Base}, nil, nil
	}
	if err != nil {
		e.scrubCannot(s, err)
		return nil, nil, nil
	}
	defer r.close()
	w := scrubWalk{s: s, next: s.Base, check: guard.NewCheck(g), rest: g.Pieces}
	at, bad := segment.Batches(r, 0, end, w.batch)
	e.scrub.read.Add(at)
	if bad == nil && blind == nil {
		return nil, w.missing.Take(), nil
	}
	if bad == nil {
		return nil, nil, nil
	}
	return w.found(l.name, at, bad, r)
}

// scrubCannot says that a segment, or its guard, could not be looked at, which is no finding: it may have gone, or no descriptor be left.
func (e *Engine) scrubCannot(s *segment.Segment, err error) {
	if !s.Removed() {
		e.log.Warn("the scrub passes over what it cannot read", "file", s.Path(), "error", err)
	}
}

// errBlind is that of a finding whose guard cannot be read: it is neither confirmed nor refuted.
var errBlind = errors.New("what is guarded cannot be read")

// A scrubWalk is what is known of the batches of a segment so far.
type scrubWalk struct {
	s       *segment.Segment
	next    int64
	check   *guard.Check
	rest    []guard.Piece // of the guard, not yet passed
	missing guard.Tally   // what no piece covers
}

func (w *scrubWalk) batch(at int64, b record.Batch) error {
	if b.BaseOffset() < w.next || b.LastOffset() < b.BaseOffset() || b.LastOffset() == math.MaxInt64 {
		return fmt.Errorf("batch of offsets %d to %d where %d or more belongs", b.BaseOffset(), b.LastOffset(), w.next)
	}
	if err := w.check.Note(at, b, b.Size()); err != nil {
		return err
	}
	for len(w.rest) > 0 && w.rest[0].End <= at {
		w.rest = w.rest[1:]
	}
	if len(w.rest) == 0 || at < w.rest[0].Start {
		w.missing.Note(w.s.Base, at, b, b.Size())
	}
	w.next = b.LastOffset() + 1
	return nil
}

// found tells what it means that a walk ended at a position. An error of the pass, not of what was read, is returned.
func (w *scrubWalk) found(n Name, at int64, bad error, r *scrubReader) (*finding, []guard.Of, error) {
	x := &finding{name: n, base: w.s.Base, position: at, next: w.next, state: CorruptBatch}
	var differs *guard.Mismatch
	var op *os.PathError
	var wrong *record.Error
	switch {
	case errors.As(bad, &differs):
		x.state, x.position, x.next = GuardDiffers, differs.Want.Start, w.s.Base
	case errors.As(bad, &op) && r.direct && errors.Is(bad, syscall.EINVAL): // a file system that opens what it does not read
		return nil, nil, nil
	case errors.As(bad, &op):
		x.state = Unreadable
	case r.pace.ctx.Err() != nil:
		return nil, nil, r.pace.ctx.Err()
	case errors.Is(bad, ErrClosed), errors.Is(bad, errMadeWay):
		return nil, nil, bad
	case errors.As(bad, &wrong):
		x.state = RottenBatch
	}
	return x, nil, nil
}

var errSound = errors.New("sound")

// wrongAt reads the place of a finding again, and returns what is wrong there now, or nil.
func (e *Engine) wrongAt(l *Log, s *segment.Segment, x *finding, pace *pacer) error {
	end, _ := l.flushedOf(s)
	if x.position >= end {
		return nil
	}
	r, err := e.openScrub(s.Path(), pace, scrubActive)
	if err != nil {
		return err
	}
	defer r.close()
	g, err := guard.Read(e.opt.FS, l.dir, s.Base)
	if err != nil && x.state == GuardDiffers {
		return fmt.Errorf("%s at position %d: %w: %w", s.Path(), x.position, errBlind, err)
	}
	g.Pieces = slices.DeleteFunc(g.Pieces, func(p guard.Piece) bool { return x.state == GuardDiffers && p.Start != x.position })
	if x.state == GuardDiffers && len(g.Pieces) == 0 {
		return nil // the guard is gone: nobody says that it was otherwise
	}
	w := scrubWalk{s: s, next: x.next, check: guard.NewCheck(g)}
	at, bad := segment.Batches(r, x.position, end, func(at int64, b record.Batch) error {
		if err := w.batch(at, b); err != nil {
			return err
		}
		if x.state != GuardDiffers || at+int64(b.Size()) >= g.End() {
			return errSound
		}
		return nil
	})
	if bad == nil || errors.Is(bad, errSound) {
		return nil
	}
	return fmt.Errorf("%s at position %d: %w", s.Path(), at, bad)
}

// confirm looks at a finding again, with nobody at the log's files: a truncation or a retention may have come between. What is still
// there takes the log offline.
func (e *Engine) confirm(l *Log, s *segment.Segment, x *finding, cuts int64, pace *pacer) error {
	bad, err := e.stillWrong(l, s, x, cuts, pace)
	if err != nil || bad == nil {
		return err
	}
	if x.state == GuardDiffers {
		bad = fmt.Errorf("%w (%s)", bad, rightFile(s))
	}
	if err := e.enter(); err != nil {
		return err
	}
	l.condemn(&corruption{x.state, bad})
	e.life.RUnlock()
	e.noteFinding(*x)
	return nil
}

func (e *Engine) stillWrong(l *Log, s *segment.Segment, x *finding, cuts int64, pace *pacer) (bad, err error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.life.RUnlock()
	l.settling.Lock()
	defer l.settling.Unlock()
	if l.cuts.Load() != cuts || l.w.gone.Load() || !slices.Contains(*l.view.Load(), s) || e.failed() != nil {
		return nil, nil
	}
	bad = e.wrongAt(l, s, x, &pacer{ctx: pace.ctx, e: e})
	if pace.ctx.Err() != nil {
		return nil, pace.ctx.Err()
	}
	if errors.Is(bad, errBlind) || errors.Is(bad, syscall.EMFILE) || errors.Is(bad, syscall.ENFILE) || errors.Is(bad, syscall.ENOMEM) {
		return nil, nil // which says nothing of the file: the next pass comes here again
	}
	return bad, nil
}

// guardSealed writes a guard for what has none of a segment that is sealed: it was made by Kafka, say, or a crash took its slots.
func (e *Engine) guardSealed(l *Log, s *segment.Segment, pieces []guard.Of, cuts int64) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.life.RUnlock()
	l.settling.Lock()
	defer l.settling.Unlock()
	_, sealed := l.flushedOf(s)
	l.mu.Lock()
	pending := l.mu.tally.Has(s.Base) // the next checkpoint guards it
	l.mu.Unlock()
	if !sealed || pending || l.cuts.Load() != cuts || l.w.gone.Load() || !slices.Contains(*l.view.Load(), s) || l.Err() != nil {
		return nil
	}
	own, err := unguarded(e.fs, l.dir, s.Base, pieces)
	if err != nil || len(own) == 0 {
		return nil // the next pass sees to it
	}
	_, err = guard.Write(e.fs, l.dir, s.Base, -1, own)
	if err != nil && !final(err) {
		e.log.Warn("batches are left without a guard", "partition", l.name, "segment", s.Base, "error", err)
		err = nil
	}
	return e.failIfFinal(err)
}

// unguarded returns those of the pieces that still have no guard: a checkpoint may have written some since the segment was read.
func unguarded(fsys fs.FS, dir string, base int64, pieces []guard.Of) (own []guard.Piece, err error) {
	g, err := guard.Read(fsys, dir, base)
	for _, of := range pieces {
		if !slices.ContainsFunc(g.Pieces, func(p guard.Piece) bool { return p.Start < of.End && of.Start < p.End }) {
			own = append(own, of.Piece)
		}
	}
	return own, err
}
