package suite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/engine/record"
)

// A batch is the bytes of a record batch that is appended again and again. One stream owns it.
type batch struct {
	bytes   record.Batch
	records int64
	value   int // position of the first record's value; of a compressed batch, which has no stamp, 0
}

// unlimited is no bound of a batch but its job's.
const unlimited = math.MaxInt64

// errNoStamp says that a job asks for what cannot be.
var errNoStamp = errors.New("codec: a batch that a reader waits for carries the time, which does not go with compression")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// smallest is a batch of one record with a stamp.
	smallest = record.HeaderSize + 24
	stampLen = 8
	crcAt    = 17 // of the batch; what it covers starts behind it
	crcFrom  = 21
)

// batchOf returns the batch that a job says, of bytes at most.
func batchOf(j *job.Job, bytes int64) (*batch, error) {
	codec, ok := record.ParseCodec(cmp.Or(j.Own.Codec, "none"))
	if !ok {
		return nil, fmt.Errorf("no codec %q", j.Own.Codec)
	}
	return newBatch(min(j.Batch(), bytes), j.Record(), codec)
}

// newBatch returns a batch of n bytes, before they are compressed, with records whose values have size bytes, but for the last, as
// far as it reaches. Few sizes cannot be met, since a longer value lengthens its varints too: it is then up to two bytes smaller.
func newBatch(n, size int64, codec record.Codec) (*batch, error) {
	if n < smallest {
		return nil, fmt.Errorf("a batch of %d bytes: want %d at least", n, smallest)
	}
	if size < stampLen {
		return nil, fmt.Errorf("records of %d bytes: want %d at least", size, stampLen)
	}
	now := time.Now().UnixMilli()
	text := words(int(n + size))
	mark := []byte("<marked>")
	copy(text, mark)
	value := func(k int) []byte { return text[int64(k)*size%n:] }
	full := 0 // records of size bytes, before the last
	builder := record.NewBuilder(codec)
	for size < n && n-int64(builder.UncompressedSize()) > 2*size+100 {
		builder.Add(now, nil, value(full)[:size])
		full++
	}
	for rest := n - int64(max(builder.UncompressedSize(), record.HeaderSize)); rest >= 0; rest-- {
		builder.Reset()
		for k := range full {
			builder.Add(now, nil, value(k)[:size])
		}
		if builder.Add(now, nil, value(full)[:rest]).UncompressedSize() > int(n) {
			continue
		}
		b := builder.Bytes()
		if codec != record.None {
			return &batch{bytes: b, records: int64(b.Count())}, nil
		}
		at := bytes.Index(b, mark)
		if at < 0 {
			break
		}
		return &batch{bytes: b, records: int64(b.Count()), value: at}, nil
	}
	return nil, fmt.Errorf("no batch of %d bytes has records of %d", n, size)
}

// words returns n bytes that compress as logs do, to between a third and a fifth.
func words(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 0, n+32)
	for len(b) < n {
		b = fmt.Appendf(b, `{"level":%d,"user":"%08x","path":"/items/%d"}`, r.IntN(5), r.Uint32(), r.IntN(1000))
	}
	return b[:n]
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
