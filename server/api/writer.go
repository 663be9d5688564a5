package api

import "encoding/binary"

// writer writes the fields of an answer, with compact lengths in flexible versions.
type writer struct {
	b        []byte
	flexible bool
}

func (w *writer) int16(v int16) { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *writer) int32(v int32) { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) int64(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *writer) arrayLen(n int) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(n)+1)
	} else {
		w.int32(int32(n))
	}
}

// bytesLen is the length of bytes, which follow.
func (w *writer) bytesLen(n int) { w.arrayLen(n) }

func (w *writer) string(s string) {
	if w.flexible {
		w.b = binary.AppendUvarint(w.b, uint64(len(s))+1)
	} else {
		w.int16(int16(len(s)))
	}
	w.b = append(w.b, s...)
}

// nullableString writes "" as null.
func (w *writer) nullableString(s string) {
	switch {
	case s != "" && w.flexible:
		w.b = append(binary.AppendUvarint(w.b, uint64(len(s))+1), s...)
	case s != "":
		s = s[:min(len(s), 1<<15-1)]
		w.int16(int16(len(s)))
		w.b = append(w.b, s...)
	case w.flexible:
		w.b = append(w.b, 0)
	default:
		w.int16(-1)
	}
}

func (w *writer) tags() {
	if w.flexible {
		w.b = append(w.b, 0)
	}
}

func (w *writer) nullArray() {
	if w.flexible {
		w.b = append(w.b, 0)
	} else {
		w.int32(-1)
	}
}
