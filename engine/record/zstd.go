package record

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// How zstd is decompressed depends on what it would cost. A frame states a window, which a streaming decoder allocates
// before the first byte comes out of it; decoding to memory costs what does come out.
const (
	// zstdWhole is decoded to memory: nearly every batch, for less than a window would take.
	zstdWhole = 4 << 20
	// zstdStreamWindow is the largest window for streaming: that of zstd -19. Beyond it, which takes -20 and more,
	// memory it is, as far as the cap allows.
	zstdStreamWindow = 8 << 20
	// zstdMaxWindow is what the reference decoder reads unless told otherwise, so nobody could read more.
	zstdMaxWindow = 128 << 20

	zstdChunk    = 64 << 10
	zstdFirstTry = 8 // times the compressed size, where a frame does not say its size
	zstdNextTry  = 4 // times the last try
)

type zstdSource struct {
	in        bytes.Reader
	whole     *zstd.Decoder // both are made on first use and kept
	stream    *zstd.Decoder
	streaming bool
	out       []byte // what is decoded already, where not streaming
	buf       []byte
}

func (s *zstdSource) reset(src []byte, max int) error {
	s.out, s.streaming = nil, false
	if len(src) == 0 {
		return nil // no frame at all is nothing, in zstd as in Kafka
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return err
	}
	if h.SingleSegment {
		h.WindowSize = h.FrameContentSize
	}
	if h.WindowSize > zstdMaxWindow || h.HasFCS && h.FrameContentSize > uint64(max) {
		return errBomb
	}
	far := h.WindowSize > zstdStreamWindow
	if !far && h.HasFCS && h.FrameContentSize > zstdWhole {
		return s.decodeStream(src)
	}
	limit, try := max, max
	if !far {
		limit = min(max, zstdWhole)
	}
	if h.HasFCS {
		try = int(h.FrameContentSize)
	} else if len(src) < limit/zstdFirstTry {
		try = len(src) * zstdFirstTry
	}
	err := s.decodeWhole(src, try, limit)
	if err != nil && limit < max {
		return s.decodeStream(src)
	}
	return err
}

// decodeWhole decodes to memory: try bytes of it first, limit at most. The library has several errors for a lack of
// room, which cannot be told from those for damage, so each makes it try again with more.
func (s *zstdSource) decodeWhole(src []byte, try, limit int) error {
	if s.whole == nil {
		d, err := newZstdDecoder(zstdMaxWindow, zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
		s.whole = d
	}
	for try = max(try, zstdChunk); ; try *= zstdNextTry {
		try = min(try, limit)
		if cap(s.buf) < try {
			s.buf = make([]byte, 0, try)
		}
		room := min(cap(s.buf), limit)
		out, err := s.whole.DecodeAll(src, s.buf[:0:room])
		if err == nil {
			s.out = out
			return nil
		}
		if room == limit {
			if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				err = errBomb
			}
			return err
		}
	}
}

func (s *zstdSource) decodeStream(src []byte) error {
	if s.stream == nil {
		d, err := newZstdDecoder(zstdStreamWindow)
		if err != nil {
			return err
		}
		s.stream = d
	}
	if cap(s.buf) < zstdChunk {
		s.buf = make([]byte, 0, zstdChunk)
	}
	s.streaming = true
	s.in.Reset(src)
	return s.stream.Reset(&s.in)
}

// newZstdDecoder makes a decoder that runs on the caller's goroutine and starts none.
func newZstdDecoder(window uint64, more ...zstd.DOption) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, append(more, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))...)
}

func (s *zstdSource) next() ([]byte, error) {
	if !s.streaming {
		if len(s.out) == 0 {
			return nil, io.EOF
		}
		out := s.out
		s.out = nil
		return out, nil
	}
	n, err := s.stream.Read(s.buf[:zstdChunk])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errBomb
	}
	if n > 0 && err == io.EOF {
		err = nil // Read says io.EOF again
	}
	return s.buf[:n], err
}

func (s *zstdSource) release() {
	s.in.Reset(nil)
	s.out = nil
	if s.streaming {
		_ = s.stream.Reset(nil) // drops the input; it has no other effect and no other error than being closed
	}
	if cap(s.buf) > maxPooledBuffer {
		s.buf = nil
	}
	zstdSources.Put(s)
}
