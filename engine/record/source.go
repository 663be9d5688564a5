package record

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
)

// source decompresses the records of one batch piece by piece, so that a walk over them needs the memory of a piece.
// Sources are pooled, with their decoders and buffers: pools are caches, they hold no state between two uses.
type source interface {
	// reset begins with src. max is what may come out of it in bytes; a source stops with errBomb where it would have to
	// allocate more to go on, else the feed counts.
	reset(src []byte, max int) error
	// next returns the next piece, valid until the call after it, or io.EOF. A piece may be empty.
	next() ([]byte, error)
	// release drops src and puts the source back into its pool.
	release()
}

// errBomb becomes an Error of kind Bomb.
var errBomb = errors.New("decompresses to more than is allowed")

var (
	gzipSources   = sync.Pool{New: func() any { return new(gzipSource) }}
	snappySources = sync.Pool{New: func() any { return new(snappySource) }}
	lz4Sources    = sync.Pool{New: func() any { return new(lz4Source) }}
	zstdSources   = sync.Pool{New: func() any { return new(zstdSource) }}
)

// openSource returns a source for src, which c compressed. Before magic 1, producers and Kafka itself computed the
// check byte of LZ4's frame header over the wrong bytes; it is not looked at there.
func openSource(c Codec, src []byte, magic int8, max int) (source, error) {
	var s source
	switch c {
	case None:
		s = &plainSource{}
	case Gzip:
		s = gzipSources.Get().(*gzipSource)
	case Snappy:
		s = snappySources.Get().(*snappySource)
	case LZ4:
		l := lz4Sources.Get().(*lz4Source)
		l.anyHeaderCheck = magic == 0
		s = l
	case Zstd:
		s = zstdSources.Get().(*zstdSource)
	default:
		return nil, errorf(UnsupportedCompression, "Unknown compression type id: %d", c)
	}
	if err := s.reset(src, max); err != nil {
		s.release()
		return nil, decodeError(c, err)
	}
	return s, nil
}

// decodeError puts an error of a source into this package's words.
func decodeError(c Codec, err error) *Error {
	if errors.Is(err, errBomb) {
		return errorf(Bomb, "%s records decompress to more than is allowed", c)
	}
	return errorf(Undecodable, "Failed to decompress record stream: %s: %v", c, err)
}

// plainSource is for what is not compressed.
type plainSource struct{ src []byte }

func (s *plainSource) reset(src []byte, _ int) error { s.src = src; return nil }
func (s *plainSource) release()                      {}

func (s *plainSource) next() ([]byte, error) {
	if s.src == nil {
		return nil, io.EOF
	}
	b := s.src
	s.src = nil
	return b, nil
}

const (
	gzipChunk = 32 << 10 // the window of deflate
	// maxGzipMembers bounds the members of one gzip stream. Producers write one; a member costs 20 bytes and a
	// thousand times their worth of set-up, and may be empty.
	maxGzipMembers = 1000
)

type gzipSource struct {
	in      bytes.Reader
	z       gzip.Reader
	members int
	buf     []byte
}

func (s *gzipSource) reset(src []byte, _ int) error {
	if s.buf == nil {
		s.buf = make([]byte, gzipChunk)
	}
	s.in.Reset(src)
	s.members = 0
	return s.member()
}

// member begins with the next member of the stream.
func (s *gzipSource) member() error {
	if s.members++; s.members > maxGzipMembers {
		return errBomb
	}
	if err := s.z.Reset(&s.in); err != nil {
		return err
	}
	s.z.Multistream(false)
	return nil
}

func (s *gzipSource) next() ([]byte, error) {
	n, err := s.z.Read(s.buf)
	if err == io.EOF {
		if s.in.Len() == 0 {
			if n > 0 {
				return s.buf[:n], nil // Read says io.EOF again
			}
			return nil, io.EOF
		}
		err = s.member()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
	}
	return s.buf[:n], err
}

func (s *gzipSource) release() {
	s.in.Reset(nil)
	gzipSources.Put(s)
}

// xerialMagic begins snappy in the framing of Java's library: then come two 32-bit versions, then blocks, each behind
// its 32-bit size. Other producers write one bare snappy block.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = len(xerialMagic) + 8
	// snappyRatio is above the best that snappy does: a copy of 64 bytes takes 3. A block that claims more lies, and
	// is found out before its size is allocated.
	snappyRatio = 24
	// maxPooledBuffer is the largest buffer that goes back into a pool.
	maxPooledBuffer = 4 << 20
)

var errSnappyLength = errors.New("snappy block claims to hold more than it can")

type snappySource struct {
	src    []byte
	framed bool
	max    int
	buf    []byte
}

func (s *snappySource) reset(src []byte, max int) error {
	s.src, s.max, s.framed = src, max, false
	if len(src) == 0 {
		return io.ErrUnexpectedEOF
	}
	if len(src) >= xerialHeader && string(src[:len(xerialMagic)]) == xerialMagic {
		s.src, s.framed = src[xerialHeader:], true
	}
	return nil
}

func (s *snappySource) next() ([]byte, error) {
	if len(s.src) == 0 {
		return nil, io.EOF
	}
	block := s.src
	if s.framed {
		if len(s.src) >= xerialHeader && string(s.src[:len(xerialMagic)]) == xerialMagic {
			s.src = s.src[xerialHeader:] // two streams, one behind the other
			return nil, nil
		}
		if len(s.src) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		size := int(int32(be32(s.src)))
		if size < 0 || size > len(s.src)-4 {
			return nil, io.ErrUnexpectedEOF
		}
		block = s.src[4 : 4+size]
	}
	n, err := s2.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case n > s.max:
		return nil, errBomb
	case n > (len(block)+1)*snappyRatio:
		return nil, errSnappyLength
	}
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	if s.framed {
		s.src = s.src[4+len(block):]
	} else {
		s.src = nil
	}
	return s2.Decode(s.buf[:cap(s.buf)], block)
}

func (s *snappySource) release() {
	s.src = nil
	if cap(s.buf) > maxPooledBuffer {
		s.buf = nil
	}
	snappySources.Put(s)
}
