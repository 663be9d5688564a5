package logfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/zurau/zurau/engine/index"
)

// Sizes of entries in bytes.
const (
	offsetWidth = index.OffsetWidth
	timeWidth   = index.TimeWidth
	txnWidth    = index.TxnWidth
	// snapshot: see package engine/producer
	snapshotHeader = 10
	snapshotWidth  = 46
)

// maxIndex bounds what is read into memory of a file of entries: segment.index.bytes is 10 MiB by default.
const maxIndex = 1 << 30

// readFile returns the content of a file that belongs into memory.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err == nil && len(b) > maxIndex {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxIndex)
	}
	return b, err
}

// offsetEntry is one of an offset index:
//
//	0        4        8
//	| offset |position|    relative to the segment's base offset; bytes in the log file
type offsetEntry struct{ offset, position int64 }

func offsetEntryOf(b []byte, base int64) offsetEntry {
	return offsetEntry{base + int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))}
}

// timeEntry is one of a time index:
//
//	0                 8        12
//	|    timestamp    | offset |    ms; relative to the segment's base offset
type timeEntry struct{ timestamp, offset int64 }

func timeEntryOf(b []byte, base int64) timeEntry {
	return timeEntry{int64(binary.BigEndian.Uint64(b)), base + int64(int32(binary.BigEndian.Uint32(b[8:])))}
}

// snapshotEntry is what a snapshot says of a producer beyond what producer.Producer does.
type snapshotEntry struct {
	producerID, lastOffset int64
	delta                  int32
}

func snapshotEntryOf(b []byte) snapshotEntry {
	return snapshotEntry{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[14:])), int32(binary.BigEndian.Uint32(b[22:]))}
}

// withoutZeros returns the entries without those at the end that are zeros: the space that an active index has ahead.
func withoutZeros(b []byte, width int) []byte {
	for n := len(b) - len(b)%width; n >= width; n -= width {
		for _, c := range b[n-width : n] {
			if c != 0 {
				return b[:n]
			}
		}
	}
	return b[:0]
}
