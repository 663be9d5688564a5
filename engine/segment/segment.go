package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

// File name endings.
const (
	LogSuffix      = ".log"
	IndexSuffix    = ".index"
	TimeSuffix     = ".timeindex"
	TxnSuffix      = ".txnindex"
	SnapshotSuffix = ".snapshot"
	DeletedSuffix  = ".deleted"
)

// Limits are those of a log's segments.
type Limits struct {
	Bytes         int32 // of the log file
	IndexBytes    int32 // of each index file
	IndexInterval int32 // bytes of log between two index entries
	Shared        *Shared
}

// A Segment is one segment of a log.
type Segment struct {
	Base int64

	fsys   fs.FS
	dir    string
	shared *Shared

	// size is the bytes of the log file that may be read: whole batches that the kernel has.
	size atomic.Int64

	index *index.Offset
	times *index.Time
	txns  atomic.Pointer[index.Txn] // nil: no transaction was aborted in the segment

	direct atomic.Bool // written with whole blocks: see SetDirect
	ahead  atomic.Bool // and zeros may lie behind Size

	// stats is owned by the log's lock.
	stats stats

	damaged []string // by Load

	removed atomic.Bool // its files may be gone; set under files

	files struct {
		sync.Mutex
		write, read fs.File
		stale       []fs.File // read, of the file that own has replaced, while somebody holds it
		readers     int
		used        bool // read was, since Shared looked
		unseen      bool // made from what was Kept, and the file was not opened since
	}
}

// stats is what rolling, indexing and retention need to know of the batches appended so far, written or not.
type stats struct {
	bytes          int64 // appended
	sinceIndex     int64 // bytes since the last index entry
	firstTimestamp int64 // of the first batch that has one, -1 before
	maxTimestamp   int64 // -1 before any
	offsetOfMax    int64
}

// Name returns the file name of the segment with that base offset.
func Name(dir string, base int64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", base, suffix))
}

// New returns a segment without opening or creating a file.
func New(fsys fs.FS, dir string, base int64, l Limits) (*Segment, error) {
	s := &Segment{Base: base, fsys: fsys, dir: dir, shared: l.Shared}
	s.stats = stats{firstTimestamp: -1, maxTimestamp: -1, offsetOfMax: base}
	var err error
	if s.index, err = index.OpenOffset(fsys, Name(dir, base, IndexSuffix), base, int(l.IndexBytes)/index.OffsetWidth); err != nil {
		return nil, err
	}
	if s.times, err = index.OpenTime(fsys, Name(dir, base, TimeSuffix), base, int(l.IndexBytes)/index.TimeWidth); err != nil {
		return nil, err
	}
	if l.Shared != nil {
		s.index.Bound(l.Shared.mappings)
		s.times.Bound(l.Shared.mappings)
	}
	return s, nil
}

// Path returns the name of the log file.
func (s *Segment) Path() string { return Name(s.dir, s.Base, LogSuffix) }

// Size returns the bytes of the log file that may be read.
func (s *Segment) Size() int64 { return s.size.Load() }

// SetDirect says whether the segment is written in whole blocks with O_DIRECT: its file may then go on behind Size, with
// ahead by more than the last block. It changes only while no write of the segment is under way and its writer's
// descriptor is not open.
func (s *Segment) SetDirect(yes, ahead bool) {
	s.direct.Store(yes)
	s.ahead.Store(yes && ahead)
}

// Direct reports what SetDirect said last.
func (s *Segment) Direct() bool { return s.direct.Load() }

// Trim cuts the file to its length and puts that on stable storage, where a direct writer has left more. No write may
// be in flight.
func (s *Segment) Trim() error {
	s.files.Lock()
	f := s.files.write
	s.files.Unlock()
	if f == nil || !s.Direct() {
		return nil
	}
	if err := f.Truncate(s.Size()); err != nil {
		return fmt.Errorf("cut %s to its %d bytes: %w", s.Path(), s.Size(), err)
	}
	return f.Datasync()
}

// Appended returns the bytes that were appended, written or not. The log's lock owns it.
func (s *Segment) Appended() int64 { return s.stats.bytes }

// Extend makes the file's bytes below size readable: the writer calls it when they are written.
func (s *Segment) Extend(size int64) { s.size.Store(size) }

// MaxTimestamp returns the greatest timestamp in the segment and the last offset of the batch that has it first, or
// -1 and the base offset. The log's lock owns it.
func (s *Segment) MaxTimestamp() (timestamp, offset int64) {
	return s.stats.maxTimestamp, s.stats.offsetOfMax
}

// FirstTimestamp returns the greatest timestamp of the first batch, or -1. The log's lock owns it.
func (s *Segment) FirstTimestamp() int64 { return s.stats.firstTimestamp }

// Note accounts for a batch that was appended: its place, its last offset and its greatest timestamp. Kafka adds an
// index entry for the first batch after interval bytes without one.
func (s *Segment) Note(size int, lastOffset, maxTimestamp int64, interval int32) {
	st := &s.stats
	if maxTimestamp > st.maxTimestamp {
		st.maxTimestamp, st.offsetOfMax = maxTimestamp, lastOffset
	}
	if st.firstTimestamp < 0 && maxTimestamp >= 0 {
		st.firstTimestamp = maxTimestamp
	}
	if st.sinceIndex > int64(interval) {
		// An entry that is refused makes look-ups read further, no more; the log rolls before an index is full.
		if s.index.Append(lastOffset, int32(st.bytes)) == nil {
			s.noteTime()
		}
		st.sinceIndex = 0
	}
	st.bytes += int64(size)
	st.sinceIndex += int64(size)
}

// noteTime adds the greatest timestamp so far to the time index. A refusal leaves it shorter, which look-ups bear.
func (s *Segment) noteTime() {
	if s.stats.maxTimestamp >= 0 {
		_ = s.times.MaybeAppend(s.stats.maxTimestamp, s.stats.offsetOfMax)
	}
}

// IndexFull reports whether an index has no room for another entry.
func (s *Segment) IndexFull() bool { return s.index.Full() || s.times.Full() }

// Writer returns the writer's descriptor, creating the file on first use. Opening may take long, where no descriptor is left:
// readers do not wait for it. A segment has one writer at a time, and is not removed meanwhile.
func (s *Segment) Writer(flag int) (fs.File, error) {
	s.files.Lock()
	f := s.files.write
	s.files.Unlock()
	if s.removed.Load() {
		return nil, fmt.Errorf("open %s: %w", s.Path(), os.ErrClosed)
	}
	if f != nil {
		return f, nil
	}
	if err := s.own(); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Path(), err)
	}
	f, err := s.openFile(os.O_RDWR | os.O_CREATE | flag)
	if err != nil {
		return nil, err
	}
	s.files.Lock()
	defer s.files.Unlock()
	if s.removed.Load() || s.files.write != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.Path(), os.ErrClosed), s.closeFile(f, false))
	}
	s.files.write = f
	return f, nil
}

// Open reports whether the segment has a writer's descriptor.
func (s *Segment) Open() bool {
	s.files.Lock()
	defer s.files.Unlock()
	return s.files.write != nil
}

// Flush puts what is written on stable storage, and with indexes also the index entries so far. Its error is final.
func (s *Segment) Flush() error {
	s.files.Lock()
	f := s.files.write
	s.files.Unlock()
	if f == nil {
		return nil // nothing was written since it was opened or sealed
	}
	return f.Datasync()
}

// FlushIndexes writes the index entries to their files, those of the transaction index durably: see index.Txn. The log's
// lock must be held, or the segment sealed.
func (s *Segment) FlushIndexes(durable bool) error {
	if _, err := s.SettleTxns(false); err != nil {
		return err
	}
	if err := s.index.Flush(durable); err != nil {
		return err
	}
	return s.times.Flush(durable)
}

// Found says that the files may hold what a killed process wrote: the indexes are flushed as they are before they rest.
func (s *Segment) Found() {
	s.index.Found()
	s.times.Found()
}

// SealIndexes adds the last time entry, as Kafka does when a segment stops being the active one, and lets the
// entries out of memory. The log's lock must be held, and no more Notes follow.
func (s *Segment) SealIndexes() error {
	s.noteTime()
	s.files.Lock()
	if s.files.read != nil && s.ahead.Load() {
		_ = s.files.read.Advise(false) // a hint, of no consequence where it is refused
	}
	s.files.Unlock()
	if _, err := s.SettleTxns(true); err != nil {
		return err
	}
	if err := s.index.Seal(); err != nil {
		return err
	}
	return s.times.Seal()
}

// CloseWriter closes the writer's descriptor: everything written must have been flushed. evicted says that it makes room for others.
func (s *Segment) CloseWriter(evicted bool) error {
	s.files.Lock()
	defer s.files.Unlock()
	if s.files.write == nil {
		return nil
	}
	err := s.closeFile(s.files.write, evicted)
	s.files.write = nil
	return err
}

// Acquire returns the readers' descriptor, which stays open until Release, whatever happens to the segment.
func (s *Segment) Acquire() (fs.File, error) {
	f, opened, err := s.acquire()
	if opened {
		s.shared.took(s)
	}
	return f, err
}

// AcquireNoWait is Acquire for who must not wait for a disk: it returns fs.ErrWouldBlock where the file is not open, or somebody may be about
// to open it.
func (s *Segment) AcquireNoWait() (fs.File, error) {
	if !s.files.TryLock() {
		return nil, fs.ErrWouldBlock
	}
	defer s.files.Unlock()
	if s.files.read == nil {
		return nil, fs.ErrWouldBlock
	}
	s.files.readers++
	s.files.used = true
	return s.files.read, nil
}

func (s *Segment) acquire() (f fs.File, opened bool, err error) {
	s.files.Lock()
	defer s.files.Unlock()
	if s.files.read == nil {
		if s.removed.Load() {
			return nil, false, fmt.Errorf("open %s: %w", s.Path(), os.ErrClosed)
		}
		f, err := s.look()
		if err != nil {
			return nil, false, err
		}
		if s.ahead.Load() {
			// Reading ahead would bring in pages behind the records, and a direct write into those is slow.
			_ = f.Advise(true) // a hint, of no consequence where it is refused
		}
		s.files.read, opened = f, true
	}
	s.files.readers++
	s.files.used = true
	return s.files.read, opened, nil
}

// Release ends a use of the readers' descriptor.
func (s *Segment) Release() {
	s.files.Lock()
	defer s.files.Unlock()
	s.files.readers--
	if s.files.readers > 0 {
		return
	}
	s.closeStale()
	if s.removed.Load() && s.files.read != nil {
		_ = s.closeFile(s.files.read, false) // it was read
		s.files.read = nil
	}
}

// Readers returns the number of readers that hold the segment.
func (s *Segment) Readers() int {
	s.files.Lock()
	defer s.files.Unlock()
	return s.files.readers
}

// CloseReader closes the readers' descriptor if nobody holds it.
func (s *Segment) CloseReader() {
	s.files.Lock()
	defer s.files.Unlock()
	if s.files.readers == 0 && s.files.read != nil {
		_ = s.closeFile(s.files.read, false) // it was read
		s.files.read = nil
	}
}

// Close closes the descriptors; readers that still hold one keep it. Unflushed writes must have been flushed.
func (s *Segment) Close() error {
	s.files.Lock()
	defer s.files.Unlock()
	s.removed.Store(true)
	var errs []error
	if s.files.write != nil {
		errs = append(errs, s.closeFile(s.files.write, false))
		s.files.write = nil
	}
	if s.files.readers == 0 && s.files.read != nil {
		errs = append(errs, s.closeFile(s.files.read, false))
		s.files.read = nil
	}
	return errors.Join(append(errs, s.index.Close(), s.times.Close(), s.closeTxns())...)
}

// header is how much of a batch says where the next one starts and which offsets it has.
const header = record.HeaderSize
