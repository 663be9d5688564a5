package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine/fs"
)

var (
	// ErrCorrupt is wrapped by errors that say that the file's content is wrong: Reset it and build it from the log.
	ErrCorrupt = errors.New("corrupt index")
	// ErrRange is wrapped by the refusal of an entry whose offset is not in [base, base+2^31-1]: the segment must roll.
	ErrRange = errors.New("offset out of the segment's range")
	// ErrOrder is wrapped by the refusal of an entry that does not follow the last one.
	ErrOrder = errors.New("entry out of order")
	// ErrFull is wrapped by the refusal of an entry that the configured index size has no place for.
	ErrFull = errors.New("index is full")
)

// table is what both indexes are: entries of width bytes in a file and, when active, in memory.
//
// Two locks, so that appends and lookups in memory never wait for a disk while the entries are flushed: disk is held
// over calls on the file that change it, and taken before mu; mu is held over memory, and over reading the file when an
// index at rest becomes active or gets a view. Inside mu only Mappings has a lock.
//
// There are 20,000 of these in a broker with 10,000 partitions: what only some need hangs on a pointer.
type table struct {
	fsys fs.FS
	base int64
	max  int32 // entries
	// width of an entry in bytes: a key (offset, or timestamp) of width-4 bytes and a value of 4.
	width int32
	bound *Mappings // nil: no limit

	disk sync.Mutex
	size int64 // of the file in bytes, -1 when there is none; under disk

	// name changes under both locks when the segment is renamed.
	name string

	mu sync.RWMutex // what follows is under it
	// n is the number of entries. At rest it is the number of whole ones in the file.
	n int32
	// used: a lookup went through view since Mappings looked last.
	used atomic.Bool
	// last holds the bytes of the last entry.
	last [12]byte
	// found: see Found; under disk, and here because there is room.
	found bool
	act   *active
	view  *view
}

// active is the state of an index that is written to.
type active struct {
	mem []byte // all entries; under mu, and not cut without disk
	// written is how many bytes of mem the file has, from its start; under disk.
	written int64
	// file is open while it has writes that are not flushed, else nil; under disk.
	file fs.File
}

// view is what lookups of an index at rest read.
type view struct {
	bytes []byte
	// mapping is nil when bytes were read into memory.
	mapping fs.Mapping
}

// open fills t from the file, which need not exist.
func (t *table) open() error {
	t.size = -1
	f, err := t.fsys.Open(t.name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	defer f.Close()
	if t.size, err = f.Size(); err != nil {
		return fmt.Errorf("size of %s: %w", t.name, err)
	}
	// A position has 31 bits, and so has the size of an index. Larger is garbage; Check says so.
	t.n = int32(min(t.size, 1<<31-1) / int64(t.width))
	if t.n == 0 {
		return nil
	}
	at := int64(t.n-1) * int64(t.width)
	if err = readFull(f, t.last[:t.width], at); err != nil {
		return fmt.Errorf("read last entry of %s at %d: %w", t.name, at, err)
	}
	return nil
}

// readFull reads len(p) bytes at position at; a file that is shorter than it was is io.ErrUnexpectedEOF.
func readFull(f fs.File, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Activate reads all entries into memory, so that the next Append does not wait for a disk.
func (t *table) Activate() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.activate()
}

// activate brings all entries into memory. The caller holds mu.
func (t *table) activate() error {
	if t.act != nil {
		return nil
	}
	a := &active{written: int64(t.n) * int64(t.width)}
	if t.n > 0 {
		f, err := t.fsys.Open(t.name, os.O_RDONLY)
		if err != nil {
			return fmt.Errorf("open index: %w", err)
		}
		defer f.Close()
		a.mem = make([]byte, a.written)
		if err = readFull(f, a.mem, 0); err != nil {
			return fmt.Errorf("read %d bytes of %s: %w", a.written, t.name, err)
		}
	}
	if err := t.unmap(); err != nil {
		return err
	}
	t.act = a
	return nil
}

// push appends an entry in memory. The caller holds mu and has called activate.
func (t *table) push(entry []byte) {
	t.act.mem = append(t.act.mem, entry...)
	copy(t.last[:], entry)
	t.n++
}

// Entries returns the number of entries.
func (t *table) Entries() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return int(t.n)
}

// relative returns offset relative to the base, if an entry can hold it.
func (t *table) relative(offset int64) (uint32, error) {
	// The difference of two offsets from 0 on does not overflow.
	if offset < t.base || offset-t.base > 1<<31-1 {
		return 0, fmt.Errorf("offset %d in %s with base %d: %w", offset, t.name, t.base, ErrRange)
	}
	return uint32(offset - t.base), nil
}

// value returns the second column of an entry, key the first one (of an entry of width 8 or 12).
func value(entry []byte) int32 { return int32(binary.BigEndian.Uint32(entry[len(entry)-4:])) }

func key(entry []byte) int64 {
	if len(entry) == 8 {
		return int64(int32(binary.BigEndian.Uint32(entry)))
	}
	return int64(binary.BigEndian.Uint64(entry))
}

// floor returns how many entries of b have a key (with byValue, a value) of at most target.
func (t *table) floor(b []byte, target int64, byValue bool) int {
	w := int(t.width)
	lo, hi := 0, len(b)/w
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		e := b[mid*w : mid*w+w]
		k := key(e)
		if byValue {
			k = int64(value(e))
		}
		if k <= target {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
