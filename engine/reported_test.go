package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// Faults that people met with logs of this kind. tests/house/faults_test.go says which test is for which.

// A compacted log has batches without some of their records, empty batches in the place of others, and holes where whole batches
// were, the beginnings and ends of segments among them. A reader at any offset must come to what follows, and to the end.
func TestEveryOffsetOfACompactedLogLeadsToItsEnd(t *testing.T) { // A12
	disk := crashDisk(1)
	dir := "/data/t-0"
	must(t, disk.MkdirAll(dir))
	batch := func(base int64, n int) record.Batch {
		b := record.NewBuilder(record.None)
		b.BaseOffset, b.PartitionLeaderEpoch = base, 0
		for i := range n {
			b.Add(testNow+base+int64(i), []byte("k"), []byte("v"))
		}
		return b.Bytes()
	}
	segments := map[int64][]record.Batch{
		0:   {batch(3, 2), record.EmptyBatch(5, 9, 0), batch(14, 1), batch(15, 5)},
		40:  {batch(47, 3), record.EmptyBatch(60, 79, 0)},
		80:  {record.EmptyBatch(80, 99, 0)},
		100: {batch(130, 2), batch(139, 1)},
	}
	var lasts []int64
	for base, batches := range segments {
		var file []byte
		for _, b := range batches {
			file, lasts = append(file, b...), append(lasts, b.LastOffset())
		}
		overwrite(t, disk, segment.Name(dir, base, segment.LogSuffix), file)
	}
	must(t, checkpoint.WriteOffsets(disk, "/data/"+checkpoint.CleanerOffsets, []checkpoint.Offset{{Topic: "t", Offset: 100}}))
	must(t, checkpoint.WriteOffsets(disk, "/data/"+checkpoint.RecoveryPoints, []checkpoint.Offset{{Topic: "t", Offset: 140}}))
	must(t, checkpoint.WriteCleanShutdown(disk, "/data", -1))
	disk.Settle()
	for _, limit := range []int{1, 150, 1 << 20} {
		e := open(t, crashOptions(disk, ways[0]))
		l, ok := e.Log(Name{"t", 0})
		if !ok || l.Err() != nil || l.LogEndOffset() != 140 {
			t.Fatalf("log: %v, %v", l, l.Err())
		}
		for from := l.LogStartOffset(); from < 140; from++ {
			want := int64(1 << 60)
			for _, last := range lasts {
				if last >= from {
					want = min(want, last)
				}
			}
			if last := firstOf(t, l, from, limit); last != want {
				t.Errorf("a read of %d bytes at offset %d begins with a batch that ends at %d, want %d", limit, from, last, want)
			}
		}
		must(t, e.Close())
	}
}

// firstOf returns the last offset of the first batch that a read gets.
func firstOf(t *testing.T, l *Log, from int64, limit int) int64 {
	t.Helper()
	r, err := l.Read(from, limit, true)
	must(t, err)
	defer r.Release()
	b, err := r.Bytes()
	must(t, err)
	batch, _, err := record.Next(b)
	if err != nil {
		t.Fatalf("read at offset %d: %d bytes, %v", from, len(b), err)
	}
	return batch.LastOffset()
}

// A log start within a batch: readers get the batch as a whole, and leave out what lies before.
func TestALogStartWithinABatchIsReadWithTheWholeBatch(t *testing.T) { // Kafka's history 12
	b := newBench(t)
	l := b.create("t", small())
	b.add(l, batchOf("first", 10, 0, testNow, -1, 0))
	b.add(l, batchOf("second", 3, 0, testNow, -1, 0))
	start, err := l.DeleteRecordsTo(4)
	must(t, err)
	for range 2 {
		if last := firstOf(t, l, start, 1); start != 4 || l.LogStartOffset() != 4 || last != 9 {
			t.Errorf("the log starts at %d, and the batch there ends at %d", l.LogStartOffset(), last)
		}
		b.restart()
		l = b.log("t")
	}
}

// Thousands of logs are flushed and looked at side by side after a kill, not one after the other.
func TestAKillOfManyLogsIsRecoveredSideBySide(t *testing.T) { // A2
	b := newBench(t)
	b.opt.RecoveryWorkers = 16
	const logs, together = 300, 8
	for i := range int32(logs) {
		l, err := b.e.Create(Name{"t", i}, [16]byte{1}, small())
		must(t, err)
		b.add(l, batchOf("x", 1, 0, testNow, 7, 0))
	}
	left := b.disk.Clone(fs.KeepAll)
	must(t, b.e.Close())
	b.disk = left
	var mu sync.Mutex
	waiting, most, all := 0, 0, make(chan struct{})
	left.SetHook(func(op fs.Op, name string, _ int) error { // a flush takes until others are under way, too
		if op != fs.OpDatasync && op != fs.OpSyncDir || name == "/data" || name == "/" {
			return nil
		}
		mu.Lock()
		waiting++
		if most = max(most, waiting); most == together {
			select {
			case <-all:
			default:
				close(all)
			}
		}
		mu.Unlock()
		select {
		case <-all:
		case <-time.After(10 * time.Second):
		}
		mu.Lock()
		waiting--
		mu.Unlock()
		return nil
	})
	b.open()
	left.SetHook(nil)
	if most < together {
		t.Errorf("%d flushes at once", most)
	}
	for i := range int32(logs) {
		l, ok := b.e.Log(Name{"t", i})
		if r := appendOne(l, batchOf("x", 1, 0, testNow, 7, 0)); !ok || !r.Duplicate {
			t.Fatalf("the only batch of log %d, again: %+v", i, r)
		}
	}
}

// Records that the broker has stamped go by that time, whatever their producers said.
func TestRetentionGoesByTheBrokersTimeWhereRecordsHaveIt(t *testing.T) { // A7
	b := newBench(t)
	c := small()
	c.RetentionAge, c.SegmentBytes = 5*time.Second, 300
	l := b.create("t", c)
	for _, ts := range []int64{4_102_444_800_000, 0} { // the years 2100 and 1970
		rules := record.DefaultRules(b.now.Load())
		rules.LogAppendTime = true
		p := new(record.Prepared)
		must(t, p.Prepare(record.NewBuilder(record.None).Add(ts, nil, make([]byte, 150)).Bytes(), rules))
		b.add(l, p)
		b.now.Add(2000)
	}
	must(t, b.e.Retain())
	if l.LogStartOffset() != 0 {
		t.Errorf("log start %d after 4 s", l.LogStartOffset())
	}
	b.now.Add(1500)
	must(t, b.e.Retain())
	if l.LogStartOffset() != 1 {
		t.Errorf("log start %d after 5.5 s and 3.5 s", l.LogStartOffset())
	}
	b.now.Add(3000)
	must(t, b.e.Retain())
	if l.LogStartOffset() != 2 {
		t.Errorf("log start %d after 8.5 s and 6.5 s", l.LogStartOffset())
	}
}

// A log of many segments, of which nothing has been flushed, does not keep all of their files open.
func TestManySegmentsNeedFewDescriptors(t *testing.T) { // A9
	b := newBench(t)
	b.stop()
	disk := &opens{FS: b.disk}
	b.opt.FS, b.opt.CheckpointInterval, b.opt.Descriptors = disk, -1, 100
	b.e = open(t, b.opt)
	c := small()
	c.SegmentBytes = 300
	l := b.create("t", c)
	end := b.fill(l, 1000)
	if n := l.Segments(); n < 900 {
		t.Fatalf("%d segments", n)
	}
	if n := disk.most.Load(); n > 4*maxUnflushed {
		t.Errorf("%d files were open at once", n)
	}
	b.whole(l, 0, end)
	b.stop()
	if n := disk.now.Load(); n != 0 {
		t.Errorf("%d files are open after a stop", n)
	}
	b.opt.FS = disk
	disk.most.Store(0)
	b.e = open(t, b.opt)
	b.whole(b.log("t"), 0, end)
	if n := disk.most.Load(); n > 4*maxUnflushed {
		t.Errorf("%d files were open at once at and after a start", n)
	}
}

// opens counts the files of a disk that are open.
type opens struct {
	fs.FS
	now, most atomic.Int64
}

func (o *opens) Open(name string, flag int) (fs.File, error) {
	f, err := o.FS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	raise(&o.most, o.now.Add(1))
	return &openFile{File: f, o: o}, nil
}

// openFile is one of them.
type openFile struct {
	fs.File
	o    *opens
	once sync.Once
}

func (f *openFile) Close() error {
	f.once.Do(func() { f.o.now.Add(-1) })
	return f.File.Close()
}

// A clock that goes back an hour, and on again.
func TestAClockThatGoesBackDeletesAndForgetsNothing(t *testing.T) { // Kafka's history 35
	b := newBench(t)
	b.stop()
	b.opt.ProducerIDExpiration = 2 * time.Hour
	b.open()
	c := small()
	c.RetentionAge, c.SegmentAge = 2*time.Hour, 2*time.Hour
	l := b.create("t", c)
	sequence := int32(0)
	send := func() {
		t.Helper()
		if r := appendOne(l, batchOf("x", 1, 0, b.now.Load(), 7, sequence)); r.Err != nil || r.BaseOffset != int64(sequence) {
			t.Fatalf("batch %d: %+v", sequence, r)
		}
		sequence++
	}
	for _, jump := range []int64{0, -3600_000, 3600_000} {
		b.now.Add(jump)
		send()
		must(t, b.e.Retain())
		send()
		if l.LogStartOffset() != 0 || l.Segments() != 1 {
			t.Errorf("after a jump of %d ms the log starts at %d and has %d segments", jump, l.LogStartOffset(), l.Segments())
		}
	}
}

// What a look-up by time finds while retention runs lies within the log, and is the record that was asked for.
func TestALookUpByTimeBesideRetentionStaysWithinTheLog(t *testing.T) { // Kafka's history 13
	b := newBench(t)
	c := small()
	c.RetentionBytes = 2500
	l := b.create("t", c)
	var look sync.WaitGroup
	over := make(chan struct{})
	for range 2 {
		look.Add(1)
		go func() {
			defer look.Done()
			for {
				select {
				case <-over:
					return
				default:
				}
				start := l.LogStartOffset()
				got, err := l.OffsetForTime(testNow)
				high := l.HighWatermark()
				if err != nil || got.Offset >= 0 && (got.Offset < start || got.Offset >= high || got.Timestamp != testNow+got.Offset) {
					t.Errorf("the first record from the first time on is %+v of [%d, %d), %v", got, start, high, err)
					return
				}
			}
		}()
	}
	for range 150 {
		b.add(l, batchOf("x", 1, 100, testNow+l.LogEndOffset(), -1, 0))
		must(t, b.e.Retain())
	}
	close(over)
	look.Wait()
	if l.LogStartOffset() == 0 {
		t.Error("nothing was deleted")
	}
}
