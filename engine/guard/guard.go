package guard

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

const (
	// Suffix ends the name of a guard. Its own end is what has Kafka remove it.
	Suffix = ".guard" + removedByKafka
	// PieceBytes is what a piece has at least before the next one begins: half a thousandth of the log is what guards take.
	PieceBytes = 64 << 10
	// Width is the size of a slot.
	Width = 32
	// Summed is how much of a batch goes into a sum: up to and with Kafka's CRC.
	Summed = 21

	removedByKafka = ".deleted"
	version        = 0
	checkAt        = Width - 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Piece is some batches of a segment, one behind the other, and their sum.
type Piece struct {
	Start, End int64  // positions in the file
	Batches    uint32 // at least one
	Sum        uint32
	First      int64 // offset of the first record
}

// add takes the batch at the piece's end into it. b has its first Summed bytes at least.
func (p *Piece) add(b []byte, size int64) {
	p.End += size
	p.Batches++
	p.Sum = crc32.Update(p.Sum, castagnoli, b[:Summed])
}

// offsetOf returns the base offset of a batch.
func offsetOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// Append appends the piece's slot, for the guard of the segment with that base offset.
func (p Piece) Append(b []byte, base int64) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Start))
	b = binary.BigEndian.AppendUint32(b, uint32(p.End))
	b = binary.BigEndian.AppendUint32(b, p.Batches)
	b = binary.BigEndian.AppendUint32(b, p.Sum)
	b = binary.BigEndian.AppendUint64(b, uint64(p.First))
	b = binary.BigEndian.AppendUint32(b, version)
	return binary.BigEndian.AppendUint32(b, check(base, b[at:]))
}

func check(base int64, slot []byte) uint32 {
	var seed [8]byte
	binary.BigEndian.PutUint64(seed[:], uint64(base))
	return crc32.Update(crc32.Checksum(seed[:], castagnoli), castagnoli, slot[:checkAt])
}

// parse reads a slot. It believes nothing in it that could not be.
func parse(slot []byte, base int64) (p Piece, ok bool) {
	o := binary.BigEndian
	p = Piece{
		Start: int64(o.Uint32(slot)), End: int64(o.Uint32(slot[4:])), Batches: o.Uint32(slot[8:]), Sum: o.Uint32(slot[12:]),
		First: int64(o.Uint64(slot[16:])),
	}
	ok = o.Uint32(slot[checkAt:]) == check(base, slot) && o.Uint32(slot[24:]) == version
	return p, ok && p.Start < p.End && p.End <= math.MaxInt32 && p.Batches > 0 && p.First >= base
}

// A Guard is what a file says.
type Guard struct {
	Pieces []Piece // ascending; no two of them cover the same position
	Slots  int     // of the file, whatever is in them
	Bad    int     // of these, how many are neither pieces nor zeros
}

// Decode reads the content of the guard of the segment with that base offset. It takes any bytes.
func Decode(b []byte, base int64) (g Guard) {
	for ; len(b) > 0; b = b[min(Width, len(b)):] {
		g.Slots++
		if len(b) < Width {
			g.Bad++
		} else if p, ok := parse(b[:Width], base); ok {
			g.Pieces = append(g.Pieces, p)
		} else if [Width]byte(b[:Width]) != [Width]byte{} {
			g.Bad++
		}
	}
	slices.SortStableFunc(g.Pieces, func(a, b Piece) int { return cmp.Compare(a.Start, b.Start) })
	// Of two that overlap, which nothing here writes, the longer one is kept: it says that more was flushed.
	kept := g.Pieces[:0]
	for _, p := range g.Pieces {
		if n := len(kept); n == 0 || kept[n-1].End <= p.Start {
			kept = append(kept, p)
		} else {
			g.Bad++
			if p.End-p.Start > kept[n-1].End-kept[n-1].Start && (n == 1 || kept[n-2].End <= p.Start) {
				kept[n-1] = p
			}
		}
	}
	g.Pieces = kept
	return g
}

// End returns the position below which everything was flushed.
func (g Guard) End() int64 {
	if n := len(g.Pieces); n > 0 {
		return g.Pieces[n-1].End
	}
	return 0
}

// Encode returns the content of a guard with these pieces.
func Encode(base int64, pieces []Piece) []byte {
	b := make([]byte, 0, Width*len(pieces))
	for _, p := range pieces {
		b = p.Append(b, base)
	}
	return b
}
