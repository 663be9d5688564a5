package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

func TestWhatIsCompressedComesBack(t *testing.T) {
	noise := make([]byte, 1<<20)
	rand.New(rand.NewSource(1)).Read(noise)
	inputs := [][]byte{nil, []byte("a"), bytes.Repeat([]byte("log line "), 1<<18), noise, append(bytes.Repeat([]byte{0}, 5<<20), noise[:100]...)}
	levels := map[Codec][]int{None: {0}, Gzip: {0, 1, 9}, Snappy: {0}, LZ4: {0, 1, 12}, Zstd: {0, -5, 1, 19}}
	for _, c := range codecs {
		for _, level := range levels[c] {
			for i, in := range inputs {
				if len(in) > 1<<20 && (level > 9) {
					continue // slow, and the framing is the same
				}
				z, err := Compress([]byte("front"), in, c, level)
				if err != nil {
					t.Fatalf("%v level %d: %v", c, level, err)
				}
				out, err := Decompress([]byte("front"), z[len("front"):], c, len(in))
				if err != nil {
					t.Fatalf("%v level %d, input %d: %v", c, level, i, err)
				}
				if !bytes.Equal(out[len("front"):], in) || string(out[:5]) != "front" || string(z[:5]) != "front" {
					t.Fatalf("%v level %d, input %d is another", c, level, i)
				}
				if len(in) > 0 {
					if _, err := Decompress(nil, z[len("front"):], c, len(in)-1); kindOf(t, err) != Bomb {
						t.Fatalf("%v level %d, input %d: a cap one below gives %v", c, level, i, err)
					}
				}
			}
		}
	}
}

func TestLevelsAndCodecsThatDoNotExistAreErrors(t *testing.T) {
	for _, c := range []struct {
		codec Codec
		level int
	}{{5, 0}, {Producer, 0}, {Gzip, 77}, {LZ4, 18}, {LZ4, -1}} {
		if _, err := Compress(nil, []byte("x"), c.codec, c.level); kindOf(t, err) != UnsupportedCompression {
			t.Errorf("%v level %d: %v", c.codec, c.level, err)
		}
	}
	if _, err := Decompress(nil, []byte("x"), 6, 100); kindOf(t, err) != UnsupportedCompression {
		t.Error(err)
	}
}

func TestFramingsOfOtherClientsAreRead(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789 "), 20000)
	gz := func(b []byte) []byte { z, _ := Compress(nil, b, Gzip, 0); return z }
	zs := func(b []byte) []byte { z, _ := Compress(nil, b, Zstd, 0); return z }
	xe := func(b []byte) []byte { z, _ := Compress(nil, b, Snappy, 0); return z }
	skip := binary.LittleEndian.AppendUint32([]byte{0x50, 0x2a, 0x4d, 0x18}, 3)
	for name, c := range map[string]struct {
		codec Codec
		z     []byte
	}{
		"bare snappy":               {Snappy, s2.EncodeSnappy(nil, in)},
		"two xerial streams":        {Snappy, append(xe(in[:5000]), xe(in[5000:])...)},
		"gzip members":              {Gzip, append(append(gz(in[:100]), gz(nil)...), gz(in[100:])...)},
		"zstd frames":               {Zstd, append(zs(in[:100]), zs(in[100:])...)},
		"zstd with a skipped frame": {Zstd, append(append(skip, 1, 2, 3), zs(in)...)},
		"zstd of a stream":          {Zstd, zstdStream(t, in, 1<<20)},
		"zstd of a far window":      {Zstd, zstdStream(t, in, 64<<20)},
	} {
		out, err := Decompress(nil, c.z, c.codec, 1<<20)
		if err != nil || !bytes.Equal(out, in) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zstdStream compresses without telling the size, with a window of its own.
func zstdStream(t *testing.T, in []byte, window int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		t.Fatal(err)
	}
	half := len(in) / 2
	for _, b := range [][]byte{in[:half], in[half:]} {
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil { // fixes the window, whatever the size turns out to be
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestZstdBeyondMemoryIsStreamedOrCapped(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	for _, window := range []int{1 << 20, 8 << 20, 64 << 20} {
		z := zstdStream(t, in, window)
		out, err := Decompress(nil, z, Zstd, 16<<20)
		if err != nil || !bytes.Equal(out, in) {
			t.Errorf("window %d: %v", window, err)
		}
		_, err = Decompress(nil, z, Zstd, 6<<20)
		if k := kindOf(t, err); k != Bomb && (window <= zstdStreamWindow || k != Undecodable) {
			t.Errorf("window %d, cap below: %v", window, err)
		}
	}
	whole, _ := Compress(nil, in, Zstd, 0) // says its size
	if out, err := Decompress(nil, whole, Zstd, 16<<20); err != nil || !bytes.Equal(out, in) {
		t.Error(err)
	}
}

func TestLZ4ChecksumsAndBlockSizes(t *testing.T) {
	// xxHash-32 test vectors of its specification's implementation, seed 0.
	for in, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("xxh32(%q) = %08x, want %08x", in, got, want)
		}
	}
	// A stored block of "hello" in frames with every flag there is.
	frame := func(flags, descriptor byte, size []byte, blockSum bool) []byte {
		head := append([]byte{flags, descriptor}, size...)
		out := append([]byte{0x04, 0x22, 0x4d, 0x18}, head...)
		out = append(out, byte(xxh32(head)>>8))
		out = binary.LittleEndian.AppendUint32(out, 5|lz4Stored)
		out = append(out, "hello"...)
		if blockSum {
			out = binary.LittleEndian.AppendUint32(out, xxh32([]byte("hello")))
		}
		return append(out, 0, 0, 0, 0)
	}
	eight := make([]byte, 8)
	for _, z := range [][]byte{
		frame(0x60, 0x40, nil, false), frame(0x60, 0x70, nil, false), frame(0x68, 0x50, eight, false),
		frame(0x70, 0x60, nil, true), append(frame(0x64, 0x40, nil, false), 1, 2, 3, 4),
	} {
		if out, err := Decompress(nil, z, LZ4, 5); err != nil || string(out) != "hello" {
			t.Errorf("%x: %q, %v", z, out, err)
		}
	}
	bad := frame(0x70, 0x60, nil, true)
	bad[len(bad)-5] ^= 1
	for name, z := range map[string][]byte{
		"block checksum":   bad,
		"dependent blocks": frame(0x40, 0x40, nil, false),
		"version":          frame(0xa0, 0x40, nil, false),
		"block size 3":     frame(0x60, 0x30, nil, false),
		"reserved bits":    frame(0x60, 0x41, nil, false),
	} {
		if _, err := Decompress(nil, z, LZ4, 5); kindOf(t, err) != Undecodable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// bombs decompress to eight times the cap and more, or claim to, or cost that much work.
func bombs(t *testing.T) map[string]struct {
	codec Codec
	z     []byte
} {
	out := map[string]struct {
		codec Codec
		z     []byte
	}{}
	zeros := make([]byte, 64<<20)
	for _, c := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		z, err := Compress(nil, zeros, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[c.String()+" of zeros"] = struct {
			codec Codec
			z     []byte
		}{c, z}
	}
	member, _ := Compress(nil, nil, Gzip, 0)
	rle := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58} // window 2 MiB, no size; then blocks of one repeated byte
	for range 10000 {
		head := uint32(128<<10)<<3 | 1<<1
		rle = append(rle, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	frame, _ := hex.DecodeString("82534e41505059000000000100000001" + "00000010")
	lie := binary.AppendUvarint(nil, 1<<31-1)
	lie = append(lie, make([]byte, 11)...)
	for name, b := range map[string]struct {
		codec Codec
		z     []byte
	}{
		"a million empty gzip members":      {Gzip, bytes.Repeat(member, 1000000)},
		"zstd window of 2 GiB":              {Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0}},
		"zstd content of 2^62":              {Zstd, append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0)},
		"zstd of repeated bytes":            {Zstd, rle},
		"snappy block of 2^31-1, xerial":    {Snappy, append(frame, lie...)},
		"snappy block of 2^31-1, bare":      {Snappy, lie},
		"snappy block within the cap, lies": {Snappy, append(binary.AppendUvarint(nil, 60<<20), make([]byte, 100)...)},
	} {
		out[name] = b
	}
	return out
}

func TestBombsAreRefusedWithinTheCap(t *testing.T) {
	var p Prepared
	for name, b := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, target := range []Codec{Producer, None} {
				r := clientRules()
				r.MaxBatchBytes, r.Compression, r.MaxDecompressedBytes = 0, target, 8<<20
				k := kindOf(t, p.Prepare(rawBatch(b.codec, 1000, b.z), r))
				if k != Bomb && k != Undecodable && k != InvalidRecord {
					t.Errorf("to %v: %v", target, k)
				}
			}
			runtime.ReadMemStats(&after)
			// Everything that was ever allocated in both passes: a buffer that grows to the cap in steps of a quarter
			// takes five times the cap, then decoders, and the batch itself.
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(2*(5*8+16)<<20+8*len(b.z)) {
				t.Errorf("%d MiB were allocated for a cap of 8 MiB", used>>20)
			}
		})
	}
}

// What is larger than is kept at once is counted first: a bomb takes no more than that, and what is within the cap is all
// there.
func TestManyBytesAreCountedBeforeTheyAreKept(t *testing.T) {
	value := make([]byte, 3*keptAtOnce)
	for i := range value {
		value[i] = byte(i >> 16)
	}
	for _, c := range codecs {
		if c == None {
			continue
		}
		b := NewBuilder(c).Add(now, []byte("k"), value).Bytes()
		r := clientRules()
		r.MaxBatchBytes, r.Compression = 0, None
		var p Prepared
		if err := p.Prepare(bytes.Clone(b), r); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		checkPrepared(t, &p)
		for rec := range Batch(p.Bytes).Records(0) {
			if !bytes.Equal(rec.Value, value) {
				t.Errorf("%v: the value is another", c)
			}
		}
		r.MaxDecompressedBytes = 2 * keptAtOnce
		p = Prepared{}
		if k := kindOf(t, p.Prepare(b, r)); k != Bomb {
			t.Errorf("%v: %v", c, k)
		}
		if cap(p.raw) > 2*keptAtOnce {
			t.Errorf("%v: a bomb took %d MiB", c, cap(p.raw)>>20)
		}
	}
}

func TestAStreamHasNoMoreThanItsRecords(t *testing.T) {
	// A record that is larger than any piece, one that ends where a piece does, and small ones.
	for _, c := range codecs {
		b := NewBuilder(c)
		for _, n := range []int{1, 32 << 10, 64<<10 - 12, 1, 300 << 10, 0} {
			v := make([]byte, n)
			rand.New(rand.NewSource(int64(n))).Read(v)
			b.Add(now, nil, v, Header{Key: "key", Value: v})
		}
		var p Prepared
		if err := p.Prepare(b.Bytes(), clientRules()); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		checkPrepared(t, &p)
	}
}
