package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// A heard is what a follower that runs beside a test has yielded.
type heard struct {
	records chan record.Record
	end     chan error // the error it ended with, nil where the loop was left
}

// hear follows a log on a goroutine. Who wants its end has to take its records.
func hear(ctx context.Context, l *Log, offset int64) *heard {
	h := &heard{make(chan record.Record), make(chan error, 1)}
	go func() {
		defer close(h.records)
		for r, err := range l.Follow(ctx, offset) {
			if err != nil {
				h.end <- err
				return
			}
			h.records <- r
		}
		h.end <- nil
	}()
	return h
}

// next takes records up to an offset, which must come without a gap.
func (h *heard) upTo(t *testing.T, from, to int64) {
	t.Helper()
	for ; from < to; from++ {
		select {
		case r := <-h.records:
			if r.Offset != from {
				t.Fatalf("offset %d, want %d", r.Offset, from)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("offset %d has not come", from)
		}
	}
}

func (h *heard) ended(t *testing.T, want error) {
	t.Helper()
	select {
	case r, more := <-h.records:
		if more {
			t.Fatalf("offset %d, want the end", r.Offset)
		}
		wantErr(t, "the end", <-h.end, want)
	case <-time.After(10 * time.Second):
		t.Fatalf("it has not ended, want %v", want)
	}
}

// awaitWaiter returns once somebody waits for the log, so that the next event is one that wakes.
func (l *Log) awaitWaiter() {
	for !l.followers.any.Load() {
		runtime.Gosched()
	}
}

func TestAFollowerYieldsEveryRecordInOrderAndWaitsForMore(t *testing.T) {
	for _, h := range ways {
		for _, stage := range []int64{-1, 1 << 20} {
			for _, sync := range []bool{false, true} {
				t.Run(fmt.Sprint(h.name, " stage ", stage, " sync ", sync), func(t *testing.T) {
					defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
					opt := crashOptions(crashDisk(1), h)
					opt.StageBytes = stage
					e := open(t, opt)
					defer e.Close()
					l, err := e.Create(Name{"t", 0}, [16]byte{1}, crashConfig(h, sync))
					must(t, err)
					appendOne(l, batchOf("a", 10, 50, testNow, -1, 0))
					whole := hear(context.Background(), l, 0)
					part := hear(context.Background(), l, 4) // within a batch
					whole.upTo(t, 0, 10)
					part.upTo(t, 4, 10)
					go func() {
						for i := range 100 {
							appendOne(l, batchOf(fmt.Sprint("b", i), 3, 50, testNow, -1, 0))
						}
					}()
					whole.upTo(t, 10, 310)
					part.upTo(t, 10, 310)
					must(t, e.Close())
					whole.ended(t, ErrClosed)
					part.ended(t, ErrClosed)
				})
			}
		}
	}
}

func TestAFollowerEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	end := b.fill(l, 3)

	ctx, cancel := context.WithCancel(context.Background())
	waits := hear(ctx, l, 0)
	waits.upTo(t, 0, end)
	l.awaitWaiter()
	cancel()
	waits.ended(t, context.Canceled)

	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range l.Follow(ctx, 0) { // in the middle of what it has read
		if err != nil {
			wantErr(t, "after the cancellation", err, context.Canceled)
			break
		}
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d records, want none after the cancellation", n)
	}
	wantErr(t, "Wait", l.Wait(ctx, end), context.Canceled)
}

func TestAFollowerEndsWhenItsLogDoes(t *testing.T) {
	ends := map[string]struct {
		want error
		do   func(b *bench, l *Log)
	}{
		"deleted":   {ErrDeleted, func(b *bench, l *Log) { must(b.t, b.e.Delete(l.Name())) }},
		"closed":    {ErrClosed, func(b *bench, _ *Log) { must(b.t, b.e.Close()) }},
		"truncated": {ErrOffsetOutOfRange, func(b *bench, l *Log) { must(b.t, l.Truncate(3)) }},
		"failed": {ErrOffline, func(b *bench, l *Log) {
			failFrom(b.disk, ".log", unix.EIO, fs.OpDatasync)
			if l.Flush() == nil {
				b.t.Error("a flush that must fail has not")
			}
		}},
	}
	for name, c := range ends {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			l := b.create("t", small())
			h := hear(context.Background(), l, 0)
			h.upTo(t, 0, b.fill(l, 20))
			waited := make(chan error, 1)
			go func() { waited <- l.Wait(context.Background(), 1000) }()
			l.awaitWaiter()
			c.do(b, l)
			h.ended(t, c.want)
			if c.want != ErrOffsetOutOfRange { // the log may still come to 1000
				wantErr(t, "Wait", <-waited, c.want)
			}
		})
	}
}

func TestASlowFollowerHoldsNothingAndIsToldThatRetentionPassedIt(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 60)
	n := int64(0)
	for r, err := range l.Follow(context.Background(), 0) {
		if err != nil {
			wantErr(t, "behind the log start", err, ErrOffsetOutOfRange)
			break
		}
		if r.Offset != n {
			t.Fatalf("offset %d, want %d", r.Offset, n)
		}
		n++
		for _, s := range *l.view.Load() {
			if s.Readers() != 0 {
				t.Fatalf("it holds %s between two records", s.Path())
			}
		}
		if _, err := l.DeleteRecordsTo(-1); err != nil {
			t.Fatal(err)
		}
		must(t, b.e.Retain())
	}
	if n == 0 || n >= 60 {
		t.Errorf("%d records came, want those of one read", n)
	}
	for _, err := range l.Follow(context.Background(), 1000) {
		wantErr(t, "behind the end", err, ErrOffsetOutOfRange)
	}
}

func TestAFollowerPassesOverWhatWasAbortedAndWaitsForWhatIsOpen(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h := hear(ctx, l, 0)
	b.add(l, inTxn(1, 0, 2)) // 0, 1
	b.fill(l, 2)             // 2, 3
	b.end(l, 1, true)        // 4
	h.upTo(t, 0, 4)
	b.add(l, inTxn(1, 2, 20)) // 5 to 24, to be aborted
	b.fill(l, 1)              // 25
	b.end(l, 1, false)        // 26
	b.add(l, inTxn(1, 22, 1)) // 27
	b.end(l, 1, true)         // 28
	h.upTo(t, 25, 26)
	h.upTo(t, 27, 28)
	b.add(l, inTxn(1, 23, 1)) // 29, which stays open
	b.fill(l, 1)
	l.awaitWaiter()
	select {
	case r := <-h.records:
		t.Fatalf("offset %d comes from behind an open transaction", r.Offset)
	default:
	}
	cancel()
	h.ended(t, context.Canceled)
}

func TestManyFollowersOfOneLogSeeTheSame(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{}, Config{})
	must(t, err)
	const followers, records = 3 * manyWaiters, 200
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	errs := make(chan error, followers)
	for range followers {
		all.Add(1)
		go func() {
			defer all.Done()
			want := int64(0)
			for r, err := range l.Follow(ctx, 0) {
				if err != nil || r.Offset != want {
					errs <- errors.Join(err, fmt.Errorf("offset %d, want %d", r.Offset, want))
					return
				}
				if want++; want == records {
					return
				}
			}
		}()
	}
	for i := range records {
		appendOne(l, batchOf(fmt.Sprint(i), 1, 10, testNow, -1, 0))
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
}

func TestARottenBatchIsNotYielded(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
	b.fill(l, 3)
	path := (*l.view.Load())[0].Path()
	f, err := b.disk.Open(path, 2)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	must(t, f.Write([]byte{'#'}, size-3, true))
	n := 0
	for _, err := range l.Follow(context.Background(), 0) {
		if bad := (*record.Error)(nil); errors.As(err, &bad) {
			break
		}
		must(t, err)
		n++
	}
	if n != 2 {
		t.Errorf("%d records came before the rotten one, want 2", n)
	}
}

func TestNobodyIsWokenWhereNobodyWaits(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	end := b.fill(l, 1)
	must(t, l.Wait(context.Background(), end-1))
	if l.followers.any.Load() {
		t.Fatal("a wait that was over at once has armed the log")
	}
	done := make(chan error, 1)
	go func() { done <- l.Wait(context.Background(), end) }()
	l.awaitWaiter()
	b.fill(l, 1)
	must(t, <-done)
	if l.followers.any.Load() {
		t.Error("the log is armed, and nobody waits")
	}
}
