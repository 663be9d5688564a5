package metadata

import (
	"encoding/binary"
	"errors"
	"math"
)

// decoder reads fields off the front of b. The first failure sticks in err and every field after it is zero, so that
// callers check once. Counts and lengths are held against the bytes that are left before anything is allocated.
type decoder struct {
	b       []byte
	err     error
	sharing *sharing // nil: every record has its own memory
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// take returns the next n bytes, or nil and an error where there are fewer.
func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail(errShort)
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) byte() byte {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (d *decoder) bool() bool {
	v := d.byte()
	if v > 1 {
		d.fail(errors.New("a boolean that is neither 0 nor 1"))
	}
	return v == 1
}

func (d *decoder) uint16() uint16 {
	if p := d.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int64() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int32() int32 {
	v := d.int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.fail(errors.New("a number beyond 32 bits"))
		return 0
	}
	return int32(v)
}

// count reads the length of an array whose elements take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) string() string { return string(d.take(d.count(1))) }

func (d *decoder) id() (id ID) {
	copy(id[:], d.take(len(id)))
	return id
}

func (d *decoder) ids() []ID {
	n := d.count(len(ID{}))
	if n == 0 {
		return nil
	}
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = d.id()
	}
	return ids
}

func (d *decoder) int32s() []int32 {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = d.int32()
	}
	return v
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt32s(b []byte, v []int32) []byte {
	b = binary.AppendUvarint(b, uint64(len(v)))
	for _, n := range v {
		b = binary.AppendVarint(b, int64(n))
	}
	return b
}

func appendIDs(b []byte, ids []ID) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for i := range ids {
		b = append(b, ids[i][:]...)
	}
	return b
}
