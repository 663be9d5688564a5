package record

import (
	"encoding/binary"
)

// Header is one header of a record. A nil Value is null; a Key is never null.
type Header struct {
	Key   string
	Value []byte
}

// Builder makes one magic 2 batch: for the broker's own records, tools and tests. Set the fields before Bytes; NewBuilder
// gives what an ordinary producer sends.
type Builder struct {
	Codec Codec
	Level int // the codec's own, 0 its default

	BaseOffset           int64
	PartitionLeaderEpoch int32
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Transactional        bool
	Control              bool
	// LogAppendTime stamps the batch with LogAppendTimeMs in place of the records' largest timestamp.
	LogAppendTime   bool
	LogAppendTimeMs int64

	records   []byte
	count     int32
	base, max int64
}

// NewBuilder returns a builder for a batch without producer id, sequence and leader epoch.
func NewBuilder(codec Codec) *Builder {
	return &Builder{
		Codec:                codec,
		PartitionLeaderEpoch: noLeaderEpoch,
		ProducerID:           noProducerID,
		ProducerEpoch:        noProducerEpoch,
		BaseSequence:         noSequence,
		max:                  noTimestamp,
	}
}

// Producer sets producer id, epoch and base sequence.
func (b *Builder) Producer(id int64, epoch int16, sequence int32) *Builder {
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, sequence
	return b
}

// Add appends a record with a timestamp in ms. A nil key or value is null; the bytes are copied.
func (b *Builder) Add(timestamp int64, key, value []byte, headers ...Header) *Builder {
	if b.count == 0 {
		b.base, b.max = timestamp, timestamp
	}
	b.max = max(b.max, timestamp)
	b.records = appendRecord(b.records, timestamp-b.base, b.count, key, value, headers)
	b.count++
	return b
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// UncompressedSize is what the batch would have in bytes without compression.
func (b *Builder) UncompressedSize() int { return HeaderSize + len(b.records) }

// Reset drops the records and keeps fields and memory.
func (b *Builder) Reset() { b.records, b.count, b.max = b.records[:0], 0, noTimestamp }

// AppendTo appends the batch to dst. It panics without records (a batch has at least one) and with a codec or level
// that does not exist.
func (b *Builder) AppendTo(dst []byte) []byte {
	if b.count == 0 {
		panic("record: a batch without records")
	}
	start := len(dst)
	dst = appendHeader(dst, b.count)
	dst, err := Compress(dst, b.records, b.Codec, b.Level)
	if err != nil {
		panic("record: " + err.Error())
	}
	out := Batch(dst[start:])
	out.SetBaseOffset(b.BaseOffset)
	out.SetPartitionLeaderEpoch(b.PartitionLeaderEpoch)
	binary.BigEndian.PutUint64(out[producerIDAt:], uint64(b.ProducerID))
	binary.BigEndian.PutUint16(out[producerEpochAt:], uint16(b.ProducerEpoch))
	binary.BigEndian.PutUint32(out[baseSequenceAt:], uint32(b.BaseSequence))
	stamp := b.max
	if b.LogAppendTime {
		stamp = b.LogAppendTimeMs
	}
	out.setHeader(attributes(b.Codec, b.LogAppendTime, b.Transactional, b.Control), b.base, stamp)
	return dst
}

// Bytes returns the batch in memory of its own.
func (b *Builder) Bytes() Batch { return b.AppendTo(nil) }

// appendHeader appends the header of a batch of count records and no producer; setHeader fills in the rest.
func appendHeader(dst []byte, count int32) []byte {
	var h [HeaderSize]byte
	binary.BigEndian.PutUint32(h[leaderEpochAt:], ^uint32(0))
	h[magicAt] = byte(currentMagic)
	binary.BigEndian.PutUint32(h[lastOffsetDeltaAt:], uint32(count-1))
	for i := producerIDAt; i < countAt; i++ {
		h[i] = 0xff // -1: no producer id, epoch, sequence
	}
	binary.BigEndian.PutUint32(h[countAt:], uint32(count))
	return append(dst, h[:]...)
}

// appendRecord appends one record of magic 2.
func appendRecord(dst []byte, timestampDelta int64, offsetDelta int32, key, value []byte, headers []Header) []byte {
	size := 1 + sizeVarint(timestampDelta) + sizeVarint(int64(offsetDelta)) + sizeBytes(key) + sizeBytes(value) + sizeVarint(int64(len(headers)))
	for i := range headers {
		size += sizeVarint(int64(len(headers[i].Key))) + len(headers[i].Key) + sizeBytes(headers[i].Value)
	}
	dst = appendVarint(dst, int64(size))
	dst = append(dst, 0)
	dst = appendVarint(dst, timestampDelta)
	dst = appendVarint(dst, int64(offsetDelta))
	dst = appendBytes(dst, key)
	dst = appendBytes(dst, value)
	dst = appendVarint(dst, int64(len(headers)))
	for i := range headers {
		dst = appendVarint(dst, int64(len(headers[i].Key)))
		dst = append(dst, headers[i].Key...)
		dst = appendBytes(dst, headers[i].Value)
	}
	return dst
}

func sizeBytes(b []byte) int {
	if b == nil {
		return 1
	}
	return sizeVarint(int64(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1: null
	}
	return append(appendVarint(dst, int64(len(b))), b...)
}
