package record

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"

	"github.com/pierrec/lz4/v4"
)

// LZ4 frames, little-endian, as far as Kafka's clients write and read them:
//
//	04 22 4d 18 | FLG BD [content size: 8] HC | block... | 00 00 00 00 [content checksum: 4]
//
//	FLG   bits 7-6 version 01, 5 blocks are independent (required), 4 block checksums, 3 content size, 2 content checksum
//	BD    bits 6-4 largest block: 4 = 64 KiB, 5 = 256 KiB, 6 = 1 MiB, 7 = 4 MiB
//	HC    second byte of the xxHash-32 of FLG to content size
//	block size: 4, with the top bit set where the bytes are stored as they are; bytes; [xxHash-32 of them: 4]
//
// The content checksum is not looked at: the batch's CRC covers it all, and Java's library computes it over blocks
// in a way of its own.
const (
	lz4Magic         = 0x184d2204
	lz4Independent   = 1 << 5
	lz4BlockChecksum = 1 << 4
	lz4ContentSize   = 1 << 3
	lz4Stored        = 1 << 31
	// lz4Ratio is the best that LZ4 does: one byte of a length stands for 255.
	lz4Ratio = 255

	lz4WriteBlock = 64 << 10 // what Java's producers use
)

var (
	errLZ4Header   = errors.New("lz4 frame header is damaged or unsupported")
	errLZ4Linked   = errors.New("lz4 frame with dependent blocks is unsupported")
	errLZ4Block    = errors.New("lz4 block is larger than its frame says")
	errLZ4Checksum = errors.New("lz4 block checksum mismatch")
)

type lz4Source struct {
	src            []byte
	anyHeaderCheck bool
	blockChecksum  bool
	block          int // largest block of the frame in bytes, decompressed
	buf            []byte
}

func (s *lz4Source) reset(src []byte, _ int) error {
	s.src = src
	if len(src) < 7 {
		return io.ErrUnexpectedEOF
	}
	flags, descriptor, n := src[4], src[5], 2
	if flags&lz4ContentSize != 0 {
		n += 8
	}
	if binary.LittleEndian.Uint32(src) != lz4Magic || flags>>6 != 1 || descriptor&0x8f != 0 || descriptor>>4 < 4 {
		return errLZ4Header
	}
	if flags&lz4Independent == 0 {
		return errLZ4Linked
	}
	if len(src) < 4+n+1 {
		return io.ErrUnexpectedEOF
	}
	if !s.anyHeaderCheck && src[4+n] != byte(xxh32(src[4:4+n])>>8) {
		return errLZ4Header
	}
	s.blockChecksum = flags&lz4BlockChecksum != 0
	s.block = 1 << (8 + 2*(descriptor>>4))
	s.src = src[4+n+1:]
	return nil
}

func (s *lz4Source) next() ([]byte, error) {
	if len(s.src) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	head := binary.LittleEndian.Uint32(s.src)
	size, total := int(head&^lz4Stored), int(head&^lz4Stored)+4
	if size == 0 {
		return nil, io.EOF
	}
	if size > s.block {
		return nil, errLZ4Block
	}
	if s.blockChecksum {
		total += 4
	}
	if total > len(s.src) {
		return nil, io.ErrUnexpectedEOF
	}
	block := s.src[4 : 4+size]
	if s.blockChecksum && binary.LittleEndian.Uint32(s.src[4+size:]) != xxh32(block) {
		return nil, errLZ4Checksum
	}
	s.src = s.src[total:]
	if head&lz4Stored != 0 {
		return block, nil
	}
	if most := min(s.block, (size+1)*lz4Ratio); cap(s.buf) < most {
		s.buf = make([]byte, most)
	}
	n, err := lz4.UncompressBlock(block, s.buf[:min(s.block, cap(s.buf))])
	if err != nil {
		return nil, err
	}
	return s.buf[:n], nil
}

func (s *lz4Source) release() {
	s.src = nil
	lz4Sources.Put(s)
}

// xxh32 is xxHash-32 with seed 0: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
func xxh32(b []byte) uint32 {
	const p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	n := uint32(len(b))
	sum := uint32(p5)
	if len(b) >= 16 {
		one, two := uint32(p1), uint32(p2)
		lanes := [4]uint32{one + two, two, 0, -one}
		for ; len(b) >= 16; b = b[16:] {
			for i := range lanes {
				lanes[i] = bits.RotateLeft32(lanes[i]+binary.LittleEndian.Uint32(b[4*i:])*p2, 13) * p1
			}
		}
		sum = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) + bits.RotateLeft32(lanes[2], 12) + bits.RotateLeft32(lanes[3], 18)
	}
	sum += n
	for ; len(b) >= 4; b = b[4:] {
		sum = bits.RotateLeft32(sum+binary.LittleEndian.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		sum = bits.RotateLeft32(sum+uint32(c)*p5, 11) * p1
	}
	sum = (sum ^ sum>>15) * p2
	sum = (sum ^ sum>>13) * p3
	return sum ^ sum>>16
}
