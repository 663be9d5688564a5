package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	snapshotVersion = 1
	crcAt           = 2
	countAt         = 6 // the CRC covers from here to the end
	snapshotHeader  = 10
	snapshotEntry   = 46
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Marshal returns the snapshot of the state, for the file named after the log's end offset.
func (s *State) Marshal() []byte {
	b := make([]byte, snapshotHeader, snapshotHeader+snapshotEntry*len(s.producers))
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[countAt:], uint32(len(s.producers)))
	for _, id := range s.ids() {
		b = s.producers[id].append(b, id)
	}
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[countAt:], castagnoli))
	return b
}

func (e *entry) append(b []byte, id int64) []byte {
	last := batch{lastSequence: -1, lastOffset: -1}
	if e.n > 0 {
		last = e.batches[e.n-1]
	}
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	b = binary.BigEndian.AppendUint16(b, uint16(e.epoch))
	b = binary.BigEndian.AppendUint32(b, uint32(last.lastSequence))
	b = binary.BigEndian.AppendUint64(b, uint64(last.lastOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(last.delta))
	b = binary.BigEndian.AppendUint64(b, uint64(e.timestamp))
	b = binary.BigEndian.AppendUint32(b, uint32(e.coordinatorEpoch))
	return binary.BigEndian.AppendUint64(b, uint64(e.firstOffset))
}

// Unmarshal replaces the state by that of a snapshot. It allocates no more than a small multiple of len(b). On an
// ErrCorruptSnapshot the state is as it was. Expire it afterwards: a producer may have become too old since.
func (s *State) Unmarshal(b []byte) error {
	entries, err := checkSnapshot(b)
	if err != nil {
		return err
	}
	var loaded State
	for ; len(entries) > 0; entries = entries[snapshotEntry:] {
		id, e, err := parseEntry(entries[:snapshotEntry])
		if err != nil {
			return err
		}
		if loaded.producers[id] != nil {
			return fmt.Errorf("%w: producer %d stands in it twice", ErrCorruptSnapshot, id)
		}
		loaded.put(id, e)
		if e.firstOffset >= 0 {
			loaded.txns.begin(id, e.firstOffset)
		}
	}
	*s = loaded
	return nil
}

// checkSnapshot returns the entries of a snapshot whose header and checksum are right.
func checkSnapshot(b []byte) (entries []byte, err error) {
	if len(b) < snapshotHeader {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorruptSnapshot, len(b))
	}
	if v := binary.BigEndian.Uint16(b); v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, expected %d", ErrCorruptSnapshot, v, snapshotVersion)
	}
	stored, computed := binary.BigEndian.Uint32(b[crcAt:]), crc32.Checksum(b[countAt:], castagnoli)
	if stored != computed {
		return nil, fmt.Errorf("%w: checksum %08x, computed %08x", ErrCorruptSnapshot, stored, computed)
	}
	entries = b[snapshotHeader:]
	if n := binary.BigEndian.Uint32(b[countAt:]); uint64(n)*snapshotEntry != uint64(len(entries)) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrCorruptSnapshot, n, len(b))
	}
	return entries, nil
}

func parseEntry(b []byte) (id int64, e *entry, err error) {
	id = int64(binary.BigEndian.Uint64(b))
	last := batch{
		lastSequence: int32(binary.BigEndian.Uint32(b[10:])),
		lastOffset:   int64(binary.BigEndian.Uint64(b[14:])),
		delta:        int32(binary.BigEndian.Uint32(b[22:])),
		timestamp:    int64(binary.BigEndian.Uint64(b[26:])),
	}
	e = &entry{
		epoch:            int16(binary.BigEndian.Uint16(b[8:])),
		timestamp:        last.timestamp,
		coordinatorEpoch: int32(binary.BigEndian.Uint32(b[34:])),
		firstOffset:      max(int64(binary.BigEndian.Uint64(b[38:])), -1),
	}
	if id < 0 || last.delta < 0 || int64(last.delta) > max(last.lastOffset, 0) {
		return 0, nil, fmt.Errorf("%w: producer %d, last offset %d, delta %d", ErrCorruptSnapshot,
			id, last.lastOffset, last.delta)
	}
	if last.lastOffset >= 0 {
		e.add(last)
	}
	return id, e, nil
}
