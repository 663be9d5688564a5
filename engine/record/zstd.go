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
	// zstdStreamWindow is the largest window for streaming: that of zstd -19. Beyond both, which takes -20 and more
	// and more than 4 MiB of records, memory it is, as far as the cap allows.
	zstdStreamWindow = 8 << 20
	// zstdMaxWindow is what the reference decoder reads unless told otherwise, so nobody could read more.
	zstdMaxWindow = 128 << 20

	zstdChunk = 64 << 10
)

type zstdSource struct {
	in     bytes.Reader
	whole  *zstd.Decoder // both are made on first use and kept
	stream *zstd.Decoder
	// mode: out is what is decoded already, nil where streaming
	out       []byte
	streaming bool
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
	if !h.HasFCS || h.FrameContentSize <= zstdWhole {
		done, err := s.decodeWhole(src, min(max, zstdWhole))
		if done || err != nil {
			return err
		}
		if max <= zstdWhole {
			return errBomb
		}
	}
	if h.WindowSize > zstdStreamWindow {
		return s.decodeFar(src, max)
	}
	return s.decodeStream(src)
}

// decodeWhole decodes to memory and reports false where that is more than limit.
func (s *zstdSource) decodeWhole(src []byte, limit int) (bool, error) {
	if s.whole == nil {
		d, err := newZstdDecoder(zstdWhole, zstdMaxWindow)
		if err != nil {
			return false, err
		}
		s.whole = d
	}
	out, err := s.whole.DecodeAll(src, s.buf[:0])
	if cap(out) > cap(s.buf) {
		s.buf = out[:0]
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(out) > limit {
		return false, nil
	}
	s.out = out
	return true, err
}

// decodeFar is decodeWhole for the rare batch that looks back further than is streamed. The decoder is not kept.
func (s *zstdSource) decodeFar(src []byte, max int) error {
	d, err := newZstdDecoder(uint64(max), zstdMaxWindow)
	if err != nil {
		return err
	}
	defer d.Close()
	s.out, err = d.DecodeAll(src, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return errBomb
	}
	return err
}

func (s *zstdSource) decodeStream(src []byte) error {
	if s.stream == nil {
		d, err := newZstdDecoder(zstdStreamWindow, zstdStreamWindow)
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
func newZstdDecoder(memory, window uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(memory), zstd.WithDecoderMaxWindow(window))
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
