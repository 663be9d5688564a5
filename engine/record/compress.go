package record

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compressors are pooled like sources. Those of gzip and zstd have a level for life; one of another level is replaced.
var (
	gzipWriters = sync.Pool{New: func() any { return new(gzipWriter) }}
	lz4Writers  = sync.Pool{New: func() any { return new(lz4Writer) }}
	zstdWriters = sync.Pool{New: func() any { return new(zstdWriter) }}
)

type gzipWriter struct {
	w     *gzip.Writer
	level int
}

type lz4Writer struct {
	fast lz4.Compressor
	slow lz4.CompressorHC
}

type zstdWriter struct {
	w     *zstd.Encoder
	level zstd.EncoderLevel
}

// Compress appends src compressed by c in Kafka's framing to dst. level is the codec's own, as in Kafka's properties
// compression.gzip.level (1 to 9), compression.lz4.level (1 to 17) and compression.zstd.level (to 22); 0 is its default.
// The error is about an unknown codec or level.
func Compress(dst, src []byte, c Codec, level int) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return compressGzip(dst, src, level)
	case Snappy:
		return compressSnappy(dst, src), nil
	case LZ4:
		return compressLZ4(dst, src, level)
	case Zstd:
		return compressZstd(dst, src, level)
	}
	return dst, errorf(UnsupportedCompression, "Unknown compression type id: %d", c)
}

func compressGzip(dst, src []byte, level int) ([]byte, error) {
	if level == 0 {
		level = gzip.DefaultCompression
	}
	g := gzipWriters.Get().(*gzipWriter)
	defer gzipWriters.Put(g)
	out := bytes.NewBuffer(dst)
	if g.w == nil || g.level != level {
		w, err := gzip.NewWriterLevel(out, level)
		if err != nil {
			return dst, errorf(UnsupportedCompression, "%v", err)
		}
		g.w, g.level = w, level
	} else {
		g.w.Reset(out)
	}
	_, _ = g.w.Write(src) // a bytes.Buffer takes everything
	_ = g.w.Close()
	g.w.Reset(nil)
	return out.Bytes(), nil
}

// snappyWriteBlock is the block size of Java's library.
const snappyWriteBlock = 32 << 10

func compressSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, 1) // version
	dst = binary.BigEndian.AppendUint32(dst, 1) // oldest version that can read it
	for len(src) > 0 {
		n := min(len(src), snappyWriteBlock)
		at := len(dst)
		dst = append(dst, make([]byte, 4+s2.MaxEncodedLen(n))...)
		block := s2.EncodeSnappy(dst[at+4:], src[:n])
		binary.BigEndian.PutUint32(dst[at:], uint32(len(block)))
		dst = dst[:at+4+len(block)]
		src = src[n:]
	}
	return dst
}

// lz4Header is the frame header that Java's producers write: independent blocks of 64 KiB, no checksums.
var lz4Header = []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}

func compressLZ4(dst, src []byte, level int) ([]byte, error) {
	if level < 0 || level > 17 {
		return dst, errorf(UnsupportedCompression, "lz4 level %d", level)
	}
	w := lz4Writers.Get().(*lz4Writer)
	defer lz4Writers.Put(w)
	dst = append(dst, lz4Header...)
	for len(src) > 0 {
		n := min(len(src), lz4WriteBlock)
		at := len(dst)
		dst = append(dst, make([]byte, 4+lz4.CompressBlockBound(n))...)
		size, err := w.block(src[:n], dst[at+4:], level)
		head := uint32(size)
		if err != nil || size == 0 || size >= n { // stored as it is where that is smaller
			size = copy(dst[at+4:], src[:n])
			head = uint32(size) | lz4Stored
		}
		binary.LittleEndian.PutUint32(dst[at:], head)
		dst = dst[:at+4+size]
		src = src[n:]
	}
	return append(dst, 0, 0, 0, 0), nil
}

// block compresses one block; it returns 0 where that does not pay.
func (w *lz4Writer) block(src, dst []byte, level int) (int, error) {
	if level == 0 {
		return w.fast.CompressBlock(src, dst)
	}
	w.slow.Level = lz4.CompressionLevel(1 << (8 + min(level, 9))) // the library counts search depth, up to Level9
	return w.slow.CompressBlock(src, dst)
}

func compressZstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstd.SpeedDefault
	if level != 0 {
		speed = zstd.EncoderLevelFromZstd(level)
	}
	z := zstdWriters.Get().(*zstdWriter)
	defer zstdWriters.Put(z)
	if z.w == nil || z.level != speed {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(speed))
		if err != nil {
			return dst, errorf(UnsupportedCompression, "%v", err)
		}
		z.w, z.level = w, speed
	}
	return z.w.EncodeAll(src, dst), nil
}

// Decompress appends src, records of a magic 2 batch that c compressed, to dst. An error is an *Error: Bomb where more
// than max bytes would come out of it.
func Decompress(dst, src []byte, c Codec, max int) ([]byte, error) {
	s, err := openSource(c, src, currentMagic, max)
	if err != nil {
		return dst, err
	}
	f := feed{src: s, codec: c, left: max}
	defer f.release()
	return f.rest(dst)
}
