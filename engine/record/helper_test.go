package record

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

const now = int64(1_700_000_000_000) // the time of the appends in these tests, ms

var codecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// clientRules are a topic's defaults at now.
func clientRules() Rules { return DefaultRules(now) }

// sample builds a batch of n records with keys, values of size bytes that compress a little, and some headers.
func sample(c Codec, n, size int) *Builder {
	b := NewBuilder(c)
	for i := range n {
		value := bytes.Repeat([]byte{byte(i), byte(i * 7), 'x'}, size/3+1)[:size]
		var h []Header
		if i%3 == 1 {
			h = []Header{{Key: "h", Value: []byte("1")}, {Key: "", Value: nil}}
		}
		b.Add(now+int64(i%5)*10, []byte{'k', byte(i)}, value, h...)
	}
	return b
}

// mangled is sample(None, 3, 20) with f applied to it and the CRC made right again.
func mangled(f func(Batch) Batch) []byte {
	b := f(sample(None, 3, 20).Bytes())
	if len(b) >= HeaderSize {
		binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthOverhead))
		b.seal()
	}
	return b
}

// rawBatch is a batch with a right header around records of any bytes.
func rawBatch(c Codec, count int32, records []byte) Batch {
	b := Batch(append(appendHeader(nil, count), records...))
	b.setHeader(attributes(c, false, false, false), now, now)
	return b
}

// rawMessage is a message of magic 0 or 1 with a right CRC.
func rawMessage(magic int8, attributes byte, offset, timestamp int64, key, value []byte) []byte {
	m := make([]byte, upToMagic-1)
	m = append(m, byte(magic), attributes)
	if magic == 1 {
		m = binary.BigEndian.AppendUint64(m, uint64(timestamp))
	}
	for _, b := range [][]byte{key, value} {
		size := uint32(len(b))
		if b == nil {
			size = ^uint32(0)
		}
		m = append(binary.BigEndian.AppendUint32(m, size), b...)
	}
	binary.BigEndian.PutUint64(m, uint64(offset))
	binary.BigEndian.PutUint32(m[lengthAt:], uint32(len(m)-lengthOverhead))
	binary.BigEndian.PutUint32(m[messageCRCAt:], crc32.ChecksumIEEE(m[magicAt:]))
	return m
}

// wrapper is a message that holds others, compressed.
func wrapper(t testing.TB, magic int8, c Codec, offset, timestamp int64, inner ...[]byte) []byte {
	t.Helper()
	value, err := Compress(nil, bytes.Join(inner, nil), c, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rawMessage(magic, byte(c), offset, timestamp, nil, value)
}

// all reads the records of b and fails the test where that does not go.
func all(t testing.TB, b Batch) []Record {
	t.Helper()
	var out []Record
	for r, err := range b.Records(0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// kindOf is the kind of an *Error, 0 for nil; any other error fails the test.
func kindOf(t testing.TB, err error) Kind {
	t.Helper()
	if err == nil {
		return 0
	}
	e, ok := err.(*Error)
	if !ok || e == nil {
		t.Fatalf("error is %T %v, not an *Error", err, err)
	}
	if e.Message == "" {
		t.Fatalf("error of kind %v has no message", e.Kind)
	}
	return e.Kind
}

// checkPrepared holds what a log relies on, whatever the input was.
func checkPrepared(t testing.TB, p *Prepared) {
	t.Helper()
	rest := p.Bytes
	for i, in := range p.Batches {
		b, r, err := Next(rest)
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		if err := b.Check(); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		if in.Size != len(b) || in.Position != len(p.Bytes)-len(rest) || !bytes.Equal(b, p.Batch(i)) {
			t.Fatalf("batch %d of %d bytes at %d is said to be %d at %d", i, len(b), len(p.Bytes)-len(rest), in.Size, in.Position)
		}
		if in.Count != b.Count() || in.LastOffsetDelta != b.LastOffsetDelta() || in.MaxTimestamp != b.MaxTimestamp() || in.Codec != b.Codec() {
			t.Fatalf("batch %d: %+v is not its header", i, in)
		}
		if in.MaxTimestamp > p.MaxTimestamp {
			t.Fatalf("batch %d: max timestamp %d above all %d", i, in.MaxTimestamp, p.MaxTimestamp)
		}
		rest = r
	}
	if len(rest) > 0 || len(p.Batches) == 0 {
		t.Fatalf("%d batches, %d bytes left over", len(p.Batches), len(rest))
	}
}

// sealRaw makes the CRC of a message right without looking into it.
func sealRaw(m []byte) {
	binary.BigEndian.PutUint32(m[messageCRCAt:], crc32.ChecksumIEEE(m[magicAt:]))
}
