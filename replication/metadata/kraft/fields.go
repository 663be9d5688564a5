package kraft

import (
	"errors"
	"fmt"
	"math"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/replication/metadata/decode"
)

// fields reads Kafka's flexible encoding.
type fields struct{ decode.Fields }

func (f *fields) uvarint() uint64 { return f.Uvarint(math.MaxUint32) }

func (f *fields) int8() int8 { return int8(f.Uint8()) }

func (f *fields) bool() bool { return f.int8() != 0 }

func (f *fields) int16() int16 { return int16(f.Uint16()) }

func (f *fields) int32() int32 { return int32(f.Uint32()) }

func (f *fields) int64() int64 { return int64(f.Uint64()) }

func (f *fields) id() (id metadata.ID) {
	copy(id[:], f.Take(len(id)))
	return id
}

// bytes reads bytes behind their length; ok is false where they are null.
func (f *fields) bytes() (p []byte, ok bool) {
	n := f.uvarint()
	if n == 0 {
		return nil, false
	}
	return f.Take(int(n - 1)), true
}

// nullable reads a string that may be null.
func (f *fields) nullable() (s string, ok bool) {
	p, ok := f.bytes()
	return string(p), ok
}

func (f *fields) string() string {
	s, ok := f.nullable()
	if !ok {
		f.Fail(errors.New("a string that is null"))
	}
	return s
}

// count reads the length of an array whose elements take at least size bytes each; ok is false where it is null.
func (f *fields) count(size int) (n int, ok bool) {
	v := f.uvarint()
	if v == 0 {
		return 0, false
	}
	n = f.Count(v-1, size)
	return n, f.Err == nil
}

// int32s reads an array, nil where it is null or empty.
func (f *fields) int32s() []int32 {
	n, _ := f.count(4)
	return decode.List(n, f.int32)
}

// ids reads an array, nil where it is null or empty.
func (f *fields) ids() []metadata.ID {
	n, _ := f.count(16)
	return decode.List(n, f.id)
}

// tagged reads the tagged fields at the end of a structure: read is given each one's bytes, and reads what it knows.
func (f *fields) tagged(read func(tag uint64, f *fields)) {
	for n := f.uvarint(); n > 0 && f.Err == nil; n-- {
		tag := f.uvarint()
		of := fields{decode.Fields{B: f.Take(int(f.uvarint()))}}
		if f.Err != nil {
			return
		}
		if read(tag, &of); of.Err != nil {
			f.Fail(fmt.Errorf("tagged field %d: %w", tag, of.Err))
		}
	}
}

// untagged skips the tagged fields of a structure of which none is needed.
func (f *fields) untagged() { f.tagged(func(uint64, *fields) {}) }
