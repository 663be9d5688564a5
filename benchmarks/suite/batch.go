package suite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/zurau/zurau/engine/record"
)

// A batch is the bytes of a record batch that is appended again and again. One stream owns it.
type batch struct {
	bytes   record.Batch
	records int64
	value   int // position of the first record's value
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// smallest is a batch of one record with a stamp.
	smallest = record.HeaderSize + 24
	stampLen = 8
	crcAt    = 17 // of the batch; what it covers starts behind it
	crcFrom  = 21
)

// newBatch returns a batch of n bytes with records whose values have size bytes, but for the last, as far as it reaches. Few sizes
// cannot be met, since a longer value lengthens its varints too: it is then up to two bytes smaller.
func newBatch(n, size int64) (*batch, error) {
	if n < smallest {
		return nil, fmt.Errorf("a batch of %d bytes: want %d at least", n, smallest)
	}
	if size < stampLen {
		return nil, fmt.Errorf("records of %d bytes: want %d at least", size, stampLen)
	}
	now := time.Now().UnixMilli()
	text := make([]byte, n)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	mark := []byte("<marked>")
	copy(text, mark)
	full := 0 // records of size bytes, before the last
	builder := record.NewBuilder(record.None)
	for size < n && n-int64(builder.UncompressedSize()) > 2*size+100 {
		builder.Add(now, nil, text[:size])
		full++
	}
	for rest := n - int64(max(builder.UncompressedSize(), record.HeaderSize)); rest >= 0; rest-- {
		builder.Reset()
		for range full {
			builder.Add(now, nil, text[:size])
		}
		if builder.Add(now, nil, text[:rest]).UncompressedSize() > int(n) {
			continue
		}
		b := builder.Bytes()
		at := bytes.Index(b, mark)
		if at < 0 {
			break
		}
		return &batch{bytes: b, records: int64(b.Count()), value: at}, nil
	}
	return nil, fmt.Errorf("no batch of %d bytes has records of %d", n, size)
}

// stamp writes a time into the first record's value.
func (b *batch) stamp(due time.Time) {
	binary.BigEndian.PutUint64(b.bytes[b.value:], uint64(due.UnixNano()))
	binary.BigEndian.PutUint32(b.bytes[crcAt:], crc32.Checksum(b.bytes[crcFrom:], castagnoli))
}

// whole returns how many batches of b's size there are in bytes of a log of them.
func (b *batch) whole(n int) int { return n / len(b.bytes) }

// stamps calls got for each whole batch in bytes of a log that has nothing else, and returns their number.
func (b *batch) stamps(log []byte, got func(due time.Time, bytes int64)) int {
	n := b.whole(len(log))
	for i := range n {
		at := i*len(b.bytes) + b.value
		got(time.Unix(0, int64(binary.BigEndian.Uint64(log[at:at+stampLen]))), int64(len(b.bytes)))
	}
	return n
}
