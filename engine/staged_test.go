package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
	"golang.org/x/sys/unix"
)

// stageBench is a bench with a stage.
func stageBench(t *testing.T, bytes int64) *bench {
	t.Helper()
	b := newBench(t)
	b.stop()
	b.opt.StageBytes = bytes
	b.open()
	return b
}

func TestAKillKeepsWhatTheStageAcknowledged(t *testing.T) {
	for _, h := range ways {
		b := stageBench(t, 4<<20)
		l := b.create("t", crashConfig(h, false))
		b.fill(l, 5)
		before := b.disk.Counts().Writes
		b.fill(l, 10)
		if n := b.disk.Counts().Writes; n != before {
			t.Logf("%s: %d writes meanwhile", h.name, n-before) // the linger was over
		}
		b.crash(fs.KeepAll)
		b.whole(b.log("t"), 0, 15)
		b.fill(b.log("t"), 50) // rolls
		b.crash(fs.KeepAll)
		b.whole(b.log("t"), 0, 65)
		if b.e.Recovery().Redone == 0 {
			t.Errorf("%s: nothing came from the stage", h.name)
		}
		b.crash(fs.DropUnflushed) // what a recovery served is on the disk
		b.whole(b.log("t"), 0, 65)
		b.stop()
	}
}

func TestAPowerCutBelievesNothingOfTheStage(t *testing.T) {
	for seed := range stride(40) {
		b := stageBench(t, 4<<20)
		b.disk = crashDisk(uint64(seed))
		b.stop()
		b.open()
		l := b.create("t", small())
		b.fill(l, 20)
		must(t, l.Flush())
		b.fill(l, 20)
		b.crash(fs.Random)
		l = b.log("t")
		if n := b.e.Recovery().Redone; n != 0 {
			t.Errorf("%d bytes were believed", n)
		}
		b.whole(l, 0, l.LogEndOffset())
		if l.LogEndOffset() < 20 {
			t.Errorf("flushed records are gone: the log ends at %d", l.LogEndOffset())
		}
		b.stop()
	}
}

// A disk that is taken away and comes back, under a kernel that goes on, shows what a power cut would, and the boot is the
// same. What was cut off the log must not come back from the stage then.
func TestWhatWasTruncatedDoesNotComeBackFromTheStage(t *testing.T) {
	for seed := range stride(40) {
		b := stageBench(t, 4<<20)
		b.disk = crashDisk(uint64(seed))
		b.stop()
		b.open()
		l := b.create("t", small())
		b.fill(l, 8)
		must(t, l.Flush())
		for i := range 4 {
			b.add(l, batchOf(fmt.Sprint("cut", i), 1, 100, testNow, -1, 0))
		}
		must(t, l.Truncate(8))
		boot := b.disk.Boot()
		left := b.disk.Clone(fs.Random)
		left.SetBoot(boot)
		b.stop()
		b.disk = left
		b.open()
		b.whole(b.log("t"), 0, 8)
		b.stop()
	}
}

func TestStagedRecordsAreReadBeforeTheyAreInAFile(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.disk.SetHook(func(op fs.Op, name string, _ int) error { // the disk does nothing
		if op == fs.OpOpen && filepath.Ext(name) == segment.LogSuffix {
			return unix.EMFILE
		}
		return nil
	})
	for i := range 3 {
		b.add(l, batchOf(batchID(int64(i)), 1, 100, testNow, -1, 0))
	}
	r, err := l.Read(1, 1<<20, true)
	must(t, err)
	if r.HighWatermark != 3 || r.Mem == nil || r.Size < 300 {
		t.Errorf("%d bytes, high watermark %d", r.Size, r.HighWatermark)
	}
	r.Release()
	if r, err = l.Read(1, 100, false); err != nil || r.Size != 0 {
		t.Errorf("a first batch beyond the limit: %d bytes, %v", r.Size, err)
	}
	r.Release()
	if _, err = l.Read(4, 100, true); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Error(err)
	}
	b.disk.SetHook(nil)
	found, err := b.log("t").OffsetForTime(testNow) // waits until they are in a file
	if err == nil && found.Offset != 0 {
		t.Errorf("%+v", found)
	}
}

func TestAReaderFollowsFromTheStageToTheFile(t *testing.T) {
	b := stageBench(t, 1<<20)
	l := b.create("t", small())
	for end := int64(1); end < 300; end++ {
		b.fill(l, 1)
		if end%7 == 0 {
			must(t, l.Flush())
		}
		for at := max(0, end-20); at < end; at++ {
			r, err := l.Read(at, 1, true)
			must(t, err)
			p, err := r.Bytes()
			must(t, err)
			if first, err := segment.FindIn(p, at); err != nil || first.BaseOffset != at {
				t.Fatalf("end %d: offset %d: %+v, %v", end, at, first, err)
			}
			r.Release()
		}
	}
}

func TestAStageThatIsFullLetsTheWritersAnswer(t *testing.T) {
	b := stageBench(t, 1<<20)
	var logs []*Log
	for i := range 100 { // 64 of them find a slot
		l, err := b.e.Create(Name{"t", int32(i)}, [16]byte{1}, Config{})
		must(t, err)
		logs = append(logs, l)
		b.fill(l, 1)
	}
	for _, l := range logs {
		b.fill(l, 4)
	}
	b.crash(fs.KeepAll)
	for i := range logs {
		l, ok := b.e.Log(Name{"t", int32(i)})
		if !ok {
			t.Fatalf("log %d is gone", i)
		}
		b.whole(l, 0, 5)
	}
}

func TestRecordsThatLookLikeAHeaderAreNone(t *testing.T) {
	b := stageBench(t, 1<<20)
	l := b.create("t", Config{})
	forged := make([]byte, slotHeader)
	mem, err := b.disk.Share("/forge", stageBlock)
	must(t, err)
	must(t, mem.Grow(stageBlock))
	s := &stage{mem: mem, boot: b.disk.Boot()}
	r := &run{seg: &segment.Segment{}, mem: &buffer{stage: s}}
	must(t, s.label(r, Name{"victim", 0}, [16]byte{}, 0))
	setUsed(mem.Bytes(), 200)
	copy(forged, mem.Bytes())
	// A run of the largest class, full of them, at every distance from the start of a page.
	p := batchOf(batchID(0), 1, stageBlock-100_000, testNow, -1, 0)
	for at := 100; at+slotHeader < len(p.Bytes); at += slotHeader {
		copy(p.Bytes[at:], forged[:slotNames+50])
	}
	_ = appendOne(l, p)
	must(t, l.Flush())
	for i := range 3 { // the block has small slots now
		other, err := b.e.Create(Name{"u", int32(i)}, [16]byte{1}, Config{})
		must(t, err)
		b.fill(other, 1)
	}
	left := b.disk.Clone(fs.KeepAll)
	b.e.Close()
	b.disk = left
	b.open()
	if _, ok := b.e.Log(Name{"victim", 0}); ok {
		t.Error("a client wrote to a log that it was not asked about")
	}
}

func TestAnotherTopicsRecordsAreNotRedone(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.fill(l, 2)
	must(t, l.Flush())
	b.fill(l, 2)
	left := b.disk.Clone(fs.KeepAll)
	b.e.Close()
	overwrite(t, left, filepath.Join(l.Dir(), "partition.metadata"), []byte("version: 0\ntopic_id: "+"AgAAAAAAAAAAAAAAAAAAAA"+"\n"))
	left.Settle()
	b.disk = left
	b.open()
	b.whole(b.log("t"), 0, 2)
}

func TestAWriteThatFailsBehindTheStageIsFinalAndARestartHasTheRecords(t *testing.T) {
	for _, h := range ways {
		b := stageBench(t, 4<<20)
		l := b.create("t", crashConfig(h, false))
		b.fill(l, 5)
		must(t, l.Flush())
		failFrom(b.disk, segment.LogSuffix, unix.EIO, fs.OpWrite, fs.OpWriteDurable)
		b.fill(l, 3)
		wantErr(t, h.name, l.Flush(), ErrOffline)
		if hw := l.HighWatermark(); hw != 5 {
			t.Errorf("%s: readers see %d records, 5 are flushed", h.name, hw)
		}
		wantErr(t, h.name, appendOne(l, batchOf("x", 1, 0, testNow, -1, 0)).Err, ErrOffline)
		wantErr(t, h.name, b.e.Close(), ErrOffline)
		b.disk.SetHook(nil)
		b.disk = b.disk.Clone(fs.KeepAll)
		b.open()
		b.whole(b.log("t"), 0, 8)
		b.stop()
	}
}

func TestAHotLogIsWrittenDirectlyAndACoolOneThroughThePageCache(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	big := func(n int) {
		for range n {
			b.add(l, batchOf(batchID(l.LogEndOffset()), 1, 200_000, testNow, -1, 0))
		}
	}
	kind := func(want bool) {
		t.Helper()
		must(t, l.Flush())
		if s := l.newest(); s.Direct() != want {
			t.Errorf("at offset %d: direct %t", l.LogEndOffset(), s.Direct())
		}
	}
	b.fill(l, 20)
	kind(false)
	for i := 0; i < 40 && !l.newest().Direct(); i++ {
		big(5)
		must(t, l.Flush())
	}
	kind(true)
	b.whole(l, 0, l.LogEndOffset())
	for range coolRuns + 1 {
		b.fill(l, 1)
		must(t, l.Flush())
	}
	kind(false)
	b.fill(l, 3)
	end := l.LogEndOffset()
	b.whole(l, 0, end)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, end)
	b.restart()
	b.whole(b.log("t"), 0, end)
}

func TestAHotLogSurvivesAKillAtAnyDiskCall(t *testing.T) {
	disk, a := crashDisk(7), &account{}
	k := newCuts(t, disk, a, 3, func(c *cut) error { return c.verify(a, ways[0]) })
	k.everyCall(int(stride(5)), fs.KeepAll, fs.DropUnflushed, fs.Random)
	opt := crashOptions(disk, ways[0])
	opt.CheckpointBytes, opt.StageBytes = 1<<20, 4<<20
	e := open(t, opt)
	l, err := e.Create(Name{"hot", 0}, [16]byte{1}, Config{SegmentBytes: 5 << 20, RetentionAge: -1})
	must(t, err)
	for i := range 120 {
		size := 200_000
		if i%40 > 20 {
			size = 50
		}
		id := fmt.Sprint(i)
		a.add(event{kind: attempted, log: l.name, id: id, count: 1, producer: -1})
		r := appendOne(l, batchOf(id, 1, size, testNow, -1, 0))
		must(t, r.Err)
		a.add(event{kind: acked, log: l.name, id: id, offset: r.BaseOffset})
		if i%40 > 20 {
			must(t, l.Flush())
		}
	}
	disk.SetHook(nil)
	must(t, e.Close())
	for _, err := range k.finish() {
		t.Error(err)
	}
	must(t, k.rules())
}

// A run that found no room in the stage is made before it is known how it will be written.
func TestAHotLogOnASlowDiskIsWhole(t *testing.T) {
	b := stageBench(t, 3<<20)
	l := b.create("t", Config{})
	release := holdWriters(b.disk)
	answers := make(chan Appended, 60)
	for i := range int64(60) { // some find room
		l.Append(batchOf(batchID(i), 1, 200_000, testNow, -1, 0), 0, func(a Appended) { answers <- a })
	}
	if n := len(answers); n == 0 || n == 60 {
		t.Errorf("%d of 60 appends were staged", n)
	}
	release()
	for range 60 {
		must(t, (<-answers).Err)
	}
	must(t, l.Flush())
	b.disk.SetHook(nil)
	if !l.newest().Direct() {
		t.Error("the log is not hot")
	}
	l.forgetRecent()
	b.whole(l, 0, 60)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, 60)
}

func TestAStageWhoseDiskIsGoneTakesTheDirectoryOfflineAndNotTheProcess(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	must(t, err)
	must(t, appendOne(l, batchOf("x", 1, 100, testNow, -1, 0)).Err)
	must(t, os.Truncate(filepath.Join(dir, stageName), 0)) // a page that cannot be had
	for range 1000 {
		if r := appendOne(l, batchOf("x", 1, 10_000, testNow, -1, 0)); r.Err != nil {
			wantErr(t, "append", r.Err, ErrOffline)
			break
		}
	}
	if e.Err() == nil {
		t.Error("the directory is online")
	}
	e.Close()
}

func TestAnIdleStageGivesItsMemoryBack(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.fill(l, 3)
	must(t, l.Flush())
	s := b.e.stage
	s.mu.Lock()
	if s.mu.live != 0 {
		t.Errorf("%d slots are in use", s.mu.live)
	}
	s.mu.idle = s.mu.idle.Add(-2 * stageIdle)
	s.mu.Unlock()
	must(t, s.trim())
	if n := len(s.mu.blocks); n != 0 {
		t.Errorf("%d blocks", n)
	}
	b.fill(l, 3)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, 6)
}

// An event loop appends. It is not to wait until a file system has made room, be it for the stage.
func TestAnAppendDoesNotWaitForTheStageToGrow(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	b.fill(l, 3)
	must(t, l.Flush())
	s := b.e.stage
	s.mu.Lock()
	s.mu.idle = s.mu.idle.Add(-2 * stageIdle)
	s.mu.Unlock()
	must(t, s.trim())
	gate := make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op.Changes() && filepath.Base(name) == stageName {
			<-gate
		}
		return nil
	})
	answered := make(chan error)
	go func() {
		for range 3 {
			answered <- appendOne(l, batchOf(batchID(l.LogEndOffset()), 1, 100, testNow, -1, 0)).Err
		}
	}()
	for range 3 {
		select {
		case err := <-answered:
			must(t, err)
		case <-time.After(20 * time.Second):
			t.Error("an append waits for the disk")
			close(gate)
			<-answered
			return
		}
	}
	for !s.stalled() { // that takes it a moment
		runtime.Gosched()
	}
	l.mu.Lock()
	if l.stages(l.config.Load()) {
		t.Error("the stage of a disk that does nothing is used")
	}
	l.mu.Unlock()
	close(gate)
	for s.stalled() {
		runtime.Gosched()
	}
}

// A writer does not come back from the page cache: the kernel may begin to write back the pages of the stage at any time, and stores would wait.
func TestTheStageIsLeftAloneWhileAWriterHangs(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	gate := make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpWrite && filepath.Ext(name) == ".log" {
			<-gate
		}
		return nil
	})
	b.fill(l, 3) // a writer puts it into the file
	for !b.e.stage.stalled() {
		runtime.Gosched()
	}
	close(gate)
	for b.e.stage.stalled() {
		runtime.Gosched()
	}
	b.fill(l, 3)
	must(t, l.Flush())
	b.whole(l, 0, 6)
}

// The first segment comes into the view while somebody looks for what is still in the stage.
func TestAReadBesideTheFirstWriteOfALogFindsItsRecords(t *testing.T) {
	b := stageBench(t, 4<<20)
	for i := range int32(400) {
		l, err := b.e.Create(Name{"t", i}, [16]byte{1}, Config{})
		must(t, err)
		b.fill(l, 1)
		wrong := make(chan error, 1)
		go func() {
			for {
				r, err := l.Read(0, 100, true)
				r.Release()
				if err != nil || l.FlushedOffset() > 0 {
					wrong <- err
					return
				}
			}
		}()
		must(t, l.Flush())
		must(t, <-wrong)
	}
}
