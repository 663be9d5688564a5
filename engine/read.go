package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/segment"
)

// A Range is bytes of one segment file: whole batches from the one that holds the offset asked for, but the last of
// them may be cut off where the limit fell. It must be released.
type Range struct {
	// File and Position say where the bytes are; File.Fd is for sendfile. Size is their number, 0 at the end of the log.
	File     fs.File
	Position int64
	Size     int
	// Mem, where it is not nil, is the bytes themselves, and there is no File: they were written past the page cache a
	// moment ago. It must not be changed.
	Mem []byte
	// LogStartOffset and HighWatermark are the log's at the time of the read.
	LogStartOffset, HighWatermark int64

	seg     *segment.Segment
	mem     *buffer
	buffers *buffers
}

// Bytes reads the range into memory.
func (r *Range) Bytes() ([]byte, error) {
	b := make([]byte, r.Size)
	if r.Mem != nil || r.Size == 0 {
		copy(b, r.Mem)
		return b, nil
	}
	if _, err := r.File.ReadAt(b, r.Position); err != nil {
		return nil, fmt.Errorf("read %d bytes at position %d of %s: %w", r.Size, r.Position, r.File.Name(), err)
	}
	return b, nil
}

// Release gives the range up. The file must not be used after it.
func (r *Range) Release() {
	if r.seg != nil {
		r.seg.Release()
		r.seg, r.File = nil, nil
	}
	if r.mem != nil {
		r.buffers.unref(r.mem)
		r.mem, r.Mem = nil, nil
	}
}

// Read returns the batches from the one that holds offset on, maxBytes at most, within one segment and below the high
// watermark. With whole, the first batch comes as a whole even if it is larger; without it nothing comes then. At the high
// watermark the range is empty. ErrOffsetOutOfRange is returned below the log start offset and above the end.
func (l *Log) Read(offset int64, maxBytes int, whole bool) (Range, error) {
	return l.read(offset, maxBytes, whole, false)
}

// ReadNoWait is Read for who must not wait for a disk: where the place of the batch cannot be found in memory it returns
// ErrWouldBlock. The bytes of the range itself may still be on the disk alone.
func (l *Log) ReadNoWait(offset int64, maxBytes int, whole bool) (Range, error) {
	return l.read(offset, maxBytes, whole, true)
}

func (l *Log) read(offset int64, maxBytes int, whole, noWait bool) (Range, error) {
	for tries := 0; ; tries++ {
		cuts := l.cuts.Load()
		r, seg, err := l.readOnce(offset, maxBytes, whole, noWait)
		if l.cuts.Load() != cuts || cuts%2 == 1 {
			r.Release()      // a truncation came between: what was found may be gone
			l.LogEndOffset() // waits for its end
			continue
		}
		if err == errMoved {
			tries--
			l.LogEndOffset() // waits for the append that is at it
			continue
		}
		if err == nil || tries > maxTries {
			l.e.opt.Metrics.read(r.Size)
			return r, err
		}
		if noWait && errors.Is(err, index.ErrCorrupt) {
			return r, ErrWouldBlock // Read sees to it
		}
		if again := l.readAgain(seg, err); again != nil {
			return r, again
		}
	}
}

// errMoved says that records left the stage while they were looked for: they are in the file now.
var errMoved = errors.New("moved from the stage to the file")

// fileEnd returns h, or what is written where that is less.
func (l *Log) fileEnd(h *mark) *mark {
	if w := l.written.Load(); w.offset < h.offset {
		return w
	}
	return h
}

// maxTries bounds how often a look-up that found a wrong index, or a segment that was going, starts again.
const maxTries = 3

// readAgain returns nil where a look-up that failed with err in a segment is to be tried again, and else its error.
func (l *Log) readAgain(s *segment.Segment, err error) error {
	switch {
	case errors.Is(err, index.ErrCorrupt):
		return l.repairIndex(s, err)
	case errors.Is(err, segment.ErrChanged):
		return l.lost(s, err)
	case !errors.Is(err, os.ErrClosed):
		return err
	case l.w.closed.Load() == nil:
		return nil // retention took the segment off after the view was read
	}
	return fmt.Errorf("read %s: %w", l.name, *l.w.closed.Load())
}

// repairIndex makes the indexes of a segment anew from its log file.
func (l *Log) repairIndex(s *segment.Segment, why error) error {
	if err := l.e.enter(); err != nil {
		return err
	}
	defer l.e.life.RUnlock()
	l.settling.Lock()
	defer l.settling.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == l.mu.active {
		l.awaitIdle() // what is not in the file would be forgotten
	}
	if s.Removed() || !slices.Contains(*l.view.Load(), s) {
		return nil // it went meanwhile, and the next try says why
	}
	l.e.log.Warn("an index is wrong and is made anew", "partition", l.name, "file", s.Path(), "error", why)
	f, err := s.Acquire()
	if err != nil {
		return err
	}
	defer s.Release()
	if _, err := s.Rebuild(f, s.Size(), l.config.Load().IndexInterval); err != nil {
		return err
	}
	if s == l.mu.active {
		return nil
	}
	return s.SealIndexes()
}

// readOnce is one try, with the segment in which it ended.
func (l *Log) readOnce(offset int64, maxBytes int, whole, noWait bool) (r Range, in *segment.Segment, err error) {
	h := l.readable()
	r = Range{LogStartOffset: l.start.Load(), HighWatermark: h.offset}
	if p := l.corrupt.Load(); p != nil {
		return r, nil, offline(*p)
	}
	if p := l.w.closed.Load(); p != nil {
		return r, nil, fmt.Errorf("read %s: %w", l.name, *p)
	}
	if offset < r.LogStartOffset || offset > h.offset {
		if offset > h.offset && offset <= l.LogEndOffset() {
			return r, nil, nil // appended, and not yet to be read
		}
		return r, nil, fmt.Errorf("read %s at offset %d, which is not in [%d, %d]: %w", l.name, offset, r.LogStartOffset, h.offset, ErrOffsetOutOfRange)
	}
	if offset == h.offset {
		return r, nil, nil
	}
	written := l.written.Load().offset // before the view, which has the segment of all that was written
	segs := *l.view.Load()
	i := sort.Search(len(segs), func(i int) bool { return segs[i].Base > offset }) - 1
	if i < 0 && offset < written {
		return r, nil, fmt.Errorf("read %s at offset %d: %w", l.name, offset, ErrOffsetOutOfRange) // retention was faster
	}
	if r.readRecent(l, offset, maxBytes, whole) {
		return r, nil, nil
	}
	if h = l.fileEnd(h); offset >= h.offset {
		return r, nil, errMoved // it was written between the two looks
	}
	segs = *l.view.Load() // it may have been written to a file that was made since
	if i = sort.Search(len(segs), func(i int) bool { return segs[i].Base > offset }) - 1; i < 0 {
		return r, nil, errMoved
	}
	for ; i < len(segs); i++ {
		err := r.find(segs[i], h, offset, maxBytes, whole, noWait)
		if err != io.EOF {
			return r, segs[i], err
		}
		// The records from offset to the segment's end are gone (compaction): the next one has what follows.
	}
	return r, nil, nil
}

// find sets the range to the batches of one segment, or returns io.EOF where it has none from offset on.
func (r *Range) find(s *segment.Segment, h *mark, offset int64, maxBytes int, whole, noWait bool) error {
	end := s.Size()
	if s == h.seg {
		end = h.position
	} else if s.Base > h.seg.Base {
		return nil
	}
	f, p, err := lookInto(s, offset, end, noWait)
	if err != nil {
		return err
	}
	size := min(int64(max(maxBytes, 0)), end-p.Position)
	if size < int64(p.Size) {
		if !whole {
			s.Release()
			return nil
		}
		size = int64(p.Size)
	}
	r.File, r.Position, r.Size, r.seg = f, p.Position, int(size), s
	return nil
}

// ErrWouldBlock is returned by ReadNoWait where Read would wait for a disk.
var ErrWouldBlock = fs.ErrWouldBlock

// lookInto finds the batch of an offset in a segment, and acquires the file that it is in.
func lookInto(s *segment.Segment, offset, end int64, noWait bool) (f fs.File, p segment.Place, err error) {
	if noWait {
		f, err = s.AcquireNoWait()
	} else {
		f, err = s.Acquire()
	}
	if err != nil {
		return nil, p, err
	}
	if noWait {
		p, err = s.FindNoWait(f, offset, end)
	} else {
		p, err = s.Find(f, offset, end)
	}
	if err != nil {
		s.Release()
	}
	return f, p, err
}
