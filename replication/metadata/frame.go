package metadata

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/zurau/zurau/replication/metadata/decode"
)

// frameKind says what a frame of the log file holds.
type frameKind byte

const (
	frameHeader frameKind = 1 // first frame of the file, and only there
	frameEntry  frameKind = 2
	frameState  frameKind = 3 // Raft's hard state: term, vote, commit
)

const (
	frameOverhead = 4 + 4 + 4 + 4 + 1
	saltPosition  = 4
	// maxPayload bounds one frame, and with it one Update: an allocation for a length read from a file stays under
	// it. A million partitions in one Update are about 64 MiB.
	maxPayload = 256 << 20
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// frame is a decoded frame. Its payload aliases the file's bytes.
type frame struct {
	kind    frameKind
	back    uint32 // bytes from the start of the write that this frame was part of to the frame
	payload []byte
}

// appendFrame appends a frame; fill appends the payload. write is where in b the current write starts.
func appendFrame(b []byte, salt uint32, write int, kind frameKind, fill func([]byte) []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), salt)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(start-write))
	b = fill(append(b, byte(kind)))
	binary.BigEndian.PutUint32(b[start+8:], uint32(len(b)-start-frameOverhead))
	binary.BigEndian.PutUint32(b[start:], checksum(b[start+saltPosition:]))
	return b
}

// nextFrame decodes the frame at the front of b; size is its length in the file.
func nextFrame(b []byte, salt uint32) (f frame, size int, err error) {
	if len(b) < frameOverhead {
		return f, 0, fmt.Errorf("%d bytes are less than a frame's header", len(b))
	}
	if got := binary.BigEndian.Uint32(b[saltPosition:]); got != salt {
		return f, 0, fmt.Errorf("frame has salt %08x instead of the file's %08x", got, salt)
	}
	n := binary.BigEndian.Uint32(b[8:])
	if n > maxPayload || int(n) > len(b)-frameOverhead {
		return f, 0, fmt.Errorf("frame of %d bytes with %d left in the file", n, len(b)-frameOverhead)
	}
	size = frameOverhead + int(n)
	if want, got := binary.BigEndian.Uint32(b), checksum(b[saltPosition:size]); want != got {
		return f, 0, fmt.Errorf("frame has checksum %08x, but its bytes have %08x", want, got)
	}
	return frame{kind: frameKind(b[16]), back: binary.BigEndian.Uint32(b[12:]), payload: b[frameOverhead:size]}, size, nil
}

// logHeader is the payload of the first frame.
type logHeader struct {
	node   int32
	voters []int32 // node ids
	// index and term of the entry before the first of this file, which a snapshot covers; 0 and 0 in a first file.
	index, term uint64
}

// logMagic opens the header's payload; its last byte is the version of the layout (see doc.go).
var logMagic = [8]byte{'z', 'u', 'r', 'a', 'u', 'M', 'L', 1}

func (h logHeader) append(b []byte) []byte {
	b = append(b, logMagic[:]...)
	b = binary.AppendVarint(b, int64(h.node))
	b = appendInt32s(b, h.voters)
	return binary.AppendUvarint(binary.AppendUvarint(b, h.index), h.term)
}

func decodeHeader(b []byte) (h logHeader, err error) {
	d := decoder{Fields: decode.Fields{B: b}}
	if magic := d.Take(len(logMagic)); magic == nil || [8]byte(magic) != logMagic {
		if magic != nil && [7]byte(magic) == [7]byte(logMagic[:7]) {
			return h, fmt.Errorf("log version %d (this program reads %d): %w", magic[7], logMagic[7], ErrNewer)
		}
		return h, fmt.Errorf("this is no metadata log")
	}
	h = logHeader{node: d.int32(), voters: d.int32s(), index: d.uvarint(), term: d.uvarint()}
	return h, d.end("header")
}

func appendEntry(b []byte, e *pb.Entry) []byte {
	b = append(b, byte(e.GetType()))
	b = binary.AppendUvarint(binary.AppendUvarint(b, e.GetIndex()), e.GetTerm())
	return append(b, e.GetData()...)
}

func decodeEntry(b []byte) (*pb.Entry, error) {
	d := decoder{Fields: decode.Fields{B: b}}
	kind, index, term := pb.EntryType(d.byte()), d.uvarint(), d.uvarint()
	if _, known := pb.EntryType_name[int32(kind)]; !known || index == 0 || index > math.MaxInt64 || term == 0 {
		d.Fail(fmt.Errorf("kind %d, index %d, term %d", kind, index, term))
	}
	if d.Err != nil {
		return nil, fmt.Errorf("entry: %w", d.Err)
	}
	e := &pb.Entry{Type: &kind, Index: &index, Term: &term}
	if len(d.B) > 0 {
		e.Data = d.B
	}
	return e, nil
}

func appendState(b []byte, s *pb.HardState) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, s.GetTerm()), s.GetVote()), s.GetCommit())
}

func decodeState(b []byte) (*pb.HardState, error) {
	d := decoder{Fields: decode.Fields{B: b}}
	term, vote, commit := d.uvarint(), d.uvarint(), d.uvarint()
	return &pb.HardState{Term: &term, Vote: &vote, Commit: &commit}, d.end("hard state")
}

// end reports what went wrong, or bytes that are left over.
func (d *decoder) end(what string) error {
	if d.Err == nil && len(d.B) > 0 {
		d.Err = fmt.Errorf("%d bytes behind the last field", len(d.B))
	}
	if d.Err != nil {
		return fmt.Errorf("%s: %w", what, d.Err)
	}
	return nil
}
