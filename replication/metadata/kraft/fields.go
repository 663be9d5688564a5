package kraft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zurau/zurau/replication/metadata"
)

var errShort = errors.New("ends in the middle of a field")

// fields reads Kafka's flexible encoding off the front of b. The first failure sticks in err and every field after it is
// zero. Lengths are held against the bytes that are left before anything is allocated.
type fields struct {
	b   []byte
	err error
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.b = nil
}

// take returns the next n bytes, or nil and an error where there are fewer.
func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.fail(errShort)
		return nil
	}
	p := f.b[:n:n]
	f.b = f.b[n:]
	return p
}

func (f *fields) uvarint() uint64 {
	v, n := binary.Uvarint(f.b)
	if n <= 0 || v > math.MaxUint32 {
		f.fail(errShort)
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) int8() int8 {
	if p := f.take(1); p != nil {
		return int8(p[0])
	}
	return 0
}

func (f *fields) bool() bool { return f.int8() != 0 }

func (f *fields) int16() int16 {
	if p := f.take(2); p != nil {
		return int16(binary.BigEndian.Uint16(p))
	}
	return 0
}

func (f *fields) int32() int32 {
	if p := f.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (f *fields) int64() int64 {
	if p := f.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (f *fields) id() (id metadata.ID) {
	copy(id[:], f.take(len(id)))
	return id
}

// bytes reads bytes behind their length; ok is false where they are null.
func (f *fields) bytes() (p []byte, ok bool) {
	n := f.uvarint()
	if n == 0 {
		return nil, false
	}
	return f.take(int(n - 1)), true
}

// nullable reads a string that may be null.
func (f *fields) nullable() (s string, ok bool) {
	p, ok := f.bytes()
	return string(p), ok
}

func (f *fields) string() string {
	s, ok := f.nullable()
	if !ok {
		f.fail(errors.New("a string that is null"))
	}
	return s
}

// count reads the length of an array whose elements take at least size bytes each; ok is false where it is null.
func (f *fields) count(size int) (n int, ok bool) {
	v := f.uvarint()
	if v == 0 {
		return 0, false
	}
	if v-1 > uint64(len(f.b)/size) {
		f.fail(errShort)
		return 0, false
	}
	return int(v - 1), true
}

// int32s reads an array, nil where it is null.
func (f *fields) int32s() []int32 {
	n, ok := f.count(4)
	if !ok {
		return nil
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = f.int32()
	}
	return v
}

func (f *fields) ids() []metadata.ID {
	n, ok := f.count(16)
	if !ok {
		return nil
	}
	v := make([]metadata.ID, n)
	for i := range v {
		v[i] = f.id()
	}
	return v
}

// tagged reads the tagged fields at the end of a structure: read is given each one's bytes, and reads what it knows.
func (f *fields) tagged(read func(tag uint64, f *fields)) {
	for n := f.uvarint(); n > 0 && f.err == nil; n-- {
		tag := f.uvarint()
		of := fields{b: f.take(int(f.uvarint()))}
		if f.err != nil {
			return
		}
		if read(tag, &of); of.err != nil {
			f.fail(fmt.Errorf("tagged field %d: %w", tag, of.err))
		}
	}
}

// untagged skips the tagged fields of a structure of which none is needed.
func (f *fields) untagged() { f.tagged(func(uint64, *fields) {}) }
