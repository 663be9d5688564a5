package segment

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

// scanBytes is how much a scan reads at once: an index interval and some headers, so that finding an offset behind an
// index entry is one read.
const scanBytes = 8 << 10

// scratches are the buffers of scans, which are part of every read.
var scratches = sync.Pool{New: func() any { return new([scanBytes]byte) }}

// A Place is one batch in the log file.
type Place struct {
	Position     int64
	Size         int
	BaseOffset   int64
	LastOffset   int64
	MaxTimestamp int64
}

// Find returns the first batch whose last offset is at least offset, among the whole batches below end, or io.EOF. An
// index.ErrCorrupt says that the indexes are to be built anew.
func (s *Segment) Find(f io.ReaderAt, offset, end int64) (Place, error) {
	return s.find(f, s.index.Lookup, offset, end)
}

// FindNoWait is Find for who must not wait for a disk: it returns fs.ErrWouldBlock where something would have to come from there. A file
// system that cannot say so is waited for.
func (s *Segment) FindNoWait(f fs.File, offset, end int64) (Place, error) {
	var from io.ReaderAt = f
	if n, ok := f.(fs.NoWaiter); ok {
		from = readNoWait{n}
	}
	return s.find(from, s.index.LookupNoWait, offset, end)
}

// readNoWait reads what is in memory.
type readNoWait struct{ f fs.NoWaiter }

func (r readNoWait) ReadAt(p []byte, at int64) (int, error) {
	if err := r.f.ReadNoWait(p, at); err != nil {
		return 0, err
	}
	return len(p), nil
}

// A lookUp is that of an offset index.
type lookUp func(offset int64) (entry int64, position int32, err error)

func (s *Segment) find(f io.ReaderAt, l lookUp, offset, end int64) (Place, error) {
	found, err := s.first(f, l, offset, end, func(p Place) bool { return p.LastOffset >= offset })
	if err != nil && err != io.EOF && err != fs.ErrWouldBlock {
		err = fmt.Errorf("find offset %d in %s: %w", offset, s.Path(), err)
	}
	return found, err
}

// FindTime returns the first batch below end that holds a timestamp of at least t at or after offset from, or io.EOF.
func (s *Segment) FindTime(f io.ReaderAt, t, from, end int64) (Place, error) {
	_, entry, err := s.times.Lookup(t)
	if err != nil {
		return Place{}, err
	}
	found, err := s.first(f, s.index.Lookup, max(entry, from), end, func(p Place) bool { return p.LastOffset >= from && p.MaxTimestamp >= t })
	if err != nil && err != io.EOF {
		err = fmt.Errorf("find timestamp %d in %s: %w", t, s.Path(), err)
	}
	return found, err
}

// first returns the first batch that is wanted of those from the index entry for an offset on, or the last one and
// io.EOF. An index is believed only as far as the log bears it out: the batch at the entry's position must start at or
// before the offset that the entry names, else what is looked for could lie before it. (That offset is the last one of
// the batch; in indexes of Kafka before 4.0, of several batches that were appended together.)
func (s *Segment) first(f io.ReaderAt, l lookUp, offset, end int64, want func(Place) bool) (found Place, err error) {
	entry, at, err := l(offset)
	if err != nil {
		return Place{}, err
	}
	if at < 0 {
		return Place{}, fmt.Errorf("%w: position %d for offset %d", index.ErrCorrupt, at, entry)
	}
	seen, wrong := false, false
	err = Headers(f, int64(at), end, func(p Place, _ record.Batch) bool {
		wrong = !seen && at > 0 && p.BaseOffset > entry
		found, seen = p, true
		return !wrong && !want(p)
	})
	switch {
	case wrong, !seen && at > 0 && errors.Is(err, io.ErrUnexpectedEOF):
		return found, fmt.Errorf("%w: no batch with offset %d at position %d", index.ErrCorrupt, entry, at)
	case err == nil && (!seen || !want(found)):
		err = io.EOF
	}
	return found, err
}

// FindFrom is Find without an index: it reads the headers from position at on.
func FindFrom(f io.ReaderAt, at, offset, end int64) (found Place, err error) {
	err = Headers(f, at, end, func(p Place, _ record.Batch) bool {
		found = p
		return p.LastOffset < offset
	})
	if err == nil && (found.Size == 0 || found.LastOffset < offset) {
		err = io.EOF
	}
	return found, err
}

// Headers calls visit for each batch from position at to end, with its header only, until visit returns false. It
// returns io.ErrUnexpectedEOF for a batch that ends beyond end, and ErrShortRead for a file that does before it.
func Headers(f io.ReaderAt, at, end int64, visit func(Place, record.Batch) bool) error {
	scratch := scratches.Get().(*[scanBytes]byte)
	defer scratches.Put(scratch)
	buf := scratch[:]
	var window []byte // of the file, starting at start
	start := at
	for at+header <= end {
		if at < start || at+header > start+int64(len(window)) {
			n := min(int64(len(buf)), end-at)
			if err := ReadFull(f, buf[:n], at); err != nil {
				return err
			}
			window, start = buf[:n], at
		}
		b := record.Batch(window[at-start:][:header])
		size := int64(b.Size())
		if size < header || b.Magic() != 2 || at+size > end {
			if err := OldMessage(f, at, end); err != nil {
				return err
			}
			return fmt.Errorf("batch at position %d of %d bytes, magic %d, of %d: %w", at, size, b.Magic(), end, io.ErrUnexpectedEOF)
		}
		if !visit(Place{at, int(size), b.BaseOffset(), b.LastOffset(), b.MaxTimestamp()}, b) {
			return nil
		}
		at += size
	}
	if at < end {
		return OldMessage(f, at, end) // one may be shorter than the header of a batch
	}
	return nil
}

// FindIn is Find for batches in memory. Positions count from the start of b.
func FindIn(b []byte, offset int64) (Place, error) {
	for at := 0; at+header <= len(b); {
		batch := record.Batch(b[at:])
		size := batch.Size()
		if size < header || at+size > len(b) {
			break
		}
		if batch.LastOffset() >= offset {
			return Place{int64(at), size, batch.BaseOffset(), batch.LastOffset(), batch.MaxTimestamp()}, nil
		}
		at += size
	}
	return Place{}, io.EOF
}

// ErrShortRead says that a file ended before the size that it has. It is not what the file holds, but that it cannot be read:
// nobody may take it for a torn write.
var ErrShortRead = errors.New("read ends before the file does")

// ReadFull reads all of p, which lies within the file.
func ReadFull(f io.ReaderAt, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%d of %d bytes at position %d: %w", n, len(p), at, ErrShortRead)
	}
	return err
}

// maxBatch bounds what a scan believes of a length: a segment's positions are 31 bits.
const maxBatch = 1<<31 - 1

// Batches calls visit for each whole batch from position at to the end of the file, size, with all its bytes checked,
// and returns where the last good one ends. The error says why it stopped there: nil at the end, io.ErrUnexpectedEOF
// in the middle of a batch, a *record.Error for a batch that is not what it says, ErrOldMessage, or visit's.
func Batches(f io.ReaderAt, at, size int64, visit func(position int64, b record.Batch) error) (int64, error) {
	at, err := batches(f, at, size, visit)
	if err != nil {
		if old := OldMessage(f, at, size); old != nil {
			err = old
		}
	}
	return at, err
}

func batches(f io.ReaderAt, at, size int64, visit func(position int64, b record.Batch) error) (int64, error) {
	buf := make([]byte, min(1<<20, max(size-at, 0))) // many logs are small
	var window []byte
	start := at
	for at < size {
		need := int64(header)
		have := start + int64(len(window)) - at
		if have >= header {
			b := record.Batch(window[at-start:])
			need = int64(b.Size())
			if need < header || need > maxBatch {
				return at, fmt.Errorf("batch of %d bytes at position %d: %w", need, at, errBadLength)
			}
		}
		if at+need > size {
			return at, io.ErrUnexpectedEOF
		}
		if have < need {
			if int64(len(buf)) < need {
				buf = make([]byte, need)
			}
			n := min(int64(len(buf)), size-at)
			if err := ReadFull(f, buf[:n], at); err != nil {
				return at, err
			}
			window, start = buf[:n], at
			continue
		}
		b := record.Batch(window[at-start:][:need])
		if err := b.Check(); err != nil {
			return at, err
		}
		if err := visit(at, b); err != nil {
			return at, err
		}
		at += need
	}
	return at, nil
}

var errBadLength = errors.New("length that no batch has")
