package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

const testSalt = 0xdecade01

func entry(index, term uint64, data string) *pb.Entry {
	e := &pb.Entry{Type: pb.EntryNormal.Enum(), Index: &index, Term: &term}
	if data != "" {
		e.Data = []byte(data)
	}
	return e
}

func state(term, commit uint64) *pb.HardState {
	return &pb.HardState{Term: &term, Vote: proto.Uint64(1), Commit: &commit}
}

// logFile builds a log file; each call of write is one write.
type logFile struct{ b []byte }

func newLogFile(index, term uint64) *logFile {
	h := logHeader{node: 0, voters: []int32{0}, index: index, term: term}
	return &logFile{appendFrame(nil, testSalt, 0, frameHeader, h.append)}
}

func (l *logFile) write(what ...any) *logFile {
	start := len(l.b)
	for _, w := range what {
		switch w := w.(type) {
		case *pb.Entry:
			l.b = appendFrame(l.b, testSalt, start, frameEntry, func(b []byte) []byte { return appendEntry(b, w) })
		case *pb.HardState:
			l.b = appendFrame(l.b, testSalt, start, frameState, func(b []byte) []byte { return appendState(b, w) })
		case frameKind:
			l.b = appendFrame(l.b, testSalt, start, w, func(b []byte) []byte { return b })
		}
	}
	return l
}

func imageAt(offset int64) *Image { return &Image{Offset: offset} }

// TestTheRowsOfRecovery goes through the table of doc.go; rows 1, 2 and 10 are those of the files, in store_test.go.
func TestTheRowsOfRecovery(t *testing.T) {
	three := func() *logFile {
		return newLogFile(0, 0).write(entry(1, 1, ""), state(1, 0)).write(entry(2, 1, "b"), state(1, 1)).write(entry(3, 1, "c"), state(1, 2))
	}
	first := len(newLogFile(0, 0).b)
	second := len(newLogFile(0, 0).write(entry(1, 1, ""), state(1, 0)).b)
	third := len(newLogFile(0, 0).write(entry(1, 1, ""), state(1, 0)).write(entry(2, 1, "b"), state(1, 1)).b)
	damage := func(at int) []byte {
		b := three().b
		b[at] ^= 0x40
		return b
	}
	for _, c := range []struct {
		name     string
		b        []byte
		image    *Image
		term     uint64
		end      int    // where the log ends; 0: refused
		entries  string // their data, "-" for none
		position int    // of what is refused
		message  string
	}{
		{name: "a whole log", b: three().b, image: imageAt(0), end: len(three().b), entries: "-bc"},
		{name: "row 3: shorter than a header", b: []byte{1, 2}, image: imageAt(0), message: "shorter than its header"},
		{name: "row 3: a bad header", b: damage(20), image: imageAt(0), message: "checksum"},
		{name: "row 3: no header", b: three().b[first:], image: imageAt(0), message: "kind 2"},
		{name: "row 4: cut in the last write", b: three().b[:third+20], image: imageAt(0), end: third, entries: "-b"},
		{name: "row 4: a hole in the last write, with its second frame whole", b: damage(third + 18), image: imageAt(0), end: third, entries: "-b"},
		{name: "row 4: zeros behind the end", b: append(three().b, make([]byte, 5000)...), image: imageAt(0), end: len(three().b), entries: "-bc"},
		{name: "row 4: frames of another file behind the end", b: append(three().b, bytes.Repeat([]byte{1, 2, 3, 4}, 100)...), image: imageAt(0), end: len(three().b), entries: "-bc"},
		{name: "row 5: damage below a later write", b: damage(second + 18), image: imageAt(0), position: second, message: "proves that it was flushed"},
		{name: "row 5: a length that was damaged", b: damage(second + 8), image: imageAt(0), position: second, message: "proves that it was flushed"},
		{name: "row 6: an unknown frame", b: three().write(frameKind(9)).b, image: imageAt(0), position: len(three().b), message: "unknown kind 9"},
		{name: "row 6: a second header", b: three().write(frameHeader).b, image: imageAt(0), position: len(three().b), message: "kind 1"},
		{name: "row 6: an entry behind a gap", b: three().write(entry(5, 1, "e")).b, image: imageAt(0), position: len(three().b), message: "entry 5 behind entry 3"},
		{name: "row 6: an entry of term 0", b: three().write(entry(4, 0, "e")).b, image: imageAt(0), position: len(three().b), message: "term 0"},
		{name: "row 6: a hard state older than its entries", b: three().write(entry(4, 2, "e")).b, image: imageAt(0), message: "hard state with term 1"},
		{name: "row 6: a commit beyond the end", b: three().write(state(1, 4)).b, image: imageAt(0), message: "commit 4"},
		{name: "an entry that replaces others", b: three().write(entry(2, 2, "B"), state(2, 1)).b, image: imageAt(0), end: len(three().write(entry(2, 2, "B"), state(2, 1)).b), entries: "-B"},
		{name: "row 7: the snapshot is older", b: newLogFile(7, 1).write(entry(8, 1, "h"), state(1, 7)).b, image: imageAt(6), term: 1, message: "snapshot at offset 7"},
		{name: "row 7: no snapshot", b: newLogFile(7, 1).b, image: imageAt(0), message: "snapshot at offset 7"},
		{name: "the log continues the snapshot", b: newLogFile(7, 1).write(entry(8, 1, "h"), state(1, 7)).b, image: imageAt(7), term: 1, end: len(newLogFile(7, 1).write(entry(8, 1, "h"), state(1, 7)).b), entries: "h"},
		{name: "the log continues a snapshot of another term", b: newLogFile(7, 1).write(state(2, 7)).b, image: imageAt(7), term: 2, message: "of term 1"},
		{name: "row 8: the snapshot is newer", b: three().b, image: imageAt(2), term: 1, end: len(three().b), entries: "c"},
		{name: "row 8: the snapshot is at the end", b: three().b, image: imageAt(3), term: 1, end: len(three().b), entries: ""},
		{name: "row 9: the snapshot is beyond the end", b: three().write(state(2, 3)).b, image: imageAt(9), term: 2, end: len(three().write(state(2, 3)).b), entries: ""},
		{name: "row 9: the snapshot overrules", b: three().write(state(2, 1)).b, image: imageAt(2), term: 2, end: len(three().write(state(2, 1)).b), entries: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := recoverLog(c.b, c.image, c.term)
			if c.end == 0 {
				var at *corruption
				if err == nil || !strings.Contains(err.Error(), c.message) || errors.As(err, &at) && at.position != c.position {
					t.Fatalf("error %v, want one at %d with %q", err, c.position, c.message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(r.entries); r.end != c.end || got != c.entries {
				t.Fatalf("ends at %d with %q, want %d with %q", r.end, got, c.end, c.entries)
			}
		})
	}
}

func contents(list []*pb.Entry) string {
	s := ""
	for _, e := range list {
		if len(e.GetData()) == 0 {
			s += "-"
		}
		s += string(e.GetData())
	}
	return s
}

// TestEveryFlippedBitIsNoticed flips each bit of a log at rest. The last frame is the one that Close wrote, and nothing
// before it may be cut quietly.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	whole := newLogFile(0, 0).write(entry(1, 1, ""), entry(2, 1, "abc"), state(1, 0)).write(entry(3, 1, "d"), state(1, 2)).b
	b := newLogFile(0, 0)
	b.b = bytes.Clone(whole)
	b.write(state(1, 3))
	for i := range len(whole) * 8 {
		b.b[i/8] ^= 1 << (i % 8)
		if r, err := recoverLog(b.b, imageAt(0), 0); err == nil {
			t.Fatalf("bit %d of byte %d: ends at %d of %d", i%8, i/8, r.end, len(b.b))
		}
		b.b[i/8] ^= 1 << (i % 8)
	}
}

func TestFilesHaveTheBytesThatAreDrawn(t *testing.T) {
	got := newLogFile(5, 2).write(entry(6, 3, "x"), state(3, 5)).b
	want := "00000000 decade01 0000000d 00000000 01" + "7a757261754d4c01 00 0100 05 02" +
		"00000000 decade01 00000004 00000000 02" + "00 06 03 78" +
		"00000000 decade01 00000003 00000015 03" + "03 01 05"
	compareGolden(t, "log", got, want, 0, 30, 51)
	img := &Image{Offset: 5, ClusterID: "abc"}
	compareGolden(t, "snapshot", appendSnapshot(nil, img, 2), "7a757261754d5301 00000000 0000000000000005 0000000000000002 01 01000403616263", 8)
}

// compareGolden compares but for the checksums at the positions, which are held against their contents elsewhere.
func compareGolden(t *testing.T, what string, got []byte, want string, checksums ...int) {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(want, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	got = bytes.Clone(got)
	for _, at := range checksums {
		clear(got[at : at+4])
		clear(b[at : at+4])
	}
	if !bytes.Equal(got, b) {
		t.Fatalf("%s is\n%x, want\n%x", what, got, b)
	}
}

func FuzzRecoverLog(f *testing.F) {
	f.Add(newLogFile(0, 0).write(entry(1, 1, ""), state(1, 0)).write(entry(2, 1, "b"), state(1, 1)).b, uint16(0), uint16(0))
	f.Add(newLogFile(7, 1).write(entry(8, 1, "h"), state(1, 7)).b, uint16(7), uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, offset, term uint16) {
		for _, sealed := range []bool{false, true} {
			if sealed {
				b = seal(bytes.Clone(b))
			}
			r, err := recoverLog(b, imageAt(int64(offset)), uint64(term))
			if err != nil {
				continue
			}
			if r.end > len(b) || r.end <= 0 {
				t.Fatalf("ends at %d of %d", r.end, len(b))
			}
			for i, e := range r.entries {
				if e.GetIndex() != uint64(offset)+uint64(i)+1 {
					t.Fatalf("entry %d behind offset %d has index %d", i, offset, e.GetIndex())
				}
			}
			if again, err := recoverLog(b[:r.end], imageAt(int64(offset)), uint64(term)); err != nil || len(again.entries) != len(r.entries) {
				t.Fatalf("after the cut: %v", err)
			}
		}
	})
}

// seal makes the salts and checksums of a log right, so that a fuzzer comes past them.
func seal(b []byte) []byte {
	for at := 0; at+frameOverhead <= len(b); {
		copy(b[at+4:], b[4:8])
		b[at+8], b[at+9] = 0, 0 // lengths that fit
		size := frameOverhead + int(b[at+10])<<8 + int(b[at+11])
		if at+size > len(b) {
			break
		}
		sum := checksum(b[at+saltPosition : at+size])
		b[at], b[at+1], b[at+2], b[at+3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		at += size
	}
	return b
}

func FuzzDecodeSnapshot(f *testing.F) {
	all, _ := goldenBytes(f)
	f.Add(appendSnapshot(nil, imageAt(3), 1), false)
	f.Add(append(make([]byte, snapshotHeaderSize), all...), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed && len(b) >= snapshotHeaderSize {
			b = bytes.Clone(b)
			copy(b, snapshotMagic[:])
			sum := checksum(b[12:])
			b[8], b[9], b[10], b[11] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		}
		img, term, err := decodeSnapshot(b)
		if err != nil {
			return
		}
		again, againTerm, err := decodeSnapshot(appendSnapshot(nil, img, term))
		if err != nil || againTerm != term || dumpImage(again) != dumpImage(img) {
			t.Fatalf("again: %v", err)
		}
	})
}
