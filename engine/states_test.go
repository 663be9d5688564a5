package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// pageName is the recovery table as a page: ZURAU_UPDATE=1 go test writes it.
const pageName = "RECOVERY.md"

func TestTheRecoveryPageIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Recovery\n\nEach row is a state that a start may find in a log directory. Log lines, the error of a log that is offline, " +
		"`engine.Recovery` and\n`zurau log verify` name it. A start does not look for rows in *italics*: `zurau log verify` does.\n\n" +
		"*note*: nothing is lost. *torn*: a crash left it, and nothing that was promised is lost. *healed*: made again from the log.\n" +
		"*damage*: no crash explains it.\n\n| row | | what is seen | what it means | what the next start does |\n|---|---|---|---|---|\n")
	for _, r := range States() {
		name := "`" + string(r.State) + "`"
		if r.Unseen {
			name = "*" + name + "*"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, r.Harm, r.Seen, r.Means, r.Done)
	}
	if os.Getenv("ZURAU_UPDATE") != "" {
		must(t, os.WriteFile(pageName, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(pageName)
	must(t, err)
	if string(got) != b.String() {
		t.Errorf("%s is not what the table says: ZURAU_UPDATE=1 go test -run %s", pageName, t.Name())
	}
}

func TestTheRecoveryTableHasEachStateOnce(t *testing.T) {
	seen := map[State]bool{}
	for _, r := range States() {
		if seen[r.State] || r.State == "" || r.Seen == "" || r.Means == "" || r.Done == "" || r.State.Row() != r {
			t.Errorf("%+v", r)
		}
		seen[r.State] = true
	}
	if r := State("none").Row(); r != (Row{}) {
		t.Errorf("%+v", r)
	}
}

// met checks which states a start has met, of those that are of interest.
func (b *bench) met(what string, want ...State) {
	b.t.Helper()
	for _, s := range want {
		if b.e.Recovery().States[s] == 0 {
			b.t.Errorf("%s: no %s in %v", what, s, b.e.Recovery().States)
		}
	}
}

func TestAMissingFirstSegmentIsTold(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	end := b.fill(l, 40)
	must(t, b.e.Checkpoint())
	second := (*l.view.Load())[1].Base
	b.killed(func(disk *fs.Crash) { must(t, disk.Remove(firstLog)) })
	b.met("removed", FirstSegmentMissing, IndexOrphan)
	b.whole(b.log("t"), second, end)
	b.restart()
	if n := b.e.Recovery().States[FirstSegmentMissing]; n != 0 {
		t.Error("told again, where the log start is what it is now")
	}
	all := func(disk *fs.Crash) {
		for _, name := range list(t, disk, "/data/t-0") {
			if strings.HasSuffix(name, segment.LogSuffix) {
				must(t, disk.Remove("/data/t-0/"+name))
			}
		}
	}
	b.killed(all)
	l, _ = b.e.Log(Name{"t", 0})
	if StateOf(l.Err()) != SegmentLost {
		t.Errorf("none left, but guards of them: %v", l.Err())
	}
	b.killed(func(disk *fs.Crash) { unguard(t, disk, "/data/t-0") }) // what the error tells to do where nothing is missing
	b.met("none left", FirstSegmentMissing)
	b.whole(b.log("t"), end, end) // an offset is not given twice
}

func TestARetentionIsNoMissingSegment(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes = 3000
	l := b.create("t", c)
	b.fill(l, 60)
	must(t, b.e.Checkpoint())
	must(t, b.e.Retain())
	start := l.LogStartOffset()
	b.killed(func(*fs.Crash) {})
	if n := b.e.Recovery().States[FirstSegmentMissing]; n != 0 || start == 0 {
		t.Errorf("start %d: %v", start, b.e.Recovery().States)
	}
	b.whole(b.log("t"), start, 60)
}

func TestAMissingFolderIsToldUnlessItsLogWasDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(disk *fs.Crash)
		want int
	}{
		"moved away":        {func(disk *fs.Crash) { must(t, disk.Rename("/data/t-0", "/elsewhere")) }, 1},
		"deleted":           {func(disk *fs.Crash) { must(t, disk.Rename("/data/t-0", "/data/t-0.0123-delete")) }, 0},
		"set aside":         {func(disk *fs.Crash) { must(t, disk.Rename("/data/t-0", "/data/t-0.0123-stray")) }, 0},
		"another's deleted": {func(disk *fs.Crash) { must(t, disk.Rename("/data/t-0", "/data/t-1.0123-delete")) }, 1},
	} {
		b := newBench(t)
		b.fill(b.create("t", small()), 30)
		b.create("empty", small()) // has no folder, and never had one
		must(t, b.e.Checkpoint())
		b.killed(c.hurt)
		if n := b.e.Recovery().States[FolderMissing]; n != c.want {
			t.Errorf("%s: %v", name, b.e.Recovery().States)
		}
		b.restart()
		if n := b.e.Recovery().States[FolderMissing]; n != 0 {
			t.Errorf("%s: told twice", name)
		}
		b.stop()
	}
}

func TestALogThatWasPutIntoACleanDirectoryIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		offset int64
		state  State
	}{"sound": {-1, UnknownLog}, "torn": {39, DirtyAfterClean}, "bad in the midst": {20, CorruptBatch}} {
		b := newBench(t)
		b.fill(b.create("t", Config{}), 40)
		b.stop()
		must(t, b.disk.Rename("/data/t-0", "/data/u-0"))
		unguard(t, b.disk, "/data/u-0")
		if c.offset >= 0 {
			at, _ := placeOf(t, b.disk, "/data/u-0/00000000000000000000.log", c.offset)
			patch(t, b.disk, "/data/u-0/00000000000000000000.log", at+70, []byte{0xaa, 0xbb})
		}
		b.open()
		b.met(name, UnknownLog, c.state)
		l, _ := b.e.Log(Name{"u", 0})
		if err := l.Err(); (err != nil) != (c.state == CorruptBatch) || err != nil && StateOf(err) != c.state {
			t.Errorf("%s: %v", name, err)
		}
		b.stop()
	}
}

func TestAHoleRightBeforeTheRecoveryPointIsAsOneAnywhere(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 30)
	must(t, b.e.Checkpoint())
	b.fill(l, 10)
	b.killed(func(disk *fs.Crash) { // as a cleaner leaves
		at, size := placeOf(t, disk, firstLog, 29)
		whole := read(t, disk, firstLog)
		overwrite(t, disk, firstLog, append(whole[:at:at], whole[at+int64(size):]...))
	})
	if end := b.log("t").LogEndOffset(); end != 40 {
		t.Errorf("the log ends at %d", end)
	}
}

func TestASegmentThatIsLostInTheMidstOfASyncLogTakesItOffline(t *testing.T) {
	for _, sync := range []bool{true, false} {
		b := newBench(t)
		c := small()
		if sync {
			c.FlushMessages = 1
		}
		l := b.create("t", c)
		b.fill(l, 60)
		must(t, b.e.Checkpoint())
		lost := (*l.view.Load())[1].Base
		b.killed(func(disk *fs.Crash) { must(t, disk.Remove(segment.Name(l.Dir(), lost, segment.LogSuffix))) })
		l, _ = b.e.Log(Name{"t", 0})
		want := SegmentMissing // nobody can tell a compaction from a loss
		if sync {
			want = SegmentLost
		}
		b.met(fmt.Sprint("sync ", sync), want)
		if err := l.Err(); sync && StateOf(err) != SegmentLost || !sync && err != nil {
			t.Errorf("sync %t: %v", sync, err)
		}
		b.killed(func(disk *fs.Crash) { // a cleaner was there after all
			must(t, checkpoint.WriteOffsets(disk, "/data/"+checkpoint.CleanerOffsets, []checkpoint.Offset{{Topic: "t", Offset: 60}}))
		})
		b.met("compacted", HoleCompacted)
		b.log("t")
		b.stop()
	}
}

func TestASnapshotThatIsGarbageIsRemoved(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 30)
	must(t, b.e.Checkpoint())
	var name string
	b.killed(func(disk *fs.Crash) {
		name = lastFile(t, disk, l.Dir(), segment.SnapshotSuffix)
		overwrite(t, disk, name, []byte("garbage"))
	})
	b.met("garbage", SnapshotDamaged)
	b.crash(fs.DropUnflushed)
	if _, err := b.disk.Stat(name); err == nil {
		t.Errorf("%s is still there", name)
	}
	b.whole(b.log("t"), 0, 30)
}

func TestSideFilesGoWhenRetentionHasPassedThem(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 60)
	must(t, b.e.Checkpoint())
	side := segment.Name(l.Dir(), 0, segment.LogSuffix) + tornSuffix + "77"
	b.killed(func(disk *fs.Crash) { overwrite(t, disk, side, []byte("torn")) })
	if string(read(t, b.disk, side)) != "torn" {
		t.Error("it went while the log has records below it")
	}
	c := small()
	c.RetentionBytes = 3000
	b.log("t").SetConfig(c)
	must(t, b.e.Retain())
	b.killed(func(*fs.Crash) {})
	b.met("retention", TornOld)
	if _, err := b.disk.Stat(side); err == nil {
		t.Error("it stays")
	}
}

// swapped makes of a stopped log what Kafka leaves as compacted segments take the place of others: the first two segments'
// batches are in one .swap file.
func swapped(t *testing.T, disk *fs.Crash, dir string, second int64) {
	both := append(read(t, disk, segment.Name(dir, 0, segment.LogSuffix)), read(t, disk, segment.Name(dir, second, segment.LogSuffix))...)
	overwrite(t, disk, segment.Name(dir, 0, segment.LogSuffix+swapSuffix), both)
	disk.Settle()
}

func TestSegmentsThatKafkaWasReplacingAreReplacedAsKafkaDoes(t *testing.T) {
	for name, c := range map[string]struct {
		hurt  func(disk *fs.Crash, dir string, second int64)
		state State
	}{
		"before the others were renamed": {func(*fs.Crash, string, int64) {}, SwapLeft},
		"after": {func(disk *fs.Crash, dir string, second int64) {
			for _, base := range []int64{0, second} {
				name := segment.Name(dir, base, segment.LogSuffix)
				must(t, disk.Rename(name, name+segment.DeletedSuffix))
			}
		}, SwapLeft},
		"too early": {func(disk *fs.Crash, dir string, _ int64) {
			overwrite(t, disk, segment.Name(dir, 0, segment.LogSuffix+segment.CopySuffix), []byte("half"))
		}, CleanedLeft},
		"not whole": {func(disk *fs.Crash, dir string, _ int64) {
			patch(t, disk, segment.Name(dir, 0, segment.LogSuffix+swapSuffix), 100, []byte{0xaa, 0xbb})
		}, SwapDamaged},
	} {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 40)
		second := (*l.view.Load())[1].Base
		b.stop()
		unguard(t, b.disk, l.Dir()) // as Kafka does before anything else
		swapped(t, b.disk, l.Dir(), second)
		c.hurt(b.disk, l.Dir(), second)
		b.disk.Settle()
		b.open()
		b.met(name, c.state)
		if c.state == SwapDamaged {
			l, _ := b.e.Log(Name{"t", 0})
			if StateOf(l.Err()) != SwapDamaged {
				t.Errorf("%s: %v", name, l.Err())
			}
			read(t, b.disk, firstLog) // nothing was removed
			b.stop()
			continue
		}
		b.whole(b.log("t"), 0, 40)
		b.crash(fs.DropUnflushed)
		b.whole(b.log("t"), 0, 40)
		for _, file := range list(t, b.disk, l.Dir()) {
			if ext := filepath.Ext(file); ext == swapSuffix || ext == segment.CopySuffix || ext == segment.DeletedSuffix {
				t.Errorf("%s: %s is left", name, file)
			}
		}
		b.stop()
	}
}

func TestACrashWhileSegmentsAreReplacedLosesNone(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	second := (*l.view.Load())[1].Base
	b.stop()
	swapped(t, b.disk, l.Dir(), second)
	base := b.disk
	for fail := 1; ; fail++ {
		b.disk = base.Clone(fs.KeepAll)
		calls, cut := 0, (*fs.Crash)(nil)
		disk := b.disk
		disk.SetHook(func(op fs.Op, _ string, _ int) error {
			if op.Changes() {
				if calls++; calls == fail {
					cut = disk.Clone(fs.Random)
				}
			}
			return nil
		})
		b.open()
		disk.SetHook(nil)
		b.stop()
		if cut == nil {
			break
		}
		b.disk = cut
		b.open()
		b.whole(b.log("t"), 0, 40)
		b.stop()
	}
	b.open()
}

func TestAPartitionWithAnotherTopicIDIsTold(t *testing.T) {
	b := newBench(t)
	for p := range int32(3) {
		l, err := b.e.Create(Name{"t", p}, [16]byte{1}, small())
		must(t, err)
		b.fill(l, 3)
	}
	b.stop()
	must(t, checkpoint.WriteTopicID(b.disk, "/data/t-1", [16]byte{2}))
	b.open()
	if n := b.e.Recovery().States[MetadataForeign]; n != 1 {
		t.Errorf("%v", b.e.Recovery().States)
	}
}
