package index

import (
	"encoding/binary"
	"fmt"
)

// TxnWidth is the size of an entry of a transaction index in bytes.
const TxnWidth = 34

// txnVersion is the only version of entries that there is.
const txnVersion = 0

// An AbortedTxn is an entry of a transaction index: a transaction whose marker, an abort, is in the segment.
type AbortedTxn struct {
	ProducerID int64
	// FirstOffset is that of the transaction's first record, which may be in a segment before; LastOffset is its marker's.
	FirstOffset, LastOffset int64
	// LastStableOffset is the first offset of the first transaction that was open when this one ended, else that after
	// the marker: no transaction that began below it ends further on.
	LastStableOffset int64
}

// AppendTo appends the entry as the file has it.
func (t AbortedTxn) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, txnVersion)
	for _, v := range [...]int64{t.ProducerID, t.FirstOffset, t.LastOffset, t.LastStableOffset} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// ParseAbortedTxn reads the entry that b begins with. b has TxnWidth bytes at least.
func ParseAbortedTxn(b []byte) (version int16, t AbortedTxn) {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i:])) }
	return int16(binary.BigEndian.Uint16(b)), AbortedTxn{at(2), at(10), at(18), at(26)}
}

// ParseTxns reads the content of the transaction index of the segment with that base offset, or returns an ErrCorrupt
// where it cannot be one: Kafka's rules (a version that it knows, a marker that is in the segment) and those that every
// index follows which Kafka writes (whole entries, markers in order, each behind its first record).
func ParseTxns(b []byte, base int64) ([]AbortedTxn, error) {
	if n := len(b) % TxnWidth; n != 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the last whole entry at position %d", ErrCorrupt, n, len(b)-n)
	}
	list := make([]AbortedTxn, 0, len(b)/TxnWidth)
	last := base - 1
	for at := 0; at < len(b); at += TxnWidth {
		version, t := ParseAbortedTxn(b[at:])
		wrong := ""
		switch {
		case version != txnVersion:
			wrong = fmt.Sprintf("version %d, expected %d", version, txnVersion)
		case t.LastOffset <= last:
			wrong = fmt.Sprintf("a marker at offset %d, expected more than %d", t.LastOffset, last)
		case t.ProducerID < 0 || t.FirstOffset < 0 || t.FirstOffset >= t.LastOffset:
			wrong = fmt.Sprintf("producer %d, offsets %d to %d", t.ProducerID, t.FirstOffset, t.LastOffset)
		case t.LastStableOffset < 0 || t.LastStableOffset > t.LastOffset+1:
			wrong = fmt.Sprintf("a last stable offset of %d behind the marker at %d", t.LastStableOffset, t.LastOffset)
		}
		if wrong != "" {
			return nil, fmt.Errorf("%w: position %d has %s", ErrCorrupt, at, wrong)
		}
		list, last = append(list, t), t.LastOffset
	}
	return list, nil
}

// collect appends those of list that hold an offset from from on and began below to. done reports that no entry behind
// them can.
func collect(dst, list []AbortedTxn, from, to int64) (_ []AbortedTxn, done bool) {
	for _, t := range list {
		if t.LastOffset >= from && t.FirstOffset < to {
			dst = append(dst, t)
		}
		if t.LastStableOffset >= to {
			return dst, true
		}
	}
	return dst, false
}
