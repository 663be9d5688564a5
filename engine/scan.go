package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// scan checks the batches of the segment number i from the recovery point on, ends it behind the last good one, and
// flushes what is left: after kill -9 the page cache holds what the disk does not have yet. What a bad batch means is
// what judge says.
func (r *recovering) scan(s *segment.Segment, i int) error {
	f, err := s.Acquire()
	if err != nil {
		return err
	}
	defer s.Release()
	size, interval := r.sizes[s.Base], r.config.Load().IndexInterval
	cached := cachedPieces(f, size) // before anything of it is read
	from, err := r.begin(s, f, size, interval)
	if err != nil {
		return err
	}
	start := r.next
	r.from = min(r.from, start)
	g, err := r.readGuard(s.Base)
	if err != nil {
		return err
	}
	check := guard.NewCheck(g)
	end, bad := segment.Batches(f, from, size, func(at int64, b record.Batch) error {
		if b.BaseOffset() < r.next || b.LastOffset() < b.BaseOffset() || b.LastOffset() == math.MaxInt64 {
			return fmt.Errorf("batch of offsets %d to %d where %d or more belongs", b.BaseOffset(), b.LastOffset(), r.next)
		}
		if err := check.Note(at, b, b.Size()); err != nil {
			return err
		}
		if at >= g.End() {
			r.mu.tally.Note(s.Base, at, b, b.Size())
		}
		s.Note(b.Size(), b.LastOffset(), b.MaxTimestamp(), interval)
		r.marked = r.marked || b.IsControl()
		r.next = b.LastOffset() + 1
		return nil
	})
	r.done.Scanned += end - from
	if errors.Is(bad, segment.ErrOldMessage) {
		return fmt.Errorf("scan %s: %w", s.Path(), bad)
	}
	if unreadable(bad) {
		return fmt.Errorf("scan %s from position %d: %w", s.Path(), end, bad) // not what the file holds, but that it cannot be read
	}
	if err := r.compareGuard(s, g, end, size, bad); err != nil {
		return err
	}
	if end < size && r.covers(s, end) {
		if err := s.CutTo(end, r.next); err != nil { // a write was under way, and the stage has all of it
			return err
		}
	} else if end < size {
		state, err := r.judge(s, f, i, end, bad)
		if err != nil {
			return err
		}
		if err := r.cut(s, f, end, size, state, bad); err != nil {
			return err
		}
	} else if r.next < r.point.offset && i+1 == len(r.files) {
		r.meet(EndBelowPoint, "file", s.Path(), "end", r.next, "recovery point", r.point.offset)
	}
	s.Extend(end)
	if err := r.rewrite(s, f, cached, from, end); err != nil {
		return err
	}
	if end, err = r.redo(s, end); err != nil {
		return err
	}
	s.Extend(end)
	return r.flushScanned(s, f)
}

// begin finds where the scan of a segment starts, and readies indexes and statistics for the batches before it.
func (r *recovering) begin(s *segment.Segment, f fs.File, size int64, interval int32) (from int64, err error) {
	if from, err = r.pointIn(s, f, size); err != nil {
		return 0, err
	}
	r.next = s.Base
	var known *segment.Known
	if from > 0 {
		r.next = r.point.offset
		known = &segment.Known{Offset: -1}
		if r.point.base == s.Base {
			known = &segment.Known{Offset: r.point.offset, MaxTimestamp: r.point.maxTimestamp, MaxOffset: r.point.maxOffset}
		}
	}
	// Entries of what lies behind were written for batches that may not be there: the scan makes them again.
	if err := s.TrimIndexes(r.next); err != nil && final(err) {
		return 0, err
	} else if err != nil {
		_, err = s.Rebuild(f, from, interval)
		s.Extend(from)
		return from, err
	}
	next, err := s.Load(from, interval, true, known)
	r.tellIndexes(s)
	if err == nil && next != r.next {
		next, err = s.Rebuild(f, from, interval)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = &corruption{CorruptBatch, fmt.Errorf("%w, below the recovery point %d", err, r.next)}
	case err == nil && next > r.next: // less is a hole before the point, as holes may be anywhere
		err = &corruption{CorruptBatch, fmt.Errorf("%s has the offset %d at its recovery point %d", s.Path(), next, r.next)}
	}
	return from, err
}

// pointIn returns the position of the recovery point in the segment: 0 where it starts beyond it, or where the point is
// no batch's start, as in a checkpoint that belongs to other files.
func (r *recovering) pointIn(s *segment.Segment, f fs.File, size int64) (int64, error) {
	at := r.point.offset
	if at <= s.Base {
		return 0, nil
	}
	p, err := s.Find(f, at-1, size)
	if errors.Is(err, index.ErrCorrupt) {
		p, err = segment.FindFrom(f, 0, at-1, size)
	}
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return 0, nil // the log ends before the point, or cannot be followed up to it
	case err != nil:
		return 0, err
	case p.LastOffset == at-1:
		return p.Position + int64(p.Size), nil
	case p.BaseOffset == at:
		return p.Position, nil
	}
	r.meet(PointWithinBatch, "file", s.Path(), "recovery point", at, "batch", p.BaseOffset)
	return 0, nil
}

// judge decides what a bad place at a position of the segment number i is: corruption is the error, else it is to be cut.
//
//	after an orderly stop, none behind        dirty-after-clean
//	below the recovery point, in the last     end-below-point: somebody cut the file
//	file, which just ends within a batch
//	below, else; or after an orderly stop     corrupt-batch
//	beyond, sync, and a good batch further    corrupt-flushed: it was flushed before that one was written
//	behind than could have been in flight
//	beyond, and a good batch behind           holed-tail
//	beyond, else                              torn-tail
func (r *recovering) judge(s *segment.Segment, f fs.File, i int, at int64, bad error) (State, error) {
	size := r.sizes[s.Base]
	what := fmt.Errorf("%s at position %d: %w", s.Path(), at, bad)
	behind, err := r.goodBatch(f, at+1, size)
	if err != nil {
		return "", err
	}
	last := i+1 == len(r.files)
	below := r.next < r.point.offset
	switch {
	case below && (!last || !errors.Is(bad, io.ErrUnexpectedEOF) || behind >= 0):
		return "", &corruption{CorruptBatch, fmt.Errorf("%w, below the recovery point %d", what, r.point.offset)}
	case r.clean && (!last || behind >= 0):
		r.settled.Store(new(pointAt(r.next + 1))) // see keepPoints
		return "", &corruption{CorruptBatch, fmt.Errorf("%w, after an orderly stop", what)}
	case r.clean:
		return DirtyAfterClean, nil
	case below:
		return EndBelowPoint, nil
	}
	if proof, err := r.proof(f, i, at); err != nil {
		return "", err
	} else if proof != "" {
		return "", &corruption{CorruptFlushed, fmt.Errorf("%w, and %s was written after it was flushed", what, proof)}
	}
	if behind >= 0 {
		return HoledTail, nil
	}
	return TornTail, nil
}

// proof names a good batch that can only have been written after what is bad at a position of the segment number i was
// flushed, or "".
func (r *recovering) proof(f fs.File, i int, at int64) (string, error) {
	if r.point.syncFrom < 0 || r.next < r.point.syncFrom {
		return "", nil
	}
	size := r.sizes[r.files[i]]
	behind, err := r.goodBatch(f, at+flightBytes, size)
	if err != nil {
		return "", err
	}
	if behind >= 0 {
		return fmt.Sprintf("the batch at position %d", behind), nil
	}
	return r.flushedBehind(i+1, size-at)
}

// flushedBehind names a good batch in the segments from number i on that lies further than flightBytes behind a bad place,
// which is distance bytes before the first of them; "" if there is none, or the log was not in sync mode.
func (r *recovering) flushedBehind(i int, distance int64) (proof string, err error) {
	if r.point.syncFrom < 0 || r.next < r.point.syncFrom {
		return "", nil
	}
	for ; i < len(r.files); i++ {
		name, size := segment.Name(r.dir, r.files[i], segment.LogSuffix), r.sizes[r.files[i]]
		if distance+size > flightBytes {
			f, err := r.e.fs.Open(name, os.O_RDONLY)
			if err != nil {
				return "", err
			}
			at, err := r.goodBatch(f, max(0, flightBytes-distance), size)
			if err = errors.Join(err, f.Close()); err != nil {
				return "", err
			}
			if at >= 0 {
				return fmt.Sprintf("the batch at position %d of %s", at, name), nil
			}
		}
		distance += size
	}
	return "", nil
}

// goodBatch returns the first position from at on where a whole batch starts that could be of this log, or -1. The chain
// of lengths is broken, so every byte may be a start; what it must look like leaves few to check.
func (r *recovering) goodBatch(f fs.File, at, size int64) (int64, error) {
	const window = 1 << 20
	const magicAt = 16
	buf := make([]byte, min(window, max(size-at, 0)))
	for ; at+record.HeaderSize <= size; at += window - record.HeaderSize {
		b := buf[:min(window, size-at)]
		if err := segment.ReadFull(f, b, at); err != nil {
			return -1, err
		}
		for p := 0; p+record.HeaderSize <= len(b); p++ {
			k := bytes.IndexByte(b[p+magicAt:], 2)
			if k < 0 || p+k+record.HeaderSize > len(b) {
				break
			}
			p += k
			whole, err := r.wholeBatch(f, record.Batch(b[p:]), at+int64(p), size)
			if err != nil || whole {
				return at + int64(p), err
			}
		}
	}
	return -1, nil
}

// wholeBatch reports whether the header at a position is that of a good batch behind r.next.
func (r *recovering) wholeBatch(f fs.File, header record.Batch, at, size int64) (bool, error) {
	n := int64(header.Size())
	if n < record.HeaderSize || n > size-at || header.BaseOffset() < r.next || header.LastOffset() < header.BaseOffset() {
		return false, nil
	}
	b := make(record.Batch, n)
	if err := segment.ReadFull(f, b, at); err != nil {
		return false, err
	}
	return b.Check() == nil, nil
}

// cachePiece is how finely a start asks what the page cache has of a segment.
const cachePiece = 1 << 20

// cachedPieces says of each piece of a file whether the page cache has any of it.
func cachedPieces(f fs.File, size int64) []bool {
	cached := make([]bool, (size+cachePiece-1)/cachePiece)
	asked, _ := f.(fs.Cacher)
	for i := range cached {
		cached[i] = asked == nil || asked.Cached(int64(i)*cachePiece, cachePiece)
	}
	return cached
}

// rewrite writes what was found beyond the recovery point once more, the same bytes in their place, where the page cache had it before
// this start. A flush of the process before may have failed: then the kernel has these bytes in its page cache, takes them for
// clean, and calls every later flush a success that a power cut would belie. What was not there came from the disk, which has it: where that
// is all, no writer opens the file, and one with a second name is not copied. f reads it.
func (r *recovering) rewrite(s *segment.Segment, f fs.File, cached []bool, from, end int64) error {
	var buf []byte
	for at := from; at < end; {
		n := min(cachePiece-at%cachePiece, end-at)
		if i := at / cachePiece; i >= int64(len(cached)) || cached[i] {
			buf = slices.Grow(buf[:0], int(n))[:n]
			if err := segment.ReadFull(f, buf, at); err != nil {
				return fmt.Errorf("read %s: %w", s.Path(), err)
			}
			w, err := s.Writer(0)
			if err != nil {
				return err
			}
			if err := w.Write(buf, at, false); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// flushScanned makes what was found beyond the recovery point durable before it is served, and the file's length whatever was
// found: the killed process may have cut zeros off and not flushed that, and zeros that come back would be taken for damage
// once a segment follows. A flush is of the file, through whichever descriptor: f reads it.
func (r *recovering) flushScanned(s *segment.Segment, f fs.File) error {
	if !s.Open() {
		return f.Datasync()
	}
	return s.Flush()
}
