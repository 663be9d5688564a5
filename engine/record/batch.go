package record

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// Positions of the fields of a magic 2 batch, see doc.go.
const (
	baseOffsetAt      = 0
	lengthAt          = 8
	leaderEpochAt     = 12
	magicAt           = 16
	crcAt             = 17
	attributesAt      = 21
	lastOffsetDeltaAt = 23
	baseTimestampAt   = 27
	maxTimestampAt    = 35
	producerIDAt      = 43
	producerEpochAt   = 51
	baseSequenceAt    = 53
	countAt           = 57

	// HeaderSize is the size in bytes of a magic 2 batch without its records.
	HeaderSize = 61

	lengthOverhead = 12 // base offset and length, which the length does not count
	upToMagic      = 17 // bytes of any magic that are needed to know the magic
)

// Bits of the attributes of a magic 2 batch.
const (
	codecMask         = 0x07
	logAppendTimeBit  = 0x08
	transactionalBit  = 0x10
	controlBit        = 0x20
	deleteHorizonBit  = 0x40
	noTimestamp       = int64(-1)
	noSequence        = int32(-1)
	noProducerID      = int64(-1)
	noProducerEpoch   = int16(-1)
	noLeaderEpoch     = int32(-1)
	currentMagic      = int8(2)
	minLegacyOverhead = 14 // the smallest length that a message of magic 0 can have
)

// castagnoli is the polynomial of CRC-32C; hash/crc32 uses the CPU's instruction for it. A table is a constant.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole magic 2 batch: its header and its records, as on the wire and on disk. Accessors need
// len(b) >= HeaderSize, which Next guarantees; they do not check anything else.
type Batch []byte

// BaseOffset is the offset of the first record that the batch had when it was appended.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b[baseOffsetAt:])) }

// Size is the size in bytes that the header states, with the header.
func (b Batch) Size() int { return lengthOverhead + int(int32(binary.BigEndian.Uint32(b[lengthAt:]))) }

// PartitionLeaderEpoch is the epoch of the leader that appended the batch; -1 from a producer.
func (b Batch) PartitionLeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[leaderEpochAt:])) }

// Magic is the version of the format: 2.
func (b Batch) Magic() int8 { return int8(b[magicAt]) }

// CRC is the stored CRC-32C of everything behind it.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[crcAt:]) }

// Attributes are the batch's attribute bits; only the low byte is used.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[attributesAt:])) }

// Codec is how the records are compressed. It may be one that does not exist: see Codec.Known.
func (b Batch) Codec() Codec { return Codec(b[attributesAt+1] & codecMask) }

// LastOffsetDelta is the offset of the last record relative to the base offset. Compaction leaves it as it was.
func (b Batch) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(b[lastOffsetDeltaAt:])) }

// LastOffset is the offset of the last record that the batch had when it was appended.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// BaseTimestamp is what the records' timestamps are relative to, in ms; the delete horizon where HasDeleteHorizon.
func (b Batch) BaseTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[baseTimestampAt:])) }

// MaxTimestamp is the largest timestamp of the records in ms, or the broker's time where IsLogAppendTime.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[maxTimestampAt:])) }

// ProducerID is -1 where the producer is not idempotent.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[producerIDAt:])) }

// ProducerEpoch is -1 where the producer is not idempotent.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[producerEpochAt:])) }

// BaseSequence is the sequence of the first record, -1 where there is none.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[baseSequenceAt:])) }

// LastSequence is the sequence of the last record, -1 where there is none. Behind 2^31-1 comes 0.
func (b Batch) LastSequence() int32 { return lastSequence(b.BaseSequence(), b.LastOffsetDelta()) }

// Count is the number of records.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[countAt:])) }

// IsTransactional reports whether the batch belongs to a transaction.
func (b Batch) IsTransactional() bool { return b[attributesAt+1]&transactionalBit != 0 }

// IsControl reports whether the records are markers of the broker, not a client's.
func (b Batch) IsControl() bool { return b[attributesAt+1]&controlBit != 0 }

// IsLogAppendTime reports whether the broker's time at the append stands for the records' timestamps.
func (b Batch) IsLogAppendTime() bool { return b[attributesAt+1]&logAppendTimeBit != 0 }

// HasDeleteHorizon reports whether the base timestamp is the time at which compaction may drop tombstones.
func (b Batch) HasDeleteHorizon() bool { return b[attributesAt+1]&deleteHorizonBit != 0 }

// SetBaseOffset sets the base offset, which the CRC does not cover.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[baseOffsetAt:], uint64(offset))
}

// SetPartitionLeaderEpoch sets the leader epoch, which the CRC does not cover.
func (b Batch) SetPartitionLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[leaderEpochAt:], uint32(epoch))
}

// Check returns an *Error unless b is one whole magic 2 batch with a right CRC, a known codec and a header whose
// counts are possible in a stored log: after compaction, fewer records than the last offset delta says, even none.
// It does not look at the records.
func (b Batch) Check() error {
	if len(b) < HeaderSize || b.Size() != len(b) {
		return errorf(Corrupt, "batch of %d bytes in %d", b.sizeOrZero(), len(b))
	}
	if b.Magic() != currentMagic {
		return errorf(UnsupportedVersion, "magic %d", b.Magic())
	}
	if sum := b.checksum(); sum != b.CRC() {
		return errorf(Corrupt, "Record is corrupt (stored crc = %d, computed crc = %d)", b.CRC(), sum)
	}
	if !b.Codec().Known() {
		return errorf(UnsupportedCompression, "unknown compression type %d", b.Codec())
	}
	delta, count := b.LastOffsetDelta(), b.Count()
	if delta < 0 || count < 0 || int64(count) > int64(delta)+1 {
		return errorf(Corrupt, "%d records in a batch with last offset delta %d", count, delta)
	}
	return nil
}

func (b Batch) sizeOrZero() int {
	if len(b) < lengthOverhead {
		return 0
	}
	return b.Size()
}

// checksum computes the CRC-32C of everything behind the stored one.
func (b Batch) checksum() uint32 { return crc32.Checksum(b[attributesAt:], castagnoli) }

// seal stores the CRC after a change behind it.
func (b Batch) seal() { binary.BigEndian.PutUint32(b[crcAt:], b.checksum()) }

// records returns the bytes of the records, compressed or not.
func (b Batch) records() []byte { return b[HeaderSize:] }

// Next splits the next batch off b, the bytes of a stored log. err is io.EOF when b is empty, io.ErrUnexpectedEOF when
// it ends within a batch, and an *Error when what is there cannot be a batch. The CRC is not checked: see Check.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, io.EOF
	}
	if len(b) < upToMagic {
		return nil, b, io.ErrUnexpectedEOF
	}
	if m := Batch(b).Magic(); m != currentMagic {
		return nil, b, errorf(UnsupportedVersion, "magic %d", m)
	}
	size := Batch(b).Size()
	if size < HeaderSize {
		return nil, b, errorf(Corrupt, "batch of %d bytes, less than its header of %d", size, HeaderSize)
	}
	if size > len(b) {
		return nil, b, io.ErrUnexpectedEOF
	}
	return Batch(b[:size:size]), b[size:], nil
}

// lastSequence counts on from a base sequence; sequences are 0 to 2^31-1 in a ring.
func lastSequence(base, delta int32) int32 {
	if base == noSequence {
		return noSequence
	}
	if base > math.MaxInt32-delta {
		return delta - (math.MaxInt32 - base) - 1
	}
	return base + delta
}
