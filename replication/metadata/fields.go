package metadata

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/zurau/zurau/replication/metadata/decode"
)

// decoder reads the fields of records and frames.
type decoder struct {
	decode.Fields
	sharing *sharing // nil: every record has its own memory
}

func (d *decoder) byte() byte { return d.Uint8() }

func (d *decoder) bool() bool {
	v := d.byte()
	if v > 1 {
		d.Fail(errors.New("a boolean that is neither 0 nor 1"))
	}
	return v == 1
}

func (d *decoder) uint16() uint16 { return d.Uint16() }

func (d *decoder) uvarint() uint64 { return d.Uvarint(math.MaxUint64) }

func (d *decoder) int64() int64 { return d.Varint() }

func (d *decoder) int32() int32 {
	v := d.int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.Fail(errors.New("a number beyond 32 bits"))
		return 0
	}
	return int32(v)
}

// count reads the length of an array whose elements take at least size bytes each.
func (d *decoder) count(size int) int { return d.Count(d.uvarint(), size) }

func (d *decoder) string() string { return string(d.Take(d.count(1))) }

func (d *decoder) id() (id ID) {
	copy(id[:], d.Take(len(id)))
	return id
}

func (d *decoder) ids() []ID { return decode.List(d.count(len(ID{})), d.id) }

func (d *decoder) int32s() []int32 { return decode.List(d.count(1), d.int32) }

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
