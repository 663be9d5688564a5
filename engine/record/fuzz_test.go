package record

import (
	"bytes"
	"io"
	"testing"
)

// fuzzRules are the rules that a fuzz target picks with one byte.
func fuzzRules(pick byte) Rules {
	r := clientRules()
	r.Compression = Codec(pick%6) - 1
	r.LogAppendTime = pick&0x10 != 0
	r.Compacted = pick&0x20 != 0
	r.Origin = Origin(pick >> 6 % 3)
	r.MaxBatchBytes, r.MaxDecompressedBytes = 1<<20, 1<<20
	return r
}

func seeds(f *testing.F, add func([]byte)) {
	for _, c := range codecs {
		add(sample(c, 3, 100).Bytes())
		add(append(sample(c, 1, 10).Bytes(), sample(None, 2, 10).Bytes()...))
	}
	for _, x := range faults {
		add(x.input)
	}
	for _, magic := range []int8{0, 1} {
		m := rawMessage(magic, 0, 0, now, []byte("k"), []byte("v"))
		add(append(bytes.Clone(m), m...))
		for _, c := range []Codec{Gzip, Snappy, LZ4} {
			add(wrapper(f, magic, c, 0, now, m, m))
		}
	}
}

// mend makes lengths and CRCs right, so that a fuzzer gets behind them.
func mend(b []byte) {
	for len(b) > upToMagic {
		size, err := frame(b)
		if err != nil {
			return
		}
		if Batch(b).Magic() == currentMagic {
			Batch(b[:size]).seal()
		} else {
			sealRaw(b[:size])
		}
		b = b[size:]
	}
}

func FuzzNext(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			batch, rest, err := Next(b)
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF {
					kindOf(t, err)
				}
				return
			}
			if len(batch)+len(rest) != len(b) || batch.Size() != len(batch) {
				t.Fatalf("%d and %d bytes of %d", len(batch), len(rest), len(b))
			}
			kindOf(t, batch.Check())
			for _, err := range batch.Records(1 << 20) {
				kindOf(t, err)
			}
			batch.EndTxn()
			b = rest
		}
	})
}

func FuzzPrepare(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b, byte(0)); f.Add(b, byte(0x12)); f.Add(b, byte(0x64)) })
	f.Fuzz(func(t *testing.T, b []byte, pick byte) {
		mend(b)
		r := fuzzRules(pick)
		work := NeedsDecompression(b, r)
		var p Prepared
		size := len(b)
		if err := p.Prepare(b, r); err != nil {
			kindOf(t, err)
			return
		}
		checkPrepared(t, &p)
		if r.Origin == Replication {
			return
		}
		if !work && len(p.Bytes) != size {
			t.Fatal("said to need no work, and rewritten")
		}
		// What was taken reads back, and would be taken again as it is.
		for i, in := range p.Batches {
			n := int32(0)
			for _, err := range p.Batch(i).Records(1 << 20) {
				if err != nil {
					t.Fatalf("batch %d: %v", i, err)
				}
				n++
			}
			if n != in.Count {
				t.Fatalf("batch %d: %d records of %d", i, n, in.Count)
			}
		}
		stored := bytes.Clone(p.Bytes)
		if err := p.Prepare(bytes.Clone(stored), Rules{Origin: Replication}); err != nil || !bytes.Equal(p.Bytes, stored) {
			t.Fatalf("a replica: %v", err)
		}
	})
}

func FuzzDecompress(f *testing.F) {
	for _, c := range codecs {
		for _, in := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("ab"), 500)} {
			z, err := Compress(nil, in, c, 0)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(z, byte(c))
		}
	}
	f.Fuzz(func(t *testing.T, z []byte, pick byte) {
		c := Codec(pick % 5)
		const most = 1 << 20
		out, err := Decompress(nil, z, c, most)
		if kindOf(t, err) == 0 && len(out) > most {
			t.Fatalf("%v: %d bytes", c, len(out))
		}
	})
}

func FuzzCompress(f *testing.F) {
	f.Add([]byte("a"), byte(1))
	f.Fuzz(func(t *testing.T, in []byte, pick byte) {
		c := Codec(pick % 5)
		z, err := Compress(nil, in, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Decompress(nil, z, c, len(in))
		if err != nil || !bytes.Equal(in, out) {
			t.Fatalf("%v: %v", c, err)
		}
	})
}

// FuzzConvert feeds what a wrapper holds, so that the fuzzer does not have to compress.
func FuzzConvert(f *testing.F) {
	for _, magic := range []int8{0, 1} {
		m := rawMessage(magic, 0, 0, now, []byte("k"), []byte("v"))
		f.Add(append(bytes.Clone(m), m...), byte(magic), int64(1))
	}
	f.Fuzz(func(t *testing.T, inner []byte, pick byte, offset int64) {
		mend(inner)
		magic, c := int8(pick&1), Codec(pick>>1%3)+1
		var p Prepared
		if err := p.Prepare(wrapper(t, magic, c, offset, now, inner), fuzzRules(pick&0x3f)); err != nil {
			kindOf(t, err)
			return
		}
		checkPrepared(t, &p)
		all(t, p.Batch(0))
	})
}

// FuzzStream holds the walk over a stream against the walk over memory: same verdict, whatever the pieces.
func FuzzStream(f *testing.F) {
	for _, x := range faults {
		if len(x.input) > HeaderSize {
			f.Add([]byte(x.input[HeaderSize:]), int32(1), byte(7))
		}
	}
	f.Add([]byte(sample(None, 5, 50).Bytes().records()), int32(5), byte(3))
	f.Fuzz(func(t *testing.T, raw []byte, count int32, piece byte) {
		if count <= 0 || count > 1000 {
			return
		}
		r := clientRules()
		b := rawBatch(None, count, nil)
		plain, stream := newWalk(b, &r), newWalk(b, &r)
		plainErr := plain.plain(raw, count)
		streamErr := stream.stream(&feed{src: &pieces{raw, int(piece)%16 + 1}, left: len(raw)}, count)
		if (plainErr == nil) != (streamErr == nil) {
			t.Fatalf("in memory: %v, as a stream: %v", plainErr, streamErr)
		}
		if plainErr == nil && (plain.max != stream.max || plain.maxAt != stream.maxAt || plain.gaps != stream.gaps || len(plain.faults) != len(stream.faults)) {
			t.Fatalf("in memory %+v, as a stream %+v", plain, stream)
		}
	})
}

// pieces is a source of pieces of n bytes.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) reset([]byte, int) error { return nil }
func (p *pieces) release()                {}

func (p *pieces) next() ([]byte, error) {
	if len(p.b) == 0 {
		return nil, io.EOF
	}
	n := min(p.n, len(p.b))
	out := p.b[:n]
	p.b = p.b[n:]
	return out, nil
}
