package producer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"
)

func TestASnapshotBringsProducersAndTransactionsBack(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(7, 2, 100, 3), transactional(batchOf(3, 0, 0, 2)), transactional(batchOf(5, 1, 0, 2)))
	l.finish(5, 1, Marker{CoordinatorEpoch: 4})
	var s State
	if err := s.Unmarshal(l.Marshal()); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Producers(), l.Producers(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if first, ok := s.FirstUndecidedOffset(); first != 3 || !ok {
		t.Errorf("first undecided offset %d, %v", first, ok)
	}
	if dup, err := s.Check(batchOf(7, 2, 100, 3), true); err != nil || dup == nil || dup.BaseOffset != 0 {
		t.Errorf("the last batch again: %v, %v", dup, err)
	}
	if _, err := s.Check(batchOf(7, 2, 104, 1), true); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a gap: %v", err)
	}
}

// sealed fills in the checksum.
func sealed(b []byte) []byte {
	if len(b) >= countAt {
		binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[countAt:], castagnoli))
	}
	return b
}

func TestCorruptSnapshotsChangeNothing(t *testing.T) {
	l := newLog()
	l.must(t, batchOf(1, 0, 0, 3), batchOf(2, 0, 0, 3))
	good := l.Marshal()
	change := func(at int, v byte) []byte {
		b := slices.Clone(good)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":           {},
		"short":             good[:9],
		"version":           sealed(change(1, 2)),
		"checksum":          change(20, 9),
		"zeros":             make([]byte, len(good)),
		"cut entry":         sealed(slices.Clone(good[:len(good)-1])),
		"one more":          sealed(append(slices.Clone(good), 0)),
		"large count":       sealed(change(countAt, 0x7f)),
		"same producer":     sealed(change(snapshotHeader+snapshotEntry+7, 1)),
		"negative producer": sealed(change(snapshotHeader, 0x80)),
		"large delta":       sealed(change(snapshotHeader+22, 0x7f)),
	} {
		if err := l.Unmarshal(b); !errors.Is(err, ErrCorruptSnapshot) {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(l.Marshal(), good) {
			t.Errorf("%s changed the state", name)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	l := newLog()
	l.append(batchOf(1, 0, 0, 3))
	l.append(transactional(batchOf(2, 0, 0, 3)))
	f.Add(l.Marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if err := s.Unmarshal(sealed(b)); err != nil {
			if !errors.Is(err, ErrCorruptSnapshot) {
				t.Fatal(err)
			}
			return
		}
		once := s.Marshal()
		if len(once) != len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(once))
		}
		if err := s.Unmarshal(once); err != nil {
			t.Fatal(err)
		}
		if twice := s.Marshal(); !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x", once, twice)
		}
	})
}
