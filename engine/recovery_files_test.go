package engine

import (
	"os"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

func TestATimeIndexThatLostItsEndStillAnswers(t *testing.T) {
	for _, own := range []bool{true, false} { // with and without our own checkpoint
		b := newBench(t)
		l := b.create("t", Config{IndexInterval: 300})
		for i := range int64(200) { // the newest record is in the middle
			ts := testNow + 1000*min(i, 200-i)
			b.add(l, batchOf(batchID(i), 1, 100, ts, -1, 0))
		}
		must(t, b.e.Checkpoint())
		b.fill(l, 2)
		b.killed(func(disk *fs.Crash) {
			name := l.Dir() + "/00000000000000000000.timeindex"
			whole := read(t, disk, name)
			overwrite(t, disk, name, whole[:len(whole)/3/12*12])
			if !own {
				overwrite(t, disk, "/data/"+recoveryName, nil)
			}
		})
		l = b.log("t")
		at, err := l.MaxTimestamp()
		wantTime(t, "newest", at, err, 201, testNow+201_000)
		must(t, l.Truncate(200))
		at, err = l.MaxTimestamp()
		wantTime(t, "newest of what is left", at, err, 100, testNow+100_000)
		for i := range int64(100) {
			at, err := l.OffsetForTime(testNow + 1000*i + 1)
			wantTime(t, "look-up", at, err, i+1, testNow+1000*(i+1))
		}
		b.stop()
	}
}

// A leader begins its epoch where the log ends, before it appends: Kafka writes that down for empty logs, too.
func TestAnEpochThatBeginsAtTheEndIsNoTraceOfACrash(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 5)
	b.stop()
	epochs := new(checkpoint.LeaderEpochs)
	epochs.Assign(0, 0)
	epochs.Assign(3, 5)
	if err := epochs.Write(b.disk, l.Dir()); err != nil {
		t.Fatal(err)
	}
	b.open()
	for _, again := range []func(){b.restart, func() { b.killed(func(*fs.Crash) {}) }} {
		again()
		if n := b.e.Recovery().States[EpochsAhead]; n != 0 {
			t.Errorf("%d logs have epochs ahead of their ends", n)
		}
		if l = b.log("t"); l.LatestEpoch() != 3 || l.EpochAt(4) != 0 {
			t.Errorf("the latest epoch is %d, and that of the last record %d", l.LatestEpoch(), l.EpochAt(4))
		}
	}
	b.whole(l, 0, 5)
	l.AssignEpoch(4)
	b.add(l, batchOf(batchID(5), 1, 100, testNow, -1, 0))
	if got := l.mu.epochs.Entries(); len(got) != 2 || got[1].Epoch != 4 || got[1].StartOffset != 5 {
		t.Errorf("epochs %v", got)
	}
}

func TestIndexesWithoutALogFileAreNotTakenOver(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 8)
	must(t, b.e.Checkpoint())
	next := l.LogEndOffset()
	b.killed(func(disk *fs.Crash) { // of segments that would start at each of the next offsets
		for offset := next; offset < next+12; offset++ {
			for _, kind := range []string{segment.IndexSuffix, segment.TimeSuffix} {
				overwrite(t, disk, segment.Name(l.Dir(), offset, kind), read(t, disk, segment.Name(l.Dir(), 0, kind)))
			}
		}
	})
	l = b.log("t")
	l.SetConfig(small())
	end := b.fill(l, 60)
	b.whole(l, 0, end)
	for offset := range end {
		at, err := l.OffsetForTime(testNow + 1000*offset)
		wantTime(t, "look-up", at, err, offset, testNow+1000*offset)
	}
}

func TestAProducerSnapshotOfALostEndIsNotBelieved(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for i := range int32(20) {
		b.add(l, batchOf("x", 1, 100, testNow, 7, i))
	}
	must(t, l.Flush())
	// The next segment's snapshot gets to the disk, its records do not.
	for i := int32(20); l.Segments() < 4; i++ {
		b.add(l, batchOf("x", 1, 100, testNow, 7, i))
	}
	b.crash(fs.DropUnflushed)
	l = b.log("t")
	l.SetConfig(small())
	end := l.LogEndOffset()
	for i := int32(end); i < int32(end)+30; i++ { // the same offsets, by another producer
		b.add(l, batchOf("y", 1, 100, testNow, 8, i))
	}
	must(t, l.Flush())
	b.crash(fs.DropUnflushed)
	l = b.log("t")
	if r := appendOne(l, batchOf("x", 1, 100, testNow, 7, int32(end)-1)); !r.Duplicate || r.BaseOffset != end-1 {
		t.Errorf("the last batch of the first one, again: %+v", r)
	}
	if r := appendOne(l, batchOf("x", 1, 100, testNow, 7, int32(end))); r.Err != nil || r.Duplicate {
		t.Errorf("the next of the first one: %+v", r)
	}
}

func TestFoldersThatAreNoLogsAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.fill(b.create("a-b.c_d", small()), 3)
	b.stop()
	foreign := []string{"__cluster_metadata-0", "t-0-future", "t-0-stray", "t-x", "-1", "t-", "t-01", "t-4294967296", "noname"}
	for _, name := range foreign {
		must(t, b.disk.MkdirAll("/data/"+name))
		overwrite(t, b.disk, "/data/"+name+"/file", []byte("content"))
	}
	overwrite(t, b.disk, "/data/zurau-metadata.log", []byte("content"))
	b.disk.Settle()
	b.open()
	if n := len(b.e.Logs()); n != 1 {
		t.Errorf("%d logs", n)
	}
	b.whole(b.log("a-b.c_d"), 0, 3)
	for _, name := range foreign {
		if string(read(t, b.disk, "/data/"+name+"/file")) != "content" {
			t.Errorf("%s was touched", name)
		}
	}
	for folder, want := range map[string]Name{"t-0": {"t", 0}, "a-b-12": {"a-b", 12}} {
		if n, ok := ParseName(folder); !ok || n != want || n.String() != folder {
			t.Errorf("%s: %v %t", folder, n, ok)
		}
	}
}

func TestALogWithoutRecordsCostsNoFile(t *testing.T) {
	b := newBench(t)
	for _, topic := range []string{"a", "b", "c"} {
		b.create(topic, small())
	}
	must(t, b.e.Checkpoint())
	for _, name := range list(t, b.disk, "/data") {
		if strings.HasSuffix(name, "-0") {
			t.Errorf("folder %s", name)
		}
	}
	b.restart()
	if n := len(b.e.Logs()); n != 0 {
		t.Errorf("%d logs", n)
	}
}

func TestHandlesDoNotGrowWithStarts(t *testing.T) { // A4
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	for i := range int32(50) {
		l, err := e.Create(Name{"t", i}, [16]byte{1}, Config{})
		must(t, err)
		if r := appendOne(l, batchOf("x", 1, 0, testNow, -1, 0)); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	must(t, e.Close())
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(fds)
	}
	before, first := count(), 0
	for i := range 4 {
		e := open(t, Options{Dir: dir})
		if i == 0 {
			first = count()
		}
		if n := count(); n > first+2 { // calibration has a file for a moment
			t.Errorf("start %d: %d descriptors, the first had %d", i, n, first)
		}
		for _, l := range e.Logs() {
			if l.Segments() != 1 || l.LogEndOffset() != 1 {
				t.Errorf("%s: %d segments, end %d", l.Name(), l.Segments(), l.LogEndOffset())
			}
		}
		must(t, e.Close())
		if n := count(); n > before {
			t.Errorf("stop %d: %d descriptors, before the start there were %d", i, n, before)
		}
	}
}
