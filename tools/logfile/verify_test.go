package logfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

const (
	firstLog  = "orders-0/00000000000000000000.log"
	secondLog = "orders-0/00000000000000000015.log"
)

func TestASoundDirectoryHasNoProblems(t *testing.T) {
	f := newFixture(t)
	if problems := f.verify(); len(problems) > 0 {
		t.Fatal(problems)
	}
}

// TestPlantedFaultsAreFound plants one fault each. found is a part of the problem that has to be told, at file; torn
// where it is no corruption.
func TestPlantedFaultsAreFound(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 1; return b }
	}
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	add := func(more ...byte) func([]byte) []byte { return func(b []byte) []byte { return append(b, more...) } }
	clean := func(f *fixture) { must(f.t, checkpoint.WriteCleanShutdown(fs.OS(), f.root, 1)) }
	text := func(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

	for name, c := range map[string]struct {
		plant  func(f *fixture)
		file   string
		found  string
		torn   bool
		others int // further problems that follow from the fault
	}{
		"a flipped bit in a batch": {
			plant: func(f *fixture) { f.change(firstLog, flip(int(f.positions[3])+80)) }, file: firstLog, found: "computed crc"},
		"a flipped bit above the recovery point": {
			plant: func(f *fixture) { f.change(secondLog, flip(int(f.positions[24])+80)) }, file: secondLog, found: "computed crc", torn: true},
		"a flipped bit above the recovery point after an orderly stop": {
			plant: func(f *fixture) { clean(f); f.change(secondLog, flip(int(f.positions[24])+80)) }, file: secondLog, found: "computed crc"},
		"a length that is wrong": {
			plant: func(f *fixture) { f.change(firstLog, put32(int(f.positions[3])+8, 1<<29)) }, file: firstLog, found: "no good batch before position"},
		"a short last batch": {
			plant: func(f *fixture) { f.change(secondLog, cut(5)) }, file: secondLog, found: "left in the file", torn: true, others: 1},
		"a short last batch after an orderly stop": {
			plant: func(f *fixture) { clean(f); f.change(secondLog, cut(5)) }, file: secondLog, found: "left in the file"},
		"a short last batch and no checkpoint": {
			plant: func(f *fixture) {
				must(f.t, os.Remove(filepath.Join(f.root, checkpoint.RecoveryPoints)))
				f.change(secondLog, cut(5))
			}, file: secondLog, found: "left in the file"},
		"garbage behind the last batch": {
			plant: func(f *fixture) { f.change(secondLog, add(1, 2, 3)) }, file: secondLog, found: "less than the header", torn: true},
		"zeros behind a sealed segment": {
			plant: func(f *fixture) { f.change(firstLog, add(make([]byte, 100)...)) }, file: firstLog, found: "100 bytes of zeros"},
		"two batches in the wrong order": {
			plant: func(f *fixture) {
				f.change(firstLog, func(b []byte) []byte {
					binary.BigEndian.PutUint64(b[f.positions[3]:], 0)
					return b
				})
			}, file: firstLog, found: "base offset 0", others: 2},
		"a batch that is missing": {
			plant: func(f *fixture) {
				f.change(firstLog, func(b []byte) []byte { return append(b[:f.positions[3]:f.positions[3]], b[f.positions[6]:]...) })
			}, file: firstLog, found: "base offset 6, expected 3", others: 4},
		"a segment that is missing": {
			plant: func(f *fixture) {
				for _, s := range []string{".log", ".index", ".timeindex"} {
					must(f.t, os.Remove(filepath.Join(f.dir, "00000000000000000000"+s)))
				}
				f.checkpoint(checkpoint.RecoveryPoints, 40)
			}, file: checkpoint.RecoveryPoints, found: "offset 40"},
		"a leader epoch that falls": {
			plant: func(f *fixture) { f.change(secondLog, put32(int(f.positions[24])+12, 0)) }, file: secondLog, found: "leader epoch 0", others: 1},
		"an index position within a batch": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", put32(4, uint32(f.positions[3])+1)) },
			file:  "orders-0/00000000000000000000.index", found: "the start of a batch"},
		"an index offset of another batch": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", put32(0, 2)) },
			file:  "orders-0/00000000000000000000.index", found: "offset 2 for position"},
		"an index offset that no batch ends with": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", put32(0, 7)) },
			file:  "orders-0/00000000000000000000.index", found: "offset 7 for position"},
		"an index beyond the log": {
			plant: func(f *fixture) {
				f.change("orders-0/00000000000000000000.index", add(0, 0, 0, 14, 0, 1, 0, 0))
			}, file: "orders-0/00000000000000000000.index", found: "position 65536"},
		"an active index beyond the log": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000015.index", add(0, 0, 0, 99, 0, 1, 0, 0)) },
			file:  "orders-0/00000000000000000015.index", found: "offset 114", torn: true},
		"an index that does not rise": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", put32(0, 14)) },
			file:  "orders-0/00000000000000000000.index", found: "offset 11"},
		"half an index entry": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", add(1, 2, 3)) },
			file:  "orders-0/00000000000000000000.index", found: "3 bytes"},
		"zeros behind a sealed index": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.index", add(make([]byte, 80)...)) },
			file:  "orders-0/00000000000000000000.index", found: "80 bytes of zeros"},
		"a time that is not the batch's": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000000.timeindex", flip(7)) },
			file:  "orders-0/00000000000000000000.timeindex", found: "timestamp 1004 for offset 5"},
		"a time index beyond the log": {
			plant: func(f *fixture) {
				f.change("orders-0/00000000000000000015.timeindex", add(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 99))
			}, file: "orders-0/00000000000000000015.timeindex", found: "offset 114", torn: true},
		"a snapshot with a wrong checksum": {
			plant: func(f *fixture) { f.change("orders-0/00000000000000000015.snapshot", flip(20)) },
			file:  "orders-0/00000000000000000015.snapshot", found: "checksum"},
		"a snapshot of another offset": {
			plant: func(f *fixture) {
				f.write("orders-0/00000000000000000015.snapshot", f.read("orders-0/00000000000000000030.snapshot"))
			},
			file: "orders-0/00000000000000000015.snapshot", found: "last sequence 22", others: 1},
		"a snapshot beyond the log": {
			plant: func(f *fixture) {
				f.write("orders-0/00000000000000000040.snapshot", f.read("orders-0/00000000000000000030.snapshot"))
			},
			file: "orders-0/00000000000000000040.snapshot", found: "offset 40", torn: true},
		"an aborted transaction that is not indexed": {
			plant: func(f *fixture) { must(f.t, os.Remove(filepath.Join(f.dir, "00000000000000000000.txnindex"))) },
			file:  "orders-0/00000000000000000000.txnindex", found: "no entry"},
		"an indexed transaction that was not aborted": {
			plant: func(f *fixture) { f.write("orders-0/00000000000000000015.txnindex", txnIndexEntry(7, 15, 20, 21)) },
			file:  "orders-0/00000000000000000015.txnindex", found: "offsets 15 to 20"},
		"an aborted transaction behind which more was stable than is said": {
			plant: func(f *fixture) { f.write("orders-0/00000000000000000000.txnindex", txnIndexEntry(7, 6, 12, 9)) },
			file:  "orders-0/00000000000000000000.txnindex", found: "last stable offset 9"},
		"a transaction index of a version to come": {
			plant: func(f *fixture) {
				b := txnIndexEntry(7, 6, 12, 13)
				b[1] = 1
				f.write("orders-0/00000000000000000000.txnindex", b)
			},
			file: "orders-0/00000000000000000000.txnindex", found: "version 1"},
		"an epoch that the batches do not have": {
			plant: func(f *fixture) { f.change("orders-0/leader-epoch-checkpoint", text("0\n3\n0 0\n1 6\n2 18\n")) },
			file:  firstLog, found: "leader epoch 0 at offset 6", others: 8},
		"an epoch beyond the log": {
			plant: func(f *fixture) { f.change("orders-0/leader-epoch-checkpoint", text("0\n3\n0 0\n1 18\n2 99\n")) },
			file:  "orders-0/leader-epoch-checkpoint", found: "epoch 2 from offset 99", torn: true},
		"epochs that can not be read": {
			plant: func(f *fixture) { f.change("orders-0/leader-epoch-checkpoint", text("0\n2\n1 18\n0 0\n")) },
			file:  "orders-0/leader-epoch-checkpoint", found: "leader-epoch-checkpoint"},
		"a recovery point beyond the log": {
			plant: func(f *fixture) { f.checkpoint(checkpoint.RecoveryPoints, 31) },
			file:  checkpoint.RecoveryPoints, found: "orders-0 at offset 31"},
		"a high watermark beyond the log": {
			plant: func(f *fixture) { f.checkpoint(checkpoint.HighWatermarks, 31) },
			file:  checkpoint.HighWatermarks, found: "orders-0 at offset 31", torn: true},
		"a checkpoint that can not be read": {
			plant: func(f *fixture) { f.change(checkpoint.HighWatermarks, text("0\n5\norders 0 1\n")) },
			file:  checkpoint.HighWatermarks, found: checkpoint.HighWatermarks},
		"meta.properties that can not be read": {
			plant: func(f *fixture) { f.change("meta.properties", text("version=9\n")) }, file: "meta.properties", found: "version"},
		"a topic id that can not be read": {
			plant: func(f *fixture) { f.change("orders-0/partition.metadata", text("version: 0\ntopic_id: x")) },
			file:  "orders-0/partition.metadata", found: "topic_id"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			c.plant(f)
			problems := f.verify()
			told := false
			for _, p := range problems {
				rel, err := filepath.Rel(f.root, p.File)
				must(t, err)
				told = told || rel == c.file && strings.Contains(p.String(), c.found) && p.Torn == c.torn
			}
			if !told || len(problems) != 1+c.others {
				t.Errorf("want %q at %s, torn %v, and %d more; got:", c.found, c.file, c.torn, c.others)
				for _, p := range problems {
					t.Error(p)
				}
			}
		})
	}
}

func TestEveryFlippedBitOfALogIsFound(t *testing.T) {
	f := newFixture(t)
	whole := f.read(firstLog)
	for at := range whole {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1 << (at % 8)
		f.write(firstLog, damaged)
		if len(f.verify()) == 0 {
			t.Fatalf("a flipped bit at position %d is not found", at)
		}
	}
}

func TestACutAtAnyByteIsTornAboveTheRecoveryPointAndCorruptionBelow(t *testing.T) {
	f := newFixture(t)
	whole := f.read(secondLog)
	point := int(f.positions[recoveryPoint])
	for size := range whole {
		f.write(secondLog, whole[:size])
		corrupt := false
		for _, p := range f.verify() {
			corrupt = corrupt || !p.Torn
		}
		// Cut at a batch above the recovery point, the log is only shorter than its snapshot and high watermark.
		if corrupt != (size < point) {
			t.Fatalf("cut at position %d, the recovery point is at %d: corruption is %v: %v", size, point, corrupt, f.verify())
		}
	}
}

func TestOneSegmentIsCheckedWithItsIndexes(t *testing.T) {
	f := newFixture(t)
	f.change("orders-0/00000000000000000000.index", func(b []byte) []byte { b[7]++; return b })
	for file, want := range map[string]int{firstLog: 1, "orders-0/00000000000000000000.timeindex": 1, secondLog: 0, "orders-0": 1} {
		n := 0
		v := Verify{Report: func(Problem) { n++ }}
		must(t, v.Path(filepath.Join(f.root, file)))
		if n != want {
			t.Errorf("%s: %d problems, want %d", file, n, want)
		}
	}
}

func TestCompactionExplainsGaps(t *testing.T) {
	f := newFixture(t)
	f.change(firstLog, func(b []byte) []byte { return append([]byte(nil), b[:f.positions[3]]...) })
	f.write("orders-0/00000000000000000000.index", nil)
	f.write("orders-0/00000000000000000000.timeindex", nil)
	must(t, os.Remove(filepath.Join(f.dir, "00000000000000000000.txnindex")))
	must(t, os.Remove(filepath.Join(f.dir, "00000000000000000015.snapshot")))
	if len(f.verify()) == 0 {
		t.Fatal("a gap is no problem without compaction")
	}
	f.checkpoint(checkpoint.CleanerOffsets, 15)
	if problems := f.verify(); len(problems) > 0 {
		t.Fatal(problems)
	}
}

func TestRecordsAreWalkedWhenAskedFor(t *testing.T) {
	f := newFixture(t)
	b := record.Batch(f.read(secondLog)[f.positions[27]:]) // LZ4 or another codec: the count is in the header
	if !b.Codec().Known() {
		t.Fatal("the fixture has changed")
	}
	v := Verify{Records: true}
	v.Report = func(p Problem) {
		if !p.Note() {
			t.Error(p)
		}
	}
	must(t, v.Path(f.root))
	if v.Summary.Records != logEnd || v.Summary.Logs != 1 {
		t.Errorf("summary: %v", v.Summary)
	}
}
