package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

func (b *bench) batcher(l *Log, o BatcherOptions) *Batcher {
	b.t.Helper()
	f, err := l.NewBatcher(o)
	must(b.t, err)
	return f
}

// valueOf is a record that says which it is.
func valueOf(caller, i int) record.Record {
	return record.Record{Key: fmt.Appendf(nil, "%d", caller), Value: fmt.Appendf(nil, "%d/%d", caller, i),
		Headers: []record.Header{{Key: "h", Value: []byte("v")}}}
}

// allOf returns the records of a log.
func allOf(t *testing.T, l *Log) (all []record.Record) {
	t.Helper()
	if l.HighWatermark() == 0 {
		return nil
	}
	for r, err := range l.Follow(context.Background(), l.LogStartOffset()) {
		must(t, err)
		if all = append(all, r); r.Offset == l.HighWatermark()-1 {
			break
		}
	}
	return all
}

func TestRecordsOfManyGoroutinesAreAnsweredWithTheirOffsetsInOrder(t *testing.T) {
	for _, o := range []BatcherOptions{{}, {Linger: time.Millisecond, Compression: record.Zstd}, {BatchBytes: 500}, {MemoryBytes: 600, Compression: record.LZ4}} {
		for _, sync := range []int64{0, 1} {
			t.Run(fmt.Sprintf("%+v sync %d", o, sync), func(t *testing.T) { gatherMany(t, o, sync) })
		}
	}
}

func gatherMany(t *testing.T, o BatcherOptions, sync1 int64) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{FlushMessages: sync1})
	must(t, err)
	b, err := l.NewBatcher(o)
	must(t, err)
	const callers, each = 16, 50
	var all sync.WaitGroup
	var mu sync.Mutex
	offsets := map[int64]string{}
	for c := range callers {
		all.Add(1)
		go func() {
			defer all.Done()
			last := int64(-1)
			var futures []Future
			for i := range each {
				futures = append(futures, b.Append(context.Background(), valueOf(c, i)))
			}
			for i, f := range futures {
				offset, err := f.Wait(context.Background())
				if err != nil || offset <= last {
					t.Errorf("record %d/%d: offset %d behind %d, %v", c, i, offset, last, err)
				}
				last = offset
				mu.Lock()
				offsets[offset] = string(valueOf(c, i).Value)
				mu.Unlock()
			}
		}()
	}
	all.Wait()
	must(t, b.Close())
	got := allOf(t, l)
	if len(got) != callers*each {
		t.Fatalf("%d records, want %d", len(got), callers*each)
	}
	for _, r := range got {
		if offsets[r.Offset] != string(r.Value) || len(r.Headers) != 1 {
			t.Fatalf("offset %d holds %q, its future said %q", r.Offset, r.Value, offsets[r.Offset])
		}
	}
	if b.mu.bytes != 0 || b.mu.flying != 0 {
		t.Errorf("%d bytes and %d batches are left", b.mu.bytes, b.mu.flying)
	}
	if _, err := b.Append(context.Background(), valueOf(0, 0)).Wait(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestARecordThatIsRefusedDoesNotTakeItsBatchAlong(t *testing.T) {
	b := newBench(t)
	rules := record.DefaultRules(0)
	rules.Compacted = true // every record needs a key
	rules.MaxBatchBytes = 2000
	l := b.create("t", Config{Rules: rules})
	f := b.batcher(l, BatcherOptions{Linger: time.Hour})
	var futures []Future
	for i := range 9 {
		r := valueOf(0, i)
		switch {
		case i%3 == 1:
			r.Key = nil
		case i == 5:
			r.Value = []byte(strings.Repeat("x", 3000)) // above the limit, alone
		}
		futures = append(futures, f.Append(context.Background(), r))
	}
	if err := f.Close(); err == nil {
		t.Error("Close says nothing of the refused records")
	}
	want := int64(0)
	for i, future := range futures {
		offset, err := future.Wait(context.Background())
		var bad *record.Error
		if i%3 == 1 || i == 5 {
			if !errors.As(err, &bad) {
				t.Errorf("record %d: offset %d, %v", i, offset, err)
			}
			continue
		}
		if err != nil || offset != want {
			t.Errorf("record %d: offset %d, want %d, %v", i, offset, want, err)
		}
		want++
	}
	for i, r := range allOf(t, l) {
		if want := []int{0, 2, 3, 6, 8}[i]; string(r.Value) != string(valueOf(0, want).Value) {
			t.Errorf("offset %d holds %q", r.Offset, r.Value)
		}
	}
}

func TestNothingIsAppendedBeforeItsBatchIsFullOrHasLingered(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	f := b.batcher(l, BatcherOptions{Linger: time.Hour, BatchBytes: 400})
	first := f.Append(context.Background(), valueOf(0, 0))
	select {
	case <-first.Done():
		t.Fatal("it did not linger")
	default:
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := first.Wait(ctx)
	wantErr(t, "Wait", err, context.Canceled)
	for i := 1; l.LogEndOffset() == 0; i++ {
		f.Append(context.Background(), valueOf(0, i)) // until the batch is full
	}
	if offset, err := first.Wait(context.Background()); offset != 0 || err != nil {
		t.Errorf("offset %d, %v", offset, err)
	}
	must(t, f.Close())
}

func TestAppendWaitsForRoomForAsLongAsItsContextAllows(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if strings.HasSuffix(name, ".log") && (op == fs.OpDatasync || op == fs.OpWriteDurable) {
			once.Do(func() { close(begun) })
			<-release
		}
		return nil
	})
	f := b.batcher(l, BatcherOptions{MemoryBytes: 150})
	first := f.Append(context.Background(), valueOf(0, 0))
	<-begun
	large := record.Record{Key: []byte("k"), Value: make([]byte, 200)}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := f.Append(ctx, large).Wait(context.Background())
	wantErr(t, "a context that is done", err, context.Canceled)
	second := make(chan Future)
	go func() { second <- f.Append(context.Background(), large) }()
	for !f.room.any.Load() {
		runtime.Gosched()
	}
	close(release)
	for i, future := range []Future{first, <-second} {
		if offset, err := future.Wait(context.Background()); offset != int64(i) || err != nil {
			t.Errorf("record %d: offset %d, %v", i, offset, err)
		}
	}
	must(t, f.Close())
}

func TestABatchDoesNotLingerWhileSomebodyWaitsForItsRoom(t *testing.T) {
	b := newBench(t)
	f := b.batcher(b.create("t", Config{}), BatcherOptions{Linger: time.Hour, MemoryBytes: 300})
	var all []Future
	for i := range 20 {
		all = append(all, f.Append(context.Background(), valueOf(0, i)))
	}
	if offset, err := all[0].Wait(context.Background()); offset != 0 || err != nil {
		t.Errorf("offset %d, %v", offset, err)
	}
	must(t, f.Close())
}

func TestEveryFutureEndsWhereTheDirectoryFails(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
	f := b.batcher(l, BatcherOptions{})
	failFrom(b.disk, ".log", unix.EIO, fs.OpDatasync, fs.OpWriteDurable)
	var futures []Future
	for i := range 20 {
		futures = append(futures, f.Append(context.Background(), valueOf(0, i)))
	}
	for i, future := range futures {
		if offset, err := future.Wait(context.Background()); offset != -1 || !errors.Is(err, ErrOffline) {
			t.Errorf("record %d: offset %d, %v", i, offset, err)
		}
	}
	wantErr(t, "Close", f.Close(), ErrOffline)
}

func TestABatchIsNoLargerThanASegment(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{SegmentBytes: 1000})
	f := b.batcher(l, BatcherOptions{Linger: time.Hour})
	var all []Future
	for i := range 100 {
		all = append(all, f.Append(context.Background(), valueOf(0, i)))
	}
	must(t, f.Close())
	for i, one := range all {
		if offset, err := one.Wait(context.Background()); err != nil || offset != int64(i) {
			t.Fatalf("record %d has offset %d, %v", i, offset, err)
		}
	}
}

func TestABatcherTakesNoCodecThatDoesNotExist(t *testing.T) {
	l := newBench(t).create("t", Config{})
	for _, o := range []BatcherOptions{{Compression: 9}, {Compression: record.Producer}, {Compression: record.Gzip, Level: 77}, {BatchBytes: -1}, {Linger: -1}, {MemoryBytes: -1}} {
		if _, err := l.NewBatcher(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// BenchmarkSingleRecords appends records of 100 bytes, each from one of 64 goroutines that wait for their own: as batches of one
// record, and by a Batcher.
func BenchmarkSingleRecords(b *testing.B) {
	for _, sync := range []int64{0, 1} {
		for _, way := range []string{"append", "batcher"} {
			b.Run(fmt.Sprintf("sync=%d/%s", sync, way), func(b *testing.B) { singleRecords(b, sync, way == "batcher") })
		}
	}
}

func singleRecords(b *testing.B, sync1 int64, gathered bool) {
	e := open(b, Options{Dir: b.TempDir()})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{}, Config{FlushMessages: sync1})
	if err != nil {
		b.Fatal(err)
	}
	f, err := l.NewBatcher(BatcherOptions{})
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 100)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		var p record.Prepared
		builder := record.NewBuilder(record.None)
		done := make(chan Appended, 1)
		var buf []byte
		for pb.Next() {
			if gathered {
				if _, err := f.Append(context.Background(), record.Record{Value: value}).Wait(context.Background()); err != nil {
					b.Error(err)
				}
				continue
			}
			now := time.Now().UnixMilli()
			builder.Reset()
			buf = builder.Add(now, nil, value).AppendTo(buf[:0])
			if err := p.Prepare(buf, record.DefaultRules(now)); err != nil {
				b.Error(err)
			}
			l.Append(&p, 0, func(a Appended) { done <- a })
			if a := <-done; a.Err != nil {
				b.Error(a.Err)
			}
		}
	})
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
