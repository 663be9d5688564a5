package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zurau/zurau/engine/record"
)

// BatcherOptions says how a Batcher gathers; the names in brackets are those of Kafka's producer. The zero value works.
type BatcherOptions struct {
	// BatchBytes ends a batch, before compression [batch.size]; 0 is 64 KiB. A record that is larger is a batch of its own.
	BatchBytes int
	// Linger is how long a batch waits for more records [linger.ms]. With 0 a batch goes out as soon as none is on its way, and
	// gathers what comes for as long as one is: nothing waits where there is little to do, and batches grow where there is much.
	Linger time.Duration
	// Compression of the batches [compression.type], with Level the codec's own, 0 its default.
	Compression record.Codec
	Level       int
	// MemoryBytes bounds the records that were taken and are not answered [buffer.memory]; 0 is 16 MiB. Append waits beyond.
	MemoryBytes int64
	// LeaderEpoch is stamped on the batches: 0 where there is no cluster.
	LeaderEpoch int32
}

// A Batcher appends single records to a log: it gathers those of many goroutines into record batches, which is what a log is made
// of, and answers each with a Future. Its methods may be called from anywhere.
//
// Records of one goroutine get their offsets in the order of its calls. A record that is refused does not hold up those behind it. What
// was taken is never appended twice, and an append whose end is not known (ErrOffline) is not tried again: so there is no producer id in
// the batches, which is for producers that do.
type Batcher struct {
	l *Log
	o BatcherOptions

	mu struct {
		sync.Mutex
		queue   []*gathering // all but the last one are full
		free    []*record.Builder
		bytes   int64 // taken and not answered
		flying  int   // batches with the log
		waiting int   // calls of Append that wait for room: nothing lingers meanwhile
		sending bool  // somebody has the turn to hand batches to the log
		closed  bool
		err     error // the first
	}
	room waiters // for an answer

	// buf and prepared are owned by who has the turn.
	buf      []byte
	prepared record.Prepared
}

// A gathering is a batch that is made.
type gathering struct {
	builder *record.Builder
	n       int   // records
	bytes   int64 // of memory
	due     bool  // it lingers no more

	done    chan struct{} // closed when the rest is known
	base    int64
	err     error
	refused []refusal // ascending; the others are appended without them
}

type refusal struct {
	index int
	err   error
}

// A Future is a record that was handed to a Batcher.
type Future struct {
	g     *gathering
	index int
}

// Done is closed when the record is appended and what the log's flush mode promises has happened, or when it has failed.
func (f Future) Done() <-chan struct{} { return f.g.done }

// Wait waits for Done and returns the offset of the record, or why it has none: a *record.Error for what the log's rules refuse, and the
// errors of Append. When ctx is done first it returns that error, and the record may still be appended.
func (f Future) Wait(ctx context.Context) (offset int64, err error) {
	select {
	case <-f.g.done:
		return f.result()
	default:
	}
	select {
	case <-f.g.done:
		return f.result()
	case <-ctx.Done():
		return -1, ctx.Err()
	}
}

func (f Future) result() (int64, error) {
	if f.g.err != nil {
		return -1, f.g.err
	}
	before := 0
	for _, r := range f.g.refused {
		switch {
		case r.index == f.index:
			return -1, r.err
		case r.index < f.index:
			before++
		}
	}
	return f.g.base + int64(f.index-before), nil
}

// failed returns a future that has failed.
func failed(err error) Future {
	g := &gathering{done: make(chan struct{}), err: err}
	close(g.done)
	return Future{g, 0}
}

// NewBatcher returns a front for single records. Close it before the engine, else what it has gathered fails with ErrClosed. It
// returns an error for a codec or a level that does not exist, and for sizes below 0.
func (l *Log) NewBatcher(o BatcherOptions) (*Batcher, error) {
	if o.BatchBytes < 0 || o.MemoryBytes < 0 || o.Linger < 0 {
		return nil, fmt.Errorf("batcher of %s: BatchBytes %d, MemoryBytes %d, Linger %v: want none below 0", l.name, o.BatchBytes, o.MemoryBytes, o.Linger)
	}
	if _, err := record.Compress(nil, nil, o.Compression, o.Level); o.Compression != record.None && err != nil {
		return nil, fmt.Errorf("batcher of %s: %w", l.name, err)
	}
	o.BatchBytes = orDefault(o.BatchBytes, 64<<10)
	o.MemoryBytes = orDefault(o.MemoryBytes, 16<<20)
	return &Batcher{l: l, o: o}, nil
}

// recordOverhead is what a record takes beside its bytes, at most: five varints, the attributes and a share of the batch.
const recordOverhead = 40

// keptBuilders is how many builders, with their memory, are kept for the next batches.
const keptBuilders = 4

func sizeOf(r *record.Record) int64 {
	n := recordOverhead + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += 10 + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return int64(n)
}

// Append takes a record: its key, value, headers and timestamp in ms, where 0 is the present time and -1 none. It copies them. It waits only
// while MemoryBytes, or the engine's, are in use, and until ctx is done at most: the future has that error then.
func (b *Batcher) Append(ctx context.Context, r record.Record) Future {
	if r.Timestamp == 0 {
		r.Timestamp = b.l.e.opt.Now().UnixMilli()
	}
	size := sizeOf(&r)
	for {
		b.mu.Lock()
		if b.mu.closed {
			b.mu.Unlock()
			return failed(ErrClosed)
		}
		if b.mu.bytes == 0 || b.mu.bytes+size <= b.o.MemoryBytes && !b.l.e.Busy() {
			break
		}
		if err := b.awaitRoom(ctx); err != nil {
			return failed(err)
		}
	}
	f := b.add(r, size)
	turn := b.takeTurn()
	b.mu.Unlock()
	if turn {
		b.send(true)
	}
	return f
}

// awaitRoom returns once something was answered, or ctx is done. It gives the lock up.
func (b *Batcher) awaitRoom(ctx context.Context) error {
	room := b.room.arm()
	b.mu.waiting++
	turn := b.takeTurn()
	b.mu.Unlock()
	if turn {
		b.send(true)
	}
	defer func() {
		b.mu.Lock()
		b.mu.waiting--
		b.mu.Unlock()
	}()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add puts a record into the batch that is open. The lock is held, as in what follows.
func (b *Batcher) add(r record.Record, size int64) Future {
	var g *gathering
	if n := len(b.mu.queue); n > 0 {
		g = b.mu.queue[n-1]
	}
	if g == nil || g.n > 0 && int64(g.builder.UncompressedSize())+size > int64(b.batchBytes()) {
		g = &gathering{builder: b.builder(), done: make(chan struct{})}
		b.mu.queue = append(b.mu.queue, g)
		if b.o.Linger > 0 {
			time.AfterFunc(b.o.Linger, func() { b.expire(g) })
		}
	}
	g.builder.Add(r.Timestamp, r.Key, r.Value, r.Headers...)
	g.n++
	g.bytes += size
	b.mu.bytes += size
	return Future{g, g.n - 1}
}

// batchBytes returns where a batch ends: what the log takes may be less than what was asked for.
func (b *Batcher) batchBytes() int {
	most := int(b.l.config.Load().SegmentBytes)
	if n := int(b.rules().MaxBatchBytes); n > 0 {
		most = min(most, n)
	}
	return min(most-most/64, b.o.BatchBytes) // what does not compress grows a little
}

// rules returns the rules of the log: Kafka's defaults where its configuration has none.
func (b *Batcher) rules() record.Rules {
	r := b.l.config.Load().Rules
	if r == (record.Rules{}) {
		r = record.DefaultRules(0)
	}
	return r
}

func (b *Batcher) builder() *record.Builder {
	if n := len(b.mu.free); n > 0 {
		r := b.mu.free[n-1]
		b.mu.free = b.mu.free[:n-1]
		return r
	}
	r := record.NewBuilder(b.o.Compression)
	r.Level = b.o.Level
	return r
}

// expire ends the lingering of a batch.
func (b *Batcher) expire(g *gathering) {
	b.mu.Lock()
	g.due = true
	turn := b.takeTurn()
	b.mu.Unlock()
	if turn {
		b.send(false)
	}
}

// sendable reports whether the first batch is to go.
func (b *Batcher) sendable() bool {
	switch n := len(b.mu.queue); {
	case n == 0:
		return false
	case n > 1 || b.mu.closed || b.mu.waiting > 0:
		return true
	case b.o.Linger > 0:
		return b.mu.queue[0].due
	}
	return b.mu.flying == 0
}

// takeTurn reports whether the caller is to send.
func (b *Batcher) takeTurn() bool {
	if b.mu.sending || !b.sendable() {
		return false
	}
	b.mu.sending = true
	return true
}

// send hands batches to the log for whoever has the turn, and gives the turn up at the end. A caller of Append sends one, its own
// as a rule, and leaves what came meanwhile to another goroutine.
func (b *Batcher) send(caller bool) {
	for first := true; ; first = false {
		b.mu.Lock()
		if !b.sendable() {
			b.mu.sending = false
			b.mu.Unlock()
			b.room.wake() // a Close may wait for the turn
			return
		}
		if caller && !first {
			b.mu.Unlock()
			go b.send(false)
			return
		}
		g := b.mu.queue[0]
		b.mu.queue[0] = nil
		b.mu.queue = b.mu.queue[1:]
		b.mu.flying++
		b.mu.Unlock()
		if !b.prepare(g) {
			continue
		}
		if b.hand(g) {
			continue
		}
		go func() { // the engine has no room: the turn waits, and the caller need not
			for {
				ready := make(chan struct{})
				b.l.e.Ready(func() { close(ready) })
				<-ready
				if b.hand(g) {
					break
				}
			}
			b.send(false)
		}()
		return
	}
}

// prepare makes the bytes of a batch, without the records that the log's rules refuse, and reports whether any is left.
func (b *Batcher) prepare(g *gathering) bool {
	rules := b.rules()
	rules.Now = b.l.e.opt.Now().UnixMilli()
	for {
		b.buf = g.builder.AppendTo(b.buf[:0])
		err := b.prepared.Prepare(b.buf, rules)
		if err == nil {
			return true
		}
		err = fmt.Errorf("append to %s: %w", b.l.name, err)
		if again := g.refuse(err); again != nil {
			b.finish(g, Appended{Err: again})
			return false
		}
		if g.builder.Count() == 0 {
			b.finish(g, Appended{})
			return false
		}
	}
}

// refuse takes the records out of a batch that err names. It returns the error of all of them where it names none.
func (g *gathering) refuse(err error) error {
	var bad *record.Error
	if !errors.As(err, &bad) || len(bad.Records) == 0 {
		return err
	}
	raw, left := g.builder.Bytes(), g.left(g.builder.Count())
	g.builder.Reset()
	names := bad.Records
	i := 0
	for r, walk := range raw.Records(0) {
		if walk != nil {
			return walk
		}
		if len(names) > 0 && names[0].Index == i {
			one := &record.Error{Kind: bad.Kind, Message: names[0].Message, Records: []record.RecordError{{Index: 0, Message: names[0].Message}}}
			g.refused = append(g.refused, refusal{left[i], fmt.Errorf("append: %w", one)})
			names = names[1:]
		} else {
			g.builder.Add(r.Timestamp, r.Key, r.Value, r.Headers...)
		}
		i++
	}
	return nil
}

// left returns the indexes of the n records that no refusal names.
func (g *gathering) left(n int) []int {
	gone := map[int]bool{}
	for _, r := range g.refused {
		gone[r.index] = true
	}
	var left []int
	for i := 0; len(left) < n; i++ {
		if !gone[i] {
			left = append(left, i)
		}
	}
	return left
}

// hand appends the batch that is prepared, and reports false where the engine has no room for it now.
func (b *Batcher) hand(g *gathering) bool {
	busy := false
	b.l.Append(&b.prepared, b.o.LeaderEpoch, func(a Appended) {
		if errors.Is(a.Err, ErrBusy) {
			busy = true // before Append returns
			return
		}
		b.finish(g, a)
	})
	return !busy
}

// finish answers a batch. It may run on a writer's goroutine: it hands over.
func (b *Batcher) finish(g *gathering, a Appended) {
	g.base, g.err = a.BaseOffset, a.Err
	close(g.done)
	b.mu.Lock()
	if b.mu.err == nil {
		b.mu.err = g.err
		if g.err == nil && len(g.refused) > 0 {
			b.mu.err = g.refused[0].err
		}
	}
	b.mu.flying--
	b.mu.bytes -= g.bytes
	if g.builder.Reset(); len(b.mu.free) < keptBuilders {
		b.mu.free = append(b.mu.free, g.builder)
	}
	g.builder = nil
	turn := b.takeTurn()
	b.mu.Unlock()
	b.room.wake()
	if turn {
		go b.send(false)
	}
}

// Close sends what is gathered and returns when all of it is answered, with the first error that a record had. An Append that
// comes later, or still waits for room, fails with ErrClosed.
func (b *Batcher) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	turn := b.takeTurn()
	b.mu.Unlock()
	b.room.wake()
	if turn {
		b.send(false)
	}
	for {
		b.mu.Lock()
		over, err, room := len(b.mu.queue) == 0 && b.mu.flying == 0 && !b.mu.sending, b.mu.err, b.room.arm()
		b.mu.Unlock()
		if over {
			return err
		}
		<-room
	}
}
