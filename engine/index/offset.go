package index

import (
	"encoding/binary"
	"fmt"

	"github.com/zurau/zurau/engine/fs"
)

// OffsetWidth is the size of an offset index entry in bytes: segment.index.bytes divided by it is maxEntries.
const OffsetWidth = 8

// Offset is the offset index of one segment. See the package comment for who may call what.
type Offset struct{ table }

// OpenOffset opens the index in the file name, of the segment with baseOffset, at rest; a missing file is an empty
// index and is made by the first Flush. It reads the last entry and checks nothing: see Check. maxEntries bounds what
// Append accepts.
func OpenOffset(fsys fs.FS, name string, baseOffset int64, maxEntries int) (*Offset, error) {
	x := &Offset{table{fsys: fsys, name: name, base: baseOffset, max: clamp(maxEntries), width: OffsetWidth}}
	if err := x.open(); err != nil {
		return nil, err
	}
	return x, nil
}

// clamp keeps the size of an index in 31 bits, like Kafka's configuration.
func clamp(entries int) int32 { return int32(min(max(entries, 0), (1<<31-1)/OffsetWidth)) }

// Append adds the batch with the last offset offset at position in the log file. Errors: ErrRange (the segment must
// roll first), ErrOrder, ErrFull, or of reading the file when the index was at rest; the index is then unchanged.
func (x *Offset) Append(offset int64, position int32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	rel, err := x.relative(offset)
	if err != nil {
		return err
	}
	if x.n > 0 {
		if last := x.base + key(x.last[:OffsetWidth]); offset <= last {
			return fmt.Errorf("offset %d after %d in %s: %w", offset, last, x.name, ErrOrder)
		}
	}
	if x.n >= x.max {
		return fmt.Errorf("%d entries in %s: %w", x.n, x.name, ErrFull)
	}
	if err := x.activate(); err != nil {
		return err
	}
	var e [OffsetWidth]byte
	binary.BigEndian.PutUint32(e[:], rel)
	binary.BigEndian.PutUint32(e[4:], uint32(position))
	x.push(e[:])
	return nil
}

// Lookup returns the greatest entry whose offset is at most offset, or the base offset and position 0: the position
// to start reading at. An error that is ErrCorrupt asks for a rebuild.
func (x *Offset) Lookup(offset int64) (entryOffset int64, position int32, err error) {
	return x.lookup(offset, false)
}

// LookupNoWait is Lookup for who must not wait for a disk: it returns fs.ErrWouldBlock where the file would have to be read.
func (x *Offset) LookupNoWait(offset int64) (entryOffset int64, position int32, err error) {
	return x.lookup(offset, true)
}

func (x *Offset) lookup(offset int64, noWait bool) (entryOffset int64, position int32, err error) {
	e, ok, err := x.find(offset-x.base, false, noWait)
	if !ok {
		return x.base, 0, err
	}
	return x.base + key(e[:OffsetWidth]), value(e[:OffsetWidth]), err
}

// Behind returns the offset of the first entry whose position is at least position, or ok false: an upper bound for the
// offsets below the position, the one that Kafka takes. It is the second one where the first has just that position. Errors
// are those of Lookup.
func (x *Offset) Behind(position int64) (offset int64, ok bool, err error) {
	e, ok, err := x.find(position, true, false)
	return x.base + key(e[:OffsetWidth]), ok, err
}

// BehindNoWait is Behind for who must not wait for a disk: see LookupNoWait.
func (x *Offset) BehindNoWait(position int64) (offset int64, ok bool, err error) {
	e, ok, err := x.find(position, true, true)
	return x.base + key(e[:OffsetWidth]), ok, err
}

// Last returns the last entry, or ok false.
func (x *Offset) Last() (offset int64, position int32, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.n == 0 {
		return x.base, 0, false
	}
	return x.base + key(x.last[:OffsetWidth]), value(x.last[:OffsetWidth]), true
}

// Full reports whether the segment must roll because its index has no place left.
func (x *Offset) Full() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n >= x.max
}

// TruncateTo removes entries of offset and above, durably where the file has them.
func (x *Offset) TruncateTo(offset int64) error {
	if last, _, ok := x.Last(); !ok || last < offset {
		return nil
	}
	return x.truncate(func(mem []byte) int { return x.floor(mem, offset-1-x.base, false) })
}

// Check reads all entries and returns an ErrCorrupt if the file cannot be the index of a log file of logSize bytes:
// a size that is no multiple of an entry, an offset not above the base, columns that do not rise, a position that is 0
// or not in the log. It costs one sequential read, about 1/500 of the log's size.
func (x *Offset) Check(logSize int64) error {
	var lastKey, lastValue int64
	return x.check(func(k, v int64) string {
		switch {
		case k <= lastKey:
			return "the offset does not rise"
		case v <= lastValue:
			return "the position does not rise"
		case v >= logSize:
			return fmt.Sprintf("the log has %d bytes", logSize)
		}
		lastKey, lastValue = k, v
		return ""
	})
}
