package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"testing"
)

// kafkaBatch is a segment of one batch that Apache Kafka 4.4 wrote: lines a, b, c of its console producer.
const kafkaBatch = "0000000000000000000000490000000002fdd0cd0d000000000002000001a22ea7b098000001a22ea7b098" +
	"ffffffffffffffffffffffffffff000000030e000000010261000e000002010262000e00000401026300"

func TestABatchThatKafkaWroteReadsAndIsBuiltAgain(t *testing.T) {
	raw, err := hex.DecodeString(kafkaBatch)
	if err != nil {
		t.Fatal(err)
	}
	b, rest, err := Next(raw)
	if err != nil || len(rest) != 0 {
		t.Fatal(err, len(rest))
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if b.LastOffset() != 2 || b.Count() != 3 || b.BaseTimestamp() != 0x1a22ea7b098 || b.ProducerID() != -1 || b.LastSequence() != -1 || b.Codec() != None {
		t.Errorf("header %x", raw[:HeaderSize])
	}
	again := NewBuilder(None)
	again.PartitionLeaderEpoch = 0
	for i, r := range all(t, b) {
		if r.Offset != int64(i) || r.Key != nil || string(r.Value) != string("abc"[i]) || r.Headers != nil {
			t.Errorf("record %d: %+v", i, r)
		}
		again.Add(r.Timestamp, r.Key, r.Value)
	}
	if !bytes.Equal(again.Bytes(), raw) {
		t.Errorf("built\n%x, Kafka wrote\n%x", again.Bytes(), raw)
	}
}

func TestNextSaysWhatIsWrongWithALog(t *testing.T) {
	good := sample(None, 2, 10).Bytes()
	if _, _, err := Next(nil); err != io.EOF {
		t.Error(err)
	}
	for n := 1; n < len(good); n++ {
		if _, _, err := Next(good[:n]); err != io.ErrUnexpectedEOF {
			t.Fatalf("%d bytes of %d: %v", n, len(good), err)
		}
	}
	for _, c := range []struct {
		f    func(Batch)
		want Kind
	}{
		{func(b Batch) { b[magicAt] = 1 }, UnsupportedVersion},
		{func(b Batch) { header(lengthAt, HeaderSize-lengthOverhead-1)(b) }, Corrupt},
		{func(b Batch) { header(lengthAt, -1)(b) }, Corrupt},
		{func(b Batch) { header(lengthAt, math.MinInt32)(b) }, Corrupt},
	} {
		b := bytes.Clone(good)
		c.f(b)
		_, _, err := Next(b)
		if got := kindOf(t, err); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
	b := bytes.Clone(good)
	header(lengthAt, math.MaxInt32)(b)
	if _, _, err := Next(b); err != io.ErrUnexpectedEOF {
		t.Errorf("length 2^31-1: %v", err)
	}
}

func TestCheckFindsEveryFlippedBitBehindTheCRC(t *testing.T) {
	b := sample(None, 2, 10).Bytes()
	for i := crcAt * 8; i < len(b)*8; i++ {
		b[i/8] ^= 1 << (i % 8)
		var e *Error
		if err := b.Check(); !errors.As(err, &e) || e.Kind != Corrupt {
			t.Fatalf("bit %d: %v", i, err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	b.SetBaseOffset(1 << 40)
	b.SetPartitionLeaderEpoch(12)
	if err := b.Check(); err != nil {
		t.Fatalf("the CRC covers base offset or leader epoch: %v", err)
	}
	if err := (Batch(nil)).Check(); err == nil {
		t.Fatal("no bytes are a batch")
	}
}

func TestSequencesWrapAround(t *testing.T) {
	for _, c := range []struct{ base, delta, want int32 }{
		{-1, 5, -1}, {0, 0, 0}, {0, 9, 9}, {math.MaxInt32, 0, math.MaxInt32}, {math.MaxInt32, 1, 0},
		{math.MaxInt32 - 1, 3, 1}, {math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1},
	} {
		if got := lastSequence(c.base, c.delta); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.base, c.delta, got, c.want)
		}
	}
}

func TestVarintsOfEveryLengthReadBack(t *testing.T) {
	for shift := range 64 {
		for _, v := range []int64{1 << shift, 1<<shift - 1, -1 << shift, math.MaxInt64, math.MinInt64} {
			b := appendVarint(nil, v)
			if len(b) != sizeVarint(v) {
				t.Fatalf("%d: %d bytes, said %d", v, len(b), sizeVarint(v))
			}
			if got, i := varlong(b, 0); got != v || i != len(b) {
				t.Fatalf("%d read as %d", v, got)
			}
			if got, i := varint(b, 0); int64(int32(v)) == v && (int64(got) != v || i != len(b)) {
				t.Fatalf("%d read as %d in 32 bits", v, got)
			}
			for n := range len(b) {
				if _, i := varlong(b[:n], 0); i != n+1 {
					t.Fatalf("%d cut at %d is read", v, n)
				}
			}
		}
	}
}

func TestABuilderIsUsedAgain(t *testing.T) {
	b := sample(Zstd, 5, 100)
	first := b.Bytes()
	b.Reset()
	if b.Count() != 0 || b.UncompressedSize() != HeaderSize {
		t.Fatal("not empty")
	}
	b.Add(5, []byte("k"), []byte("v"))
	second := b.Bytes()
	if err := second.Check(); err != nil {
		t.Fatal(err)
	}
	if second.Count() != 1 || second.BaseTimestamp() != 5 || second.MaxTimestamp() != 5 || first.Count() != 5 {
		t.Fatal("batches run into each other")
	}
	b.LogAppendTime, b.LogAppendTimeMs = true, 99
	for _, r := range all(t, b.Bytes()) {
		if r.Timestamp != 99 {
			t.Fatal(r.Timestamp)
		}
	}
}

func TestIterationStopsWhenAsked(t *testing.T) {
	n := 0
	for range sample(Gzip, 10, 10).Bytes().Records(0) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Fatal(n)
	}
}

func TestCodecsHaveKafkasNames(t *testing.T) {
	for name, want := range map[string]Codec{"producer": Producer, "uncompressed": None, "none": None, "gzip": Gzip, "snappy": Snappy, "lz4": LZ4, "zstd": Zstd} {
		if got, ok := ParseCodec(name); !ok || got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, ok := ParseCodec("brotli"); ok {
		t.Error("brotli")
	}
}
