package kraft

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// Folder is where Kafka keeps the metadata, in its metadata log directory.
const Folder = "__cluster_metadata-0"

// ErrCorrupt means that a file is not what Kafka wrote, or that one is missing between others.
var ErrCorrupt = errors.New("corrupt metadata of Apache Kafka")

// files are the names in the folder that count.
type files struct {
	segments []int64 // base offsets, in order
	snapshot string  // the newest, "" for none
	end      int64   // of the snapshot
}

// Read reads the folder of a metadata log. Errors: os.ErrNotExist where it is not there or has no log, ErrCorrupt,
// ErrNewer, or one of the file system.
func Read(fsys fs.FS, dir string) (*State, error) {
	found, err := list(fsys, dir)
	if err != nil {
		return nil, err
	}
	s := newState()
	if found.snapshot != "" {
		r := reader{state: s, snapshot: true}
		name := filepath.Join(dir, found.snapshot)
		if err := r.file(fsys, name); err != nil {
			return nil, err
		}
		if !r.footer {
			return nil, fmt.Errorf("%w: %s has no footer", ErrCorrupt, name)
		}
	}
	s.Offset = found.end
	for i, base := range found.segments {
		if last := i+1 == len(found.segments); !last && found.segments[i+1] <= found.end {
			continue // the snapshot has all of it
		}
		if base > s.Offset {
			return nil, fmt.Errorf("%w: offsets %d to %d are missing in %s", ErrCorrupt, s.Offset, base-1, dir)
		}
		r := reader{state: s, from: found.end, next: base, last: i+1 == len(found.segments)}
		if err := r.file(fsys, filepath.Join(dir, fmt.Sprintf("%020d.log", base))); err != nil {
			return nil, err
		}
	}
	s.pending, s.inTxn = nil, false // a transaction without an end did not happen
	return s, nil
}

// list finds the files.
func list(fsys fs.FS, dir string) (f files, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return f, err
	}
	newest := [2]int64{-1, -1}
	for _, e := range entries {
		if base, ok := number(strings.CutSuffix(e.Name(), ".log")); ok {
			f.segments = append(f.segments, base)
		}
		offset, epoch, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".checkpoint"), "-")
		end, ok := number(offset, strings.HasSuffix(e.Name(), ".checkpoint"))
		n, isEpoch := number(epoch, ok)
		if at := [2]int64{end, n}; isEpoch && slices.Compare(at[:], newest[:]) > 0 {
			newest, f.snapshot, f.end = at, e.Name(), end
		}
	}
	slices.Sort(f.segments)
	if len(f.segments) == 0 && f.snapshot == "" {
		return f, fmt.Errorf("%s has no log: %w", dir, os.ErrNotExist)
	}
	return f, nil
}

// number parses the digits of a file's name, if there are any.
func number(digits string, ok bool) (int64, bool) {
	n, err := strconv.ParseUint(digits, 10, 63)
	return int64(n), ok && err == nil
}

// A reader takes the batches of one file into a state.
type reader struct {
	state    *State
	snapshot bool  // of a snapshot, whose offsets mean nothing
	footer   bool  // its footer was seen
	from     int64 // records below are in the snapshot
	next     int64 // offset that the next batch must start at
	last     bool  // the newest segment, which may end with a torn write
}

// readBytes is how much of a file is in memory at a time. A batch may be larger: it counts by itself.
const readBytes = 1 << 20

func (r *reader) file(fsys fs.FS, name string) error {
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written through it
	size, err := f.Size()
	if err != nil {
		return err
	}
	return r.batches(f, name, size)
}

// batches reads a file of that size from its start to its end.
func (r *reader) batches(f io.ReaderAt, name string, size int64) error {
	var buf []byte
	for at, want := int64(0), int64(readBytes); at < size; {
		want = min(want, size-at)
		buf = slices.Grow(buf[:0], int(want))[:want]
		if n, err := f.ReadAt(buf, at); int64(n) < want {
			return fmt.Errorf("read %d bytes at position %d of %s: %w", want, at, name, err)
		}
		done, err := r.take(buf)
		at += int64(done)
		short := errors.Is(err, io.ErrUnexpectedEOF)
		switch more := at+int64(len(buf)-done) < size; {
		case err == nil || short && done > 0:
			want = readBytes
		case short && more:
			want *= 2
		case errors.As(err, new(*damage)) && r.torn(f, at, size):
			r.state.Cut = fmt.Errorf("%s ends at position %d of %d: %w", name, at, size, err)
			return nil
		default:
			return fmt.Errorf("%s at position %d: %w", name, at, err)
		}
	}
	return nil
}

// damage is what is wrong with a batch that is not whole, or not as it was written.
type damage struct{ err error }

func (d *damage) Error() string   { return ErrCorrupt.Error() + ": " + d.err.Error() }
func (d *damage) Unwrap() []error { return []error{ErrCorrupt, d.err} }

// take takes the whole batches of b and returns how many bytes they have.
func (r *reader) take(b []byte) (done int, err error) {
	for rest := b; len(rest) > 0; {
		batch, behind, err := record.Next(rest)
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			return done, &damage{err}
		}
		if err := r.batch(batch); err != nil {
			return done, err
		}
		done, rest = len(b)-len(behind), behind
	}
	return done, nil
}

// The types of control records that a snapshot must have, in their keys.
const snapshotFooter = 4

func (r *reader) batch(b record.Batch) error {
	if !r.snapshot && b.BaseOffset() != r.next {
		return fmt.Errorf("%w: a batch at offset %d, expected %d", ErrCorrupt, b.BaseOffset(), r.next)
	}
	r.next = b.LastOffset() + 1
	for rec, err := range b.Records(0) {
		switch {
		case err != nil:
			return fmt.Errorf("%w: batch at offset %d: %w", ErrCorrupt, b.BaseOffset(), err)
		case b.IsControl():
			r.footer = r.footer || len(rec.Key) == 4 && rec.Key[3] == snapshotFooter
		case r.snapshot || rec.Offset >= r.from:
			if err := r.state.take(rec.Value); err != nil {
				return fmt.Errorf("record at offset %d: %w", rec.Offset, err)
			}
		}
	}
	if !r.snapshot {
		r.state.Offset = max(r.state.Offset, r.next)
	}
	return nil
}

// torn reports whether a bad batch at a position is what a kill or a power cut left of the last writes: only the newest
// segment has one, and no good batch is behind it.
func (r *reader) torn(f io.ReaderAt, at, size int64) bool {
	if r.snapshot || !r.last {
		return false
	}
	const most = 64 << 20 // bytes that are looked at; the log is flushed long before so much was written
	b := make([]byte, min(size-at, most))
	if _, err := f.ReadAt(b, at); err != nil && err != io.EOF {
		return false
	}
	for i := 1; i < len(b); i++ {
		batch, _, err := record.Next(b[i:])
		if err == nil && batch.BaseOffset() > r.next && batch.BaseOffset()-r.next < most && batch.Check() == nil {
			return false
		}
	}
	return true
}
