package index

import (
	"encoding/binary"
	"fmt"

	"github.com/zurau/zurau/engine/fs"
)

// TimeWidth is the size of a time index entry in bytes: segment.index.bytes divided by it is maxEntries.
const TimeWidth = 12

// Time is the time index of one segment. Timestamps are milliseconds since 1970. See the package comment for who may
// call what.
type Time struct{ table }

// OpenTime is OpenOffset for a time index.
func OpenTime(fsys fs.FS, name string, baseOffset int64, maxEntries int) (*Time, error) {
	x := &Time{table{fsys: fsys, name: name, base: baseOffset, max: clamp(maxEntries), width: TimeWidth}}
	if err := x.open(); err != nil {
		return nil, err
	}
	return x, nil
}

// MaybeAppend says that timestamp is the largest one of the segment up to now and that the record at offset was the first
// one with it. It is passed over unless timestamp is greater than that of the last entry (than -1, in an empty index),
// so it may be called again with the same pair at a roll or close. Errors: ErrOrder (a smaller timestamp or offset than
// the last entry's: a bug of the caller or a file that was not checked), ErrRange, ErrFull, or of reading the file when
// the index was at rest; the index is then unchanged.
func (x *Time) MaybeAppend(timestamp, offset int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	lastTimestamp, lastOffset, ok := x.end()
	if ok && (offset < lastOffset || timestamp < lastTimestamp) {
		return fmt.Errorf("timestamp %d of offset %d after %d of %d in %s: %w",
			timestamp, offset, lastTimestamp, lastOffset, x.name, ErrOrder)
	}
	if timestamp <= lastTimestamp {
		return nil
	}
	rel, err := x.relative(offset)
	if err != nil {
		return err
	}
	if x.n >= x.max {
		return fmt.Errorf("%d entries in %s: %w", x.n, x.name, ErrFull)
	}
	if err := x.activate(); err != nil {
		return err
	}
	var e [TimeWidth]byte
	binary.BigEndian.PutUint64(e[:], uint64(timestamp))
	binary.BigEndian.PutUint32(e[8:], rel)
	x.push(e[:])
	return nil
}

// Lookup returns the greatest entry whose timestamp is at most timestamp, or -1 and the base offset: no batch before the
// one that holds offset has a record of timestamp or later. An error that is ErrCorrupt asks for a rebuild.
func (x *Time) Lookup(timestamp int64) (entryTimestamp, offset int64, err error) {
	e, ok, err := x.find(timestamp, false, false)
	if !ok {
		return -1, x.base, err
	}
	return key(e[:]), x.base + int64(value(e[:])), err
}

// Last returns the last entry: the largest timestamp of a segment at rest and its offset. Without one it is -1, the
// base offset and false.
func (x *Time) Last() (timestamp, offset int64, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.end()
}

// end is Last for a caller that holds mu.
func (x *Time) end() (timestamp, offset int64, ok bool) {
	if x.n == 0 {
		return -1, x.base, false
	}
	return key(x.last[:]), x.base + int64(value(x.last[:])), true
}

// Full reports whether the segment must roll because its index has no place left. One entry is kept back for the one
// that the roll itself appends.
func (x *Time) Full() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n >= x.max-1
}

// TruncateTo removes entries of offset and above, durably where the file has them.
func (x *Time) TruncateTo(offset int64) error {
	if _, last, ok := x.Last(); !ok || last < offset {
		return nil
	}
	return x.truncate(func(mem []byte) int { return x.floor(mem, offset-1-x.base, true) })
}

// Check reads all entries and returns an ErrCorrupt if the file cannot be a time index: a size that is no multiple of
// an entry, timestamps that do not rise, offsets that fall, or one entry of zeros. (That could be a record of 1970 at
// the base offset; building the index again is right for it, too.)
func (x *Time) Check() error {
	lastTimestamp, lastOffset := int64(-1), int64(0)
	single := x.Entries() == 1
	return x.check(func(k, v int64) string {
		switch {
		case k <= lastTimestamp:
			return "the timestamp does not rise"
		case v < lastOffset:
			return "the offset falls"
		case single && k == 0 && v == 0:
			return "an entry of zeros"
		}
		lastTimestamp, lastOffset = k, v
		return ""
	})
}
