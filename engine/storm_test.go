package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// A storm is all callers of an engine at once, on the host's file system: appenders, readers, followers, truncations, deletions,
// retention, changes of configuration, checkpoints, and a stop in the midst of them. Everyone checks what was promised to him.
// It is for the race detector, too.
type storm struct {
	e     *Engine
	h     how
	over  chan struct{} // closed when the time is up
	beat  chan struct{} // a turn for someone else after each append, so that nobody takes all of the processor
	wrong chan error    // the first thing that went wrong
	logs  []*stormLog   // never truncated or deleted
	all   sync.WaitGroup
}

// stormLog is a log, and the offset behind the last record that was acknowledged.
type stormLog struct {
	*Log
	acked atomic.Int64
}

// run does something again and again until it fails or the storm is over. It may end with an error that the end explains.
func (s *storm) run(name string, seed uint64, what func(rng *rand.Rand) error) {
	s.all.Add(1)
	go func() {
		defer s.all.Done()
		rng := rand.New(rand.NewPCG(seed, 9))
		for {
			if name == "appender" {
				select {
				case s.beat <- struct{}{}:
				case <-s.over:
					return
				default:
				}
			} else {
				select {
				case <-s.beat:
				case <-s.over:
					return
				}
			}
			err := what(rng)
			if err == nil || errors.Is(err, ErrOffsetOutOfRange) {
				continue
			}
			if s.e.closed.Load() && errors.Is(err, ErrClosed) {
				return
			}
			s.fail(fmt.Errorf("%s: %w", name, err))
			return
		}
	}()
}

func (s *storm) fail(err error) {
	select {
	case s.wrong <- err:
	default:
	}
}

func (s *storm) config(rng *rand.Rand) Config {
	c := crashConfig(s.h, rng.IntN(2) == 0)
	c.Writer = Writer(rng.IntN(3))
	c.SegmentBytes, c.RetentionBytes = []int32{30 << 10, 150 << 10}[rng.IntN(2)], 600<<10
	c.DeleteDelay = []time.Duration{-1, time.Millisecond}[rng.IntN(2)]
	c.IndexBytes = []int32{0, 120}[rng.IntN(2)]
	return c
}

// appender is an idempotent producer, with up to four batches in flight.
func (s *storm) appender(l *stormLog, id int64) func(*rand.Rand) error {
	sequence, last := int32(0), int64(-1)
	return func(rng *rand.Rand) error {
		answers := make(chan Appended, 4)
		n := 1 + rng.IntN(4)
		var prepared *record.Prepared
		for range n {
			prepared = stormBatch(id, sequence, 1+rng.IntN(3))
			sequence += int32(prepared.Batches[0].Count)
			l.Append(prepared, 0, func(a Appended) { answers <- a })
		}
		var a Appended
		for range n {
			if a = <-answers; a.Err != nil {
				return a.Err
			}
			if a.BaseOffset <= last || a.Duplicate {
				return fmt.Errorf("%+v behind offset %d", a, last)
			}
			last = a.LastOffset
		}
		raise(&l.acked, last+1)
		if high := l.HighWatermark(); high <= last {
			return fmt.Errorf("offset %d was acknowledged, the high watermark is %d", last, high)
		}
		if again := appendOne(l.Log, prepared); again.Err != nil || !again.Duplicate || again.BaseOffset != a.BaseOffset {
			return errors.Join(again.Err, fmt.Errorf("sent again: %+v, was %+v", again, a))
		}
		return nil
	}
}

func raise(a *atomic.Int64, to int64) {
	for old := a.Load(); old < to && !a.CompareAndSwap(old, to); old = a.Load() {
	}
}

// stormBatch has in each record its producer and its sequence.
func stormBatch(id int64, sequence int32, n int) *record.Prepared {
	b := record.NewBuilder(record.None).Producer(id, 0, sequence)
	for i := range int32(n) {
		b.Add(testNow+int64(sequence+i), nil, fmt.Appendf(nil, "%d %d %100d", id, sequence+i, 0))
	}
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), record.DefaultRules(testNow)); err != nil {
		panic(err)
	}
	return p
}

// reader reads ranges anywhere, which must be whole good batches without a hole, below the high watermark.
func (s *storm) reader(l *Log) func(*rand.Rand) error {
	return func(rng *rand.Rand) error {
		start, high := l.LogStartOffset(), l.HighWatermark()
		at := start + rng.Int64N(max(1, high-start))
		read := []func(int64, int, bool) (Range, error){l.Read, l.ReadNoWait, func(o int64, n int, whole bool) (Range, error) {
			c, err := l.ReadCommitted(o, n, whole)
			return c.Range, err
		}}[rng.IntN(3)]
		r, err := read(at, rng.IntN(20_000), rng.IntN(4) > 0)
		if errors.Is(err, ErrWouldBlock) {
			return nil
		} else if err != nil {
			return err
		}
		defer r.Release()
		b, err := r.Bytes()
		if err != nil {
			return err
		}
		next := int64(-1)
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				return nil // cut off by the limit
			}
			if err := batch.Check(); err != nil {
				return fmt.Errorf("offset %d: %w", at, err)
			}
			if base, last := batch.BaseOffset(), batch.LastOffset(); last >= r.HighWatermark || next < 0 && (base > at || last < at) || next >= 0 && base != next {
				return fmt.Errorf("batch [%d, %d] where %d belongs, of a read at %d below %d", base, last, next, at, r.HighWatermark)
			}
			next, b = batch.LastOffset()+1, rest
		}
		return nil
	}
}

// follower follows a log: no offset and no record of a producer is left out or comes twice.
func (s *storm) follower(ctx context.Context, l *stormLog) func(*rand.Rand) error {
	return func(*rand.Rand) error {
		at := l.LogStartOffset()
		next := map[int64]int32{}
		for r, err := range l.Follow(ctx, at) {
			if err != nil {
				if errors.Is(err, context.Canceled) {
					return nil
				}
				return err // retention may have been faster
			}
			var id int64
			var n int32
			if _, err := fmt.Sscan(string(r.Value), &id, &n); err != nil {
				return fmt.Errorf("record %q at offset %d: %w", r.Value, r.Offset, err)
			}
			if want, ok := next[id]; r.Offset != at || ok && n != want {
				return fmt.Errorf("record %d of producer %d at offset %d, want %d at %d", n, id, r.Offset, want, at)
			}
			if high := l.HighWatermark(); at >= high {
				return fmt.Errorf("offset %d was read, the high watermark is %d", at, high)
			}
			at, next[id] = at+1, n+1
		}
		return nil
	}
}

// truncator appends to a log of its own and takes some of it off again; what is there must be what it left there.
func (s *storm) truncator(l *Log) func(*rand.Rand) error {
	var there []int32
	count := int32(0)
	return func(rng *rand.Rand) error {
		for range 1 + rng.IntN(20) {
			count++
			if a := appendOne(l, stormBatch(count64(count), 0, 1)); a.Err != nil || a.BaseOffset != int64(len(there)) {
				return errors.Join(a.Err, fmt.Errorf("appended at %d, want %d", a.BaseOffset, len(there)))
			}
			there = append(there, count)
		}
		to := max(0, len(there)-rng.IntN(25))
		if err := l.Truncate(int64(to)); err != nil {
			return err
		}
		if there = there[:to]; l.LogEndOffset() != int64(to) || l.HighWatermark() != int64(to) {
			return fmt.Errorf("truncated to %d: the log ends at %d", to, l.LogEndOffset())
		}
		for at := max(0, to-5); at < to; at++ {
			r, err := l.Read(int64(at), 1, true)
			if err != nil {
				return err
			}
			b, err := r.Bytes()
			r.Release()
			if err != nil || record.Batch(b).ProducerID() != count64(there[at]) {
				return errors.Join(err, fmt.Errorf("another batch is at offset %d", at))
			}
		}
		return nil
	}
}

func count64(n int32) int64 { return int64(n) }

// maker makes logs, appends to them, and deletes them while others read.
func (s *storm) maker(n Name) func(*rand.Rand) error {
	return func(rng *rand.Rand) error {
		l, err := s.e.Create(n, [16]byte{byte(rng.Uint32())}, s.config(rng))
		if err != nil {
			return err
		}
		for i := range int32(rng.IntN(30)) {
			if a := appendOne(l, stormBatch(1, i, 1)); a.Err != nil || a.BaseOffset != int64(i) {
				return errors.Join(a.Err, fmt.Errorf("append %d: %+v", i, a))
			}
		}
		var readers sync.WaitGroup
		for range 2 {
			seed := rng.Uint64()
			readers.Add(1)
			go func() {
				defer readers.Done()
				for err, read, r := error(nil), s.reader(l), rand.New(rand.NewPCG(seed, 1)); err == nil; {
					err = read(r) // ends with ErrDeleted, or what is wrong
					if err != nil && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrClosed) {
						s.fail(err)
					}
				}
			}()
		}
		err = s.e.Delete(n)
		readers.Wait()
		return err
	}
}

func TestAStormOfCallersGetsWhatWasPromised(t *testing.T) {
	length := 400 * time.Millisecond
	if long() {
		length = 2 * time.Minute
	}
	for i, h := range []how{ways[0], ways[2]} {
		t.Run(h.name, func(t *testing.T) { weather(t, h, uint64(i), length) })
	}
}

func weather(t *testing.T, h how, seed uint64, length time.Duration) {
	opt := Options{Dir: t.TempDir(), FS: fs.OS(), SyncMethod: h.method, Now: testClock, CheckpointBytes: 300_000, Descriptors: 6,
		CheckpointInterval: 50 * time.Millisecond, RetentionInterval: 50 * time.Millisecond, StageBytes: 1 << 20, MemoryBytes: 1 << 20}
	s := &storm{e: open(t, opt), h: h, over: make(chan struct{}), beat: make(chan struct{}), wrong: make(chan error, 1)}
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range 3 {
		l, err := s.e.Create(Name{"t", int32(i)}, [16]byte{1}, s.config(rng))
		must(t, err)
		s.logs = append(s.logs, &stormLog{Log: l})
	}
	own, err := s.e.Create(Name{"own", 0}, [16]byte{2}, crashConfig(h, true))
	must(t, err)
	for _, l := range s.logs {
		s.run("appender", rng.Uint64(), s.appender(l, 1))
		s.run("appender", rng.Uint64(), s.appender(l, 2))
		s.run("reader", rng.Uint64(), s.reader(l.Log))
		s.run("reader", rng.Uint64(), s.reader(l.Log))
		s.run("follower", rng.Uint64(), s.follower(ctx, l))
		s.run("chores", rng.Uint64(), s.chores(l.Log))
	}
	s.run("truncator", rng.Uint64(), s.truncator(own))
	s.run("reader of what is truncated", rng.Uint64(), s.reader(own))
	s.run("maker", rng.Uint64(), s.maker(Name{"made", 0}))
	s.run("maker", rng.Uint64(), s.maker(Name{"made", 1}))
	select {
	case err := <-s.wrong:
		s.fail(err)
	case <-time.After(length):
	}
	closed := s.e.Close() // in the midst of it all
	close(s.over)
	cancel()
	s.all.Wait()
	s.fail(nil)
	must(t, <-s.wrong)
	must(t, closed)
	e := open(t, opt)
	for _, was := range s.logs {
		l, ok := e.Log(was.name)
		if !ok || l.Err() != nil || l.LogEndOffset() < was.acked.Load() {
			t.Fatalf("%s ends at %d, %d was acknowledged", was.name, l.LogEndOffset(), was.acked.Load())
		}
		must(t, readThrough(l))
		t.Logf("%s: [%d, %d)", l.name, l.LogStartOffset(), l.LogEndOffset())
	}
	must(t, e.Close())
}

// chores are what else happens to a log.
func (s *storm) chores(l *Log) func(*rand.Rand) error {
	return func(rng *rand.Rand) error {
		switch rng.IntN(8) {
		case 0:
			return s.e.Checkpoint()
		case 1:
			return s.e.Retain()
		case 2:
			return l.Flush()
		case 3:
			l.SetConfig(s.config(rng))
		case 4:
			_, err := l.DeleteRecordsTo((3*l.LogStartOffset() + l.HighWatermark()) / 4)
			return err
		case 5:
			return lookUp(l)
		case 6:
			if n := len(l.Producers()); n > 2 {
				return fmt.Errorf("%d producers", n)
			}
			_, err := l.AbortedTransactions(l.LogStartOffset(), l.LogEndOffset())
			return err
		default:
			if start, stable, high, end := l.LogStartOffset(), l.LastStableOffset(), l.HighWatermark(), l.LogEndOffset(); stable > high || high > end || start > end {
				return fmt.Errorf("log start %d, last stable %d, high watermark %d, end %d", start, stable, high, end)
			}
		}
		return nil
	}
}
