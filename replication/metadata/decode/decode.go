// Package decode reads fields off the front of bytes that somebody else wrote: what the records of the metadata and those of Kafka's
// have in common. Each format builds its own fields of these.
package decode

import (
	"encoding/binary"
	"errors"
)

// ErrShort is the error of bytes that end before a field does.
var ErrShort = errors.New("ends in the middle of a field")

// Fields reads off the front of B. The first failure sticks in Err and every field after it is zero, so that callers check once. Counts and
// lengths are held against the bytes that are left before anything is allocated.
type Fields struct {
	B   []byte // what is left
	Err error
}

// Fail says that what was read makes no sense.
func (f *Fields) Fail(err error) {
	if f.Err == nil {
		f.Err = err
	}
	f.B = nil
}

// Take returns the next n bytes, or nil and an error where there are fewer. They are B's.
func (f *Fields) Take(n int) []byte {
	if n < 0 || n > len(f.B) {
		f.Fail(ErrShort)
		return nil
	}
	p := f.B[:n:n]
	f.B = f.B[n:]
	return p
}

// Uint8 reads a byte.
func (f *Fields) Uint8() byte {
	if p := f.Take(1); p != nil {
		return p[0]
	}
	return 0
}

// Uint16 reads two bytes, big endian.
func (f *Fields) Uint16() uint16 {
	if p := f.Take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

// Uint32 reads four bytes, big endian.
func (f *Fields) Uint32() uint32 {
	if p := f.Take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

// Uint64 reads eight bytes, big endian.
func (f *Fields) Uint64() uint64 {
	if p := f.Take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// Uvarint reads an unsigned number of variable length, of up to most.
func (f *Fields) Uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(f.B)
	if n <= 0 || v > most {
		f.Fail(ErrShort)
		return 0
	}
	f.B = f.B[n:]
	return v
}

// Varint reads a zigzag number of variable length.
func (f *Fields) Varint() int64 {
	v, n := binary.Varint(f.B)
	if n <= 0 {
		f.Fail(ErrShort)
		return 0
	}
	f.B = f.B[n:]
	return v
}

// Count returns n where so many elements, of size bytes each at least, may be left, and else 0 and an error.
func (f *Fields) Count(n uint64, size int) int {
	if n > uint64(len(f.B)/size) {
		f.Fail(ErrShort)
		return 0
	}
	return int(n)
}

// List reads n elements; nil where n is 0. The caller has held n against what is left.
func List[T any](n int, read func() T) []T {
	if n == 0 {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		list[i] = read()
	}
	return list
}
