package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

func TestRetentionByTimeGoesByTheNewestRecordOfASegment(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionAge = 30 * time.Second
	l := b.create("t", c)
	end := b.fill(l, 60) // a second apart
	must(t, b.e.Retain())
	b.whole(l, 0, end)
	b.now.Store(testNow + 60_000)
	must(t, b.e.Retain())
	start := l.LogStartOffset()
	if start == 0 || start > 31 {
		t.Errorf("log start %d, the records of offsets from 30 on are to be kept", start)
	}
	b.whole(l, start, end)
	b.now.Store(testNow + 200_000)
	must(t, b.e.Retain())
	b.whole(l, end, end)
	if l.Segments() != 1 {
		t.Errorf("%d segments of nothing", l.Segments())
	}
	must(t, b.e.Retain())
	b.restart()
	l = b.log("t")
	b.whole(l, end, end)
	if got := b.fill(l, 3); got != end+3 {
		t.Errorf("end %d, want %d: offsets are not used again", got, end+3)
	}
}

// Records that were deleted need not be there after a power cut: segments without any are left between others. They must not
// keep retention from what comes after them.
func TestRetentionPassesSegmentsThatAPowerCutHasEmptied(t *testing.T) {
	b := newBench(t)
	other, l := b.create("other", small()), b.create("t", small())
	b.fill(other, 2)
	end := b.fill(l, 60)
	must(t, l.syncNames())
	_, err := l.DeleteRecordsTo(end)
	must(t, err)
	_, err = other.DeleteRecordsTo(2)
	must(t, err)
	must(t, other.Truncate(1)) // brings log starts to stable storage, and no record of l
	b.crash(fs.DropUnflushed)
	l = b.log("t")
	first := l.LogEndOffset()
	if first == end || l.Segments() < 3 {
		t.Fatalf("the log ends at %d of %d, in %d segments", first, end, l.Segments())
	}
	c := small()
	c.RetentionBytes = 3000
	l.SetConfig(c)
	end = b.fill(l, 60)
	must(t, b.e.Retain())
	if n := l.Size(); n < 3000 || n > 5000 || l.Segments() > 4 {
		t.Errorf("%d bytes in %d segments are kept of at least 3000", n, l.Segments())
	}
	b.whole(l, l.LogStartOffset(), end)
}

func TestRetentionBySizeKeepsTheNewest(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	end := b.fill(l, 100)
	c := small()
	c.RetentionBytes = 5000
	l.SetConfig(c)
	must(t, b.e.Retain())
	if n := l.Size(); n < 5000 || n > 7000 {
		t.Errorf("%d bytes are kept of at least 5000", n)
	}
	start := l.LogStartOffset()
	b.whole(l, start, end)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), start, end)
	for _, entry := range list(t, b.disk, b.log("t").Dir()) {
		if base, _, _ := splitName(entry); strings.HasSuffix(entry, ".deleted") && !(isGuard(entry) && base >= start) {
			t.Errorf("%s is left", entry)
		}
	}
}

func list(t *testing.T, disk fs.FS, dir string) (names []string) {
	t.Helper()
	entries, err := disk.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatLiesBelowTheLogStartGoesEvenWhereAllIsKept(t *testing.T) {
	b := newBench(t)
	c := small()
	c.KeepAll, c.RetentionBytes, c.RetentionAge = true, 1, time.Millisecond
	l := b.create("t", c)
	end := b.fill(l, 50)
	b.now.Add(1 << 40)
	must(t, b.e.Retain())
	b.whole(l, 0, end)
	segments := l.Segments()
	start, err := l.DeleteRecordsTo(25)
	if err != nil || start != 25 {
		t.Fatal(start, err)
	}
	must(t, b.e.Retain())
	if l.Segments() >= segments || l.LogStartOffset() != 25 || l.firstBase() > 25 {
		t.Errorf("%d of %d segments, first offset %d", l.Segments(), segments, l.firstBase())
	}
	if start, err := l.DeleteRecordsTo(-1); err != nil || start != end {
		t.Error(start, err)
	}
	must(t, b.e.Retain())
	b.whole(l, end, end)
	b.crash(fs.DropUnflushed)
	b.whole(b.log("t"), end, end)
}

func TestDeleteRecordsKnowsItsLimits(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 10)
	for _, offset := range []int64{-2, 11, 1 << 60} {
		_, err := l.DeleteRecordsTo(offset)
		wantErr(t, "delete", err, ErrOffsetOutOfRange)
	}
	for _, c := range [][2]int64{{4, 4}, {3, 4}, {0, 4}, {4, 4}, {10, 10}, {-1, 10}} {
		if start, err := l.DeleteRecordsTo(c[0]); err != nil || start != c[1] {
			t.Errorf("delete up to %d: start %d, %v", c[0], start, err)
		}
	}
	_, err := l.Read(3, 100, true)
	wantErr(t, "read below the log start", err, ErrOffsetOutOfRange)
	must(t, b.e.Checkpoint())
	b.crash(fs.DropUnflushed)
	if start := b.log("t").LogStartOffset(); start != 10 {
		t.Errorf("log start %d after a checkpoint and a crash", start)
	}
}

func TestARecordOfTheFutureStopsTimeRetentionAloud(t *testing.T) { // A8
	b := newBench(t)
	b.stop()
	var said bytes.Buffer
	b.opt.Logger = slog.New(slog.NewTextHandler(&said, nil))
	b.open()
	c := small()
	c.RetentionAge = time.Second
	l := b.create("t", c)
	p := timed(testNow)
	p.Batches[0].MaxTimestamp = testNow * 1000 // microseconds; Prepare lets it in where the topic says so
	b.add(l, p)
	b.fill(l, 60)
	b.now.Add(3_600_000)
	must(t, b.e.Retain())
	if l.LogStartOffset() != 0 || !strings.Contains(said.String(), "future") {
		t.Errorf("log start %d, said %q", l.LogStartOffset(), said.String())
	}
	c.RetentionBytes = 4000
	l.SetConfig(c)
	must(t, b.e.Retain())
	if l.LogStartOffset() == 0 {
		t.Error("size retention waits, too")
	}
}

func TestRetentionLeavesReadersWhatTheyHold(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes = 3000
	l := b.create("t", c)
	b.fill(l, 60)
	r, err := l.Read(0, 1000, true)
	must(t, err)
	want, err := r.Bytes()
	must(t, err)
	must(t, b.e.Retain())
	if l.LogStartOffset() == 0 {
		t.Fatal("nothing was deleted")
	}
	if got, err := r.Bytes(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a range that is held: %v", err)
	}
	r.Release()
	_, err = l.Read(0, 1000, true)
	wantErr(t, "the same read again", err, ErrOffsetOutOfRange)
}

func TestDeletedFilesStayForTheirDelay(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes, c.DeleteDelay = 3000, time.Minute
	l := b.create("t", c)
	b.fill(l, 60)
	must(t, b.e.Retain())
	count := func() (n int) {
		for _, name := range list(t, b.disk, l.Dir()) {
			if strings.HasSuffix(name, ".deleted") {
				n++
			}
		}
		return n
	}
	if count() == 0 {
		t.Error("no file under a .deleted name")
	}
	b.now.Add(59_000)
	b.e.removals.run(b.e, b.opt.Now())
	if count() == 0 {
		t.Error("they went too early")
	}
	b.now.Add(2_000)
	b.e.removals.run(b.e, b.opt.Now())
	if n := count(); n != 0 {
		t.Errorf("%d files are left after the delay", n)
	}
}
