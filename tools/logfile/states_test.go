package logfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
)

// makers make each row of the recovery table, some in several ways.
var makers = []struct {
	state engine.State
	name  string
	how   how
	make  func(d *made)
}{
	{engine.ZeroTail, "", how{}, func(d *made) { d.change(d.file(-1, ".log"), zeros(5000)) }},
	{engine.ZeroTail, "after an orderly stop", how{clean: true}, func(d *made) { d.change(d.file(-1, ".log"), zeros(5000)) }},
	{engine.TornTail, "bytes", how{}, func(d *made) { d.flip(64) }},
	{engine.TornTail, "length", how{}, func(d *made) { d.change(d.file(-1, ".log"), short(30)) }},
	{engine.TornTail, "no checkpoint", how{early: true}, func(d *made) { d.flip(64) }},
	{engine.HoledTail, "", how{}, func(d *made) { d.flip(62) }},
	{engine.HoledTail, "sync", how{sync: true}, func(d *made) { d.flip(62) }},
	{engine.HoledSegments, "", how{beyond: 40}, func(d *made) {
		bases := d.segments()
		d.remove(d.file(slices.IndexFunc(bases, func(b int64) bool { return b > 65 }), ".log"))
	}},
	{engine.DirtyAfterClean, "", how{clean: true}, func(d *made) { d.change(d.file(-1, ".log"), short(30)) }},
	{engine.EndBelowPoint, "within a batch", how{flushed: 60, beyond: 1}, func(d *made) {
		d.checkpoint(checkpoint.RecoveryPoints, 61)
		d.remove(d.at(recoveryName))
		d.change(d.file(-1, ".log"), short(30))
	}},
	{engine.EndBelowPoint, "the checkpoint is ahead", how{}, func(d *made) {
		d.checkpoint(checkpoint.RecoveryPoints, 1000)
		d.remove(d.at(recoveryName))
	}},
	{engine.CorruptBatch, "the end of a sealed segment", how{}, func(d *made) { d.change(d.file(0, ".log"), short(30)) }},
	{engine.CorruptBatch, "a length", how{}, func(d *made) { d.unframe(d.segments()[1] - 1) }},
	{engine.CorruptBatch, "in a clean directory that does not know the log", how{clean: true}, func(d *made) {
		d.flip(62)
		must(d.t, checkpoint.WriteOffsets(fs.OS(), d.at(checkpoint.RecoveryPoints), nil))
	}},
	{engine.OldMessages, "", how{}, func(d *made) {
		d.change(d.file(-1, ".log"), func(b []byte) []byte { return append(b, old(65, 100)...) })
	}},
	{engine.OldMessages, "short", how{}, func(d *made) { d.change(d.file(-1, ".log"), func(b []byte) []byte { return append(b, old(65, 1)...) }) }},
	{engine.OldMessages, "after an orderly stop", how{clean: true}, func(d *made) {
		d.change(d.file(-1, ".log"), func([]byte) []byte { return bytes.Repeat(old(64, 100), 5) })
	}},
	{engine.CorruptFlushed, "", how{sync: true, flushed: 10, beyond: 25, bytes: 1_000_000}, func(d *made) { d.flip(12) }},
	{engine.CorruptGuarded, "", how{guarded: true}, func(d *made) {
		d.early()
		d.flip(58)
	}},
	{engine.CorruptGuarded, "a length", how{guarded: true}, func(d *made) {
		d.early()
		d.unframe(30)
	}},
	{engine.CorruptGuarded, "after an orderly stop", how{guarded: true, clean: true}, func(d *made) { d.unframe(64) }},
	{engine.EndBelowGuard, "", how{guarded: true}, func(d *made) { d.change(d.file(-1, ".log"), short(1000)) }},
	{engine.EndBelowGuard, "at a batch", how{guarded: true, beyond: 1}, func(d *made) {
		path, at, _ := d.batchAt(59)
		d.change(path, func(b []byte) []byte { return b[:at] })
	}},
	{engine.GuardDiffers, "an offset", how{guarded: true, clean: true}, func(d *made) {
		d.early()
		d.offset(64, 2)
	}},
	{engine.GuardDiffers, "an epoch", how{guarded: true, large: true}, func(d *made) {
		d.early()
		path, at, _ := d.batchAt(30)
		d.change(path, func(b []byte) []byte { b[at+15] ^= 4; return b })
	}},
	{engine.GuardDamaged, "torn", how{guarded: true, early: true, clean: true}, func(d *made) {
		d.early()
		d.change(d.file(-1, guard.Suffix), ones)
	}},
	{engine.GuardOrphan, "", how{guarded: true}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d%s", 900, guard.Suffix)), nil) }},
	{engine.RottenBatch, "", how{}, func(d *made) { d.flip(3) }},
	{engine.RottenBatch, "the last one after an orderly stop", how{clean: true}, func(d *made) { d.flip(64) }},
	{engine.RottenBatch, "its offset", how{}, func(d *made) { d.offset(3, 1<<20) }},
	{engine.BadRecords, "", how{}, func(d *made) {
		d.rewrite(3, func(b record.Batch) { b[record.HeaderSize] = 2 })
	}},
	{engine.OffsetGap, "", how{}, func(d *made) {
		path, at, size := d.batchAt(3)
		d.change(path, func(b []byte) []byte { return append(b[:at:at], b[at+size:]...) })
	}},
	{engine.EpochFalls, "", how{}, func(d *made) {
		d.rewrite(3, func(b record.Batch) { b.SetPartitionLeaderEpoch(5) })
	}},
	{engine.Unreadable, "a folder in place of a file", how{}, func(d *made) {
		path := d.file(-1, ".log")
		d.remove(path)
		must(d.t, os.Mkdir(path, 0o755))
	}},
	{engine.Unreadable, "a folder in place of an index", how{large: true, flushed: 300}, func(d *made) {
		path := d.file(0, ".index")
		d.remove(path)
		must(d.t, os.Mkdir(path, 0o755))
	}},

	{engine.SegmentOverlap, "", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.log", 5)), d.read(d.file(1, ".log"))) }},
	{engine.SegmentLost, "the newest, of which there is a guard", how{guarded: true}, func(d *made) { d.remove(d.file(-1, ".log")) }},
	{engine.SegmentLost, "all, and there are guards", how{guarded: true}, func(d *made) {
		for range d.segments() {
			d.remove(d.file(0, ".log"))
		}
	}},
	{engine.SegmentLost, "before one that has a guard", how{guarded: true}, func(d *made) {
		d.remove(d.at(checkpoint.RecoveryPoints))
		d.remove(d.at(recoveryName))
		d.remove(d.file(2, ".log"))
	}},
	{engine.SegmentLost, "sync", how{sync: true}, func(d *made) { d.remove(d.file(1, ".log")) }},
	{engine.SegmentMissing, "", how{}, func(d *made) { d.remove(d.file(1, ".log")) }},
	{engine.FirstSegmentMissing, "", how{}, func(d *made) { d.remove(d.file(0, ".log")) }},
	{engine.FirstSegmentMissing, "all", how{}, func(d *made) {
		for range d.segments() {
			d.remove(d.file(0, ".log"))
		}
	}},
	{engine.HoleRetained, "", how{}, func(d *made) {
		d.checkpoint(checkpoint.LogStarts, 40)
		d.remove(d.file(1, ".log"))
	}},
	{engine.HoleCompacted, "by the cleaner's checkpoint", how{}, func(d *made) {
		d.checkpoint(checkpoint.CleanerOffsets, 60)
		d.remove(d.file(1, ".log"))
	}},
	{engine.HoleCompacted, "by what it left", how{}, func(d *made) {
		path, at, size := d.batchAt(3)
		d.change(path, func(b []byte) []byte { return append(b[:at:at], b[at+size:]...) })
		d.remove(d.file(1, ".log"))
	}},
	{engine.EmptySegment, "", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.log", 65)), nil) }},
	{engine.StartAhead, "", how{}, func(d *made) { d.checkpoint(checkpoint.LogStarts, 66) }},
	{engine.UnknownLog, "", how{}, func(d *made) { must(d.t, checkpoint.WriteOffsets(fs.OS(), d.at(checkpoint.RecoveryPoints), nil)) }},
	{engine.UnknownLog, "after an orderly stop", how{clean: true}, func(d *made) { must(d.t, os.Rename(d.dir, d.at("u-0"))) }},
	{engine.FolderMissing, "", how{}, func(d *made) { d.remove(d.dir) }},

	{engine.IndexDamaged, "missing", how{large: true, flushed: 300}, func(d *made) { d.remove(d.file(0, ".index")) }},
	{engine.IndexDamaged, "garbage", how{large: true, flushed: 300}, func(d *made) { d.change(d.file(0, ".index"), ones) }},
	{engine.IndexDamaged, "too long", how{large: true, flushed: 300}, func(d *made) { d.change(d.file(0, ".index"), zeros(80)) }},
	{engine.IndexDamaged, "half an entry", how{large: true, flushed: 300}, func(d *made) { d.change(d.file(0, ".index"), short(3)) }},
	{engine.IndexDamaged, "another's", how{large: true, flushed: 400}, func(d *made) {
		d.write(d.file(0, ".index"), d.read(d.file(1, ".index"))[:80])
		d.write(d.file(0, ".index"), append(d.read(d.file(0, ".index")), 0, 0, 255, 255, 0, 0, 255, 255))
	}},
	{engine.TimeIndexDamaged, "missing", how{large: true, flushed: 300}, func(d *made) { d.remove(d.file(0, ".timeindex")) }},
	{engine.TimeIndexDamaged, "garbage", how{large: true, flushed: 300}, func(d *made) { d.change(d.file(0, ".timeindex"), ones) }},
	{engine.TimeIndexDamaged, "too long", how{large: true, flushed: 300}, func(d *made) { d.change(d.file(0, ".timeindex"), zeros(120)) }},
	{engine.IndexOrphan, "", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.index", 900)), nil) }},
	{engine.TxnIndexDamaged, "garbage", how{}, func(d *made) { d.write(d.file(0, ".txnindex"), ones(make([]byte, 50))) }},

	{engine.SnapshotDamaged, "", how{}, func(d *made) { d.write(d.snapshot(), []byte("garbage")) }},
	{engine.SnapshotMissing, "", how{}, func(d *made) {
		for range 20 {
			if all, _ := filepath.Glob(d.in("*.snapshot")); len(all) > 0 {
				d.remove(d.snapshot())
			}
		}
	}},
	{engine.SnapshotStray, "beyond the end", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.snapshot", 900)), d.read(d.snapshot())) }},
	{engine.SnapshotDisagrees, "", how{}, func(d *made) {
		d.write(d.file(2, ".snapshot"), d.read(d.file(1, ".snapshot")))
	}},
	{engine.EpochsDamaged, "missing", how{}, func(d *made) { d.remove(d.in(leaderEpochsName)) }},
	{engine.EpochsDamaged, "garbage", how{}, func(d *made) { d.write(d.in(leaderEpochsName), []byte("garbage")) }},
	{engine.EpochsAhead, "", how{}, func(d *made) { d.write(d.in(leaderEpochsName), []byte("0\n2\n0 0\n1 900\n")) }},
	{engine.EpochsDisagree, "", how{}, func(d *made) { d.write(d.in(leaderEpochsName), []byte("0\n2\n0 0\n1 20\n")) }},

	{engine.MetadataMissing, "", how{}, func(d *made) { d.remove(d.in(checkpoint.PartitionMetadataName)) }},
	{engine.MetadataDamaged, "", how{}, func(d *made) { d.write(d.in(checkpoint.PartitionMetadataName), []byte("garbage")) }},
	{engine.MetadataForeign, "", how{}, func(d *made) {
		for i, id := range []checkpoint.ID{{1}, {2}} {
			dir := d.at(fmt.Sprintf("t-%d", i+1))
			must(d.t, os.CopyFS(dir, os.DirFS(d.dir)))
			must(d.t, checkpoint.WriteTopicID(fs.OS(), dir, id))
		}
	}},

	{engine.CheckpointMissing, "", how{}, func(d *made) { d.remove(d.at(checkpoint.RecoveryPoints)) }},
	{engine.CheckpointDamaged, "Kafka's", how{}, func(d *made) { d.write(d.at(checkpoint.RecoveryPoints), []byte("garbage")) }},
	{engine.CheckpointDamaged, "ours", how{}, func(d *made) { d.write(d.at(recoveryName), []byte("garbage")) }},
	{engine.CheckpointsDiffer, "behind", how{}, func(d *made) { d.checkpoint(checkpoint.RecoveryPoints, 33) }},
	{engine.CheckpointsDiffer, "ahead", how{}, func(d *made) { d.checkpoint(checkpoint.RecoveryPoints, 63) }},
	{engine.PointWithinBatch, "", how{}, func(d *made) {
		d.rewrite(64, func(b record.Batch) { binary.BigEndian.PutUint32(b[23:], 5) }) // its last offset is 69
		d.checkpoint(checkpoint.RecoveryPoints, 66)
		d.remove(d.at(recoveryName))
	}},
	{engine.HighAhead, "", how{}, func(d *made) { d.checkpoint(checkpoint.HighWatermarks, 900) }},

	{engine.Staged, "", how{staged: true}, func(d *made) { d.unwrite(nil) }},
	{engine.Staged, "a write was under way", how{staged: true}, func(d *made) { d.unwrite(make([]byte, 30)) }},
	{engine.Staged, "a write of several blocks", how{staged: true}, func(d *made) { d.unwrite(bytes.Repeat([]byte{0xee}, 300)) }},

	{engine.TmpLeft, "", how{}, func(d *made) { d.write(d.at(checkpoint.RecoveryPoints+".tmp"), []byte("half")) }},
	{engine.DeletedLeft, "", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.log.deleted", 0)), nil) }},
	{engine.DeletedFolderLeft, "", how{}, func(d *made) { must(d.t, os.CopyFS(d.at("t-0.0123-delete"), os.DirFS(d.dir))) }},
	{engine.CleanedLeft, "", how{}, func(d *made) { d.write(d.in(fmt.Sprintf("%020d.log.cleaned", 0)), nil) }},
	{engine.SwapLeft, "", how{}, func(d *made) {
		d.write(d.file(0, ".log.swap"), append(d.read(d.file(0, ".log")), d.read(d.file(1, ".log"))...))
	}},
	{engine.SwapDamaged, "", how{}, func(d *made) { d.write(d.file(0, ".log.swap"), d.read(d.file(0, ".log"))[:1500]) }},
	{engine.TornKept, "", how{}, func(d *made) { d.write(d.file(0, ".log.torn-77"), []byte("torn")) }},
	{engine.TornKept, "staged", how{}, func(d *made) { d.write(d.file(0, ".log.staged-77"), []byte("staged")) }},
	{engine.TornOld, "", how{}, func(d *made) {
		d.write(d.file(0, ".log.torn-77"), []byte("torn"))
		d.remove(d.file(0, ".log"))
	}},
	{engine.StrayFolder, "", how{}, func(d *made) { must(d.t, os.CopyFS(d.at("t-0.0123-stray"), os.DirFS(d.dir))) }},
	{engine.FutureFolder, "", how{}, func(d *made) { must(d.t, os.CopyFS(d.at("t-0.0123-future"), os.DirFS(d.dir))) }},
	{engine.ForeignFile, "at the root", how{}, func(d *made) { d.write(d.at("notes.txt"), []byte("mine")) }},
	{engine.ForeignFile, "in a folder", how{}, func(d *made) { d.write(d.in("notes.txt"), []byte("mine")) }},
	{engine.ForeignFolder, "", how{}, func(d *made) { must(d.t, os.Mkdir(d.at("lost+found"), 0o755)) }},

	{MetaDamaged, "", how{}, func(d *made) { d.write(d.at("meta.properties"), []byte("garbage")) }},
	{MetadataLogTorn, "", how{}, func(d *made) {
		d.write(d.at(metadataLogName), append(stateFrame(), stateFrame()[:10]...))
	}},
	{MetadataLogDamaged, "", how{}, func(d *made) { d.write(d.at(metadataLogName), []byte("garbage, and enough of it for a header")) }},
	{MetadataSnapshotDamaged, "", how{}, func(d *made) { d.write(d.at(metadataSnapshotName), []byte("garbage")) }},
	{BackupUnfinished, "", how{}, func(d *made) { d.write(d.at(engine.Unfinished), nil) }},
}

// early removes what says where a recovery may begin.
func (d *made) early() {
	d.t.Helper()
	d.remove(d.at(checkpoint.RecoveryPoints))
	d.remove(d.at(recoveryName))
	d.remove(d.at(checkpoint.CleanShutdownName))
}

// stateFrame is a frame of the metadata log.
func stateFrame() []byte {
	b := append(make([]byte, frameHeader), make([]byte, 24)...)
	binary.BigEndian.PutUint32(b[8:], 24)
	b[16] = kindState
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

func zeros(n int) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, make([]byte, n)...) }
}

func short(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func ones(b []byte) []byte {
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// TestEachRowOfTheRecoveryTableCanBeMade makes each, and holds what a start says and does against what verify says.
func TestEachRowOfTheRecoveryTableCanBeMade(t *testing.T) {
	without := map[engine.State]bool{}
	for _, r := range append(engine.States(), States()...) {
		without[r.State] = true
	}
	for _, m := range makers {
		delete(without, m.state)
		t.Run(strings.TrimSuffix(string(m.state)+", "+m.name, ", "), func(t *testing.T) {
			d := make1(t, m.how)
			before, _ := d.verify()
			m.make(d)
			after, problems := d.verify()
			if after[m.state] == 0 || before[m.state] > 0 && !m.how.staged {
				t.Errorf("verify found %v before and %v after:", before, after)
				for _, p := range problems {
					t.Error(p)
				}
			}
			if m.state == BackupUnfinished {
				d.refused(engine.ErrUnfinished)
				return
			}
			row := RowOf(m.state)
			e, l := d.start()
			met := e.Recovery().States
			if own := m.state.Row() != (engine.Row{}); own && (met[m.state] > 0) == row.Unseen {
				t.Errorf("the start met %v; verify: %v", met, after)
			}
			if isOffline(row) && !row.Unseen {
				if got := engine.StateOf(l.Err()); got != m.state {
					t.Errorf("the log is offline for %q: %v", got, l.Err())
				}
			} else if l != nil {
				if err := l.Err(); err != nil {
					t.Errorf("the log is offline: %v", err)
				}
			}
			for s, n := range met { // what a start says of damage, verify says too
				if h := s.Row().Harm; h >= engine.Torn && after[s] == 0 {
					t.Errorf("the start met %s %d times, verify did not: %v", s, n, after)
				}
			}
			if m.how.staged {
				if got := offsets(t, l, 100); !slices.Equal(got, to(65)) {
					t.Errorf("offsets %v", got)
				}
			}
			must(t, e.Close())
			again, _ := d.start()
			for s, n := range again.Recovery().States {
				if r := s.Row(); r.Harm > engine.Note && !isOffline(r) && !again.Recovery().Clean {
					t.Errorf("the next start met %s again, %d times", s, n)
				}
			}
		})
	}
	for s := range without {
		t.Errorf("no maker makes %s", s)
	}
}

// old is a stored message of magic 0, with a null key.
func old(offset uint64, bytes int) []byte {
	b := append(make([]byte, 16, 26+bytes), 0, 0, 0xff, 0xff, 0xff, 0xff) // magic, attributes, size of the key
	b = binary.BigEndian.AppendUint32(b, uint32(bytes))
	b = append(b, make([]byte, bytes)...)
	binary.BigEndian.PutUint64(b, offset)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

func TestKafkasCacheOfRemoteIndexesIsNoForeignFolder(t *testing.T) {
	d := make1(t, how{clean: true})
	must(t, os.Mkdir(d.at("remote-log-index-cache"), 0o755))
	if found, problems := d.verify(); found[engine.ForeignFolder] > 0 {
		t.Errorf("verify found %v", problems)
	}
}
