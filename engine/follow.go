package engine

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine/record"
)

// followBytes is how much a follower reads at a time: a few milliseconds of a disk, and little enough for a thousand followers.
const followBytes = 256 << 10

// manyWaiters is how many who wait for one log are woken by its writer itself; more are woken beside it.
const manyWaiters = 64

// waiters is who waits for something to happen. Its zero value is nobody; while there is nobody, wake is one load.
type waiters struct {
	any  atomic.Bool
	mu   sync.Mutex
	next chan struct{} // closed by the next wake; nil where nobody waits for it
	n    int           // how many asked for next
}

// arm returns a channel that the next wake closes. Who waits looks first, arms, looks again, and then waits: what happens
// between the first look and the arming would wake nobody.
func (w *waiters) arm() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = make(chan struct{})
		w.any.Store(true)
	}
	w.n++
	return w.next
}

// wake lets everybody go on who has armed. It never waits for them.
func (w *waiters) wake() {
	if !w.any.Load() {
		return
	}
	w.mu.Lock()
	next, n := w.next, w.n
	w.next, w.n = nil, 0
	w.any.Store(false)
	w.mu.Unlock()
	switch {
	case next == nil: // somebody else did
	case n > manyWaiters:
		go close(next) // makes each of them ready, which is too much for a writer
	default:
		close(next)
	}
}

// advanced tells whoever wants to know that the high watermark has moved.
func (l *Log) advanced() {
	l.followers.wake()
	if l.e.opt.OnAdvance != nil {
		l.e.opt.OnAdvance(l)
	}
}

// over returns why nothing will come any more behind what can be read now, or nil.
func (l *Log) over() error {
	if p := l.w.closed.Load(); p != nil {
		return fmt.Errorf("follow %s: %w", l.name, *p)
	}
	return l.Err()
}

// Wait returns nil as soon as the high watermark is above offset, which may be any: with the high watermark itself it waits
// for the next record. It returns the error of ctx once that is done, ErrDeleted or ErrClosed where the log or the engine goes, and
// ErrOffline where it fails, in each case unless the high watermark is above offset already. Waiting is not polling, and
// takes no thread. Writers do not wait for who waits.
func (l *Log) Wait(ctx context.Context, offset int64) error {
	return l.await(ctx, func() bool { return l.HighWatermark() > offset })
}

// await returns once there is what the caller looks for, which only an advance of the log brings.
func (l *Log) await(ctx context.Context, there func() bool) error {
	for {
		if there() {
			return nil
		}
		moved, broken := l.followers.arm(), l.e.broken.arm()
		if err := l.over(); err != nil {
			if there() {
				return nil
			}
			return err
		}
		if there() {
			return nil
		}
		select {
		case <-moved:
		case <-broken:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Follow yields the committed records from an offset on, in order, and at the end of the log waits for more, until the loop is
// left or ctx is done. Records of aborted transactions and markers are passed over; a transaction that is open holds up
// what lies behind it (LastStableOffset).
//
// It ends by itself with one error, which comes with no record:
//
//	ctx.Err()             ctx is done; it is looked at before every record
//	ErrOffsetOutOfRange   the offset is behind the end, or retention or DeleteRecordsTo has passed it: before the first record, or
//	                      when a follower is so slow that the log start overtakes it. The error says where the log is
//	ErrDeleted, ErrClosed the log or the engine is gone
//	ErrOffline            the directory has failed, and what it had flushed was yielded; or the log's files are corrupt
//	*record.Error         a stored batch is not what its checksum says
//
// Between two records a follower holds no lock, no file and nothing of the engine's memory, so that it may be as slow as it likes. What
// it has is a copy of one read: 256 KiB, or one batch where that is larger. Key, Value and Headers of a record are the
// caller's to keep; records of one read share memory, which goes with the last of them.
//
// A follower is not told of a Truncate that takes what it has yielded already and is over before it looks again.
func (l *Log) Follow(ctx context.Context, offset int64) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		f := follower{l: l, ctx: ctx, next: offset, yield: yield}
		for f.step() {
		}
	}
}

// A follower is one run of Follow's loop.
type follower struct {
	l     *Log
	ctx   context.Context
	next  int64 // offset of the first record that is still to come
	yield func(record.Record, error) bool

	aborting map[int64]struct{} // producers that are in the middle of a transaction that was aborted
	aborted  []AbortedTxn       // of the present read, those that were not come to yet
}

// step yields what one read finds, after waiting for it, and reports whether the loop goes on.
func (f *follower) step() bool {
	if err := f.ctx.Err(); err != nil {
		return f.end(err)
	}
	var b []byte
	var err error
	over := f.l.await(f.ctx, func() bool {
		b, err = f.read()
		return err != nil || len(b) > 0
	})
	switch {
	case err != nil:
		return f.end(err)
	case over != nil:
		return f.end(over)
	}
	return f.batches(b)
}

func (f *follower) end(err error) bool {
	f.yield(record.Record{}, err)
	return false
}

// read returns a copy of the next batches, the last of which may be cut off, or nothing at the end of the log.
func (f *follower) read() ([]byte, error) {
	c, err := f.l.ReadCommitted(f.next, followBytes, true)
	if err != nil || c.Size == 0 {
		return nil, err
	}
	defer c.Release()
	f.aborted = c.Aborted
	return c.Bytes()
}

// batches yields the records of whole batches and reports whether the loop goes on.
func (f *follower) batches(b []byte) bool {
	for len(b) > 0 {
		var batch record.Batch
		var err error
		if batch, b, err = record.Next(b); err != nil {
			break // cut off by the limit: the next read begins with it
		}
		if err := batch.Check(); err != nil {
			return f.end(fmt.Errorf("follow %s at offset %d: %w", f.l.name, f.next, err))
		}
		if f.shows(batch) && !f.records(batch) {
			return false
		}
		f.next = max(f.next, batch.LastOffset()+1)
	}
	return true
}

// shows reports whether a batch has records for readers of what is committed, as Kafka's consumer decides it.
func (f *follower) shows(batch record.Batch) bool {
	rest := f.aborted[:0]
	for _, t := range f.aborted {
		if t.FirstOffset > batch.LastOffset() {
			rest = append(rest, t)
			continue
		}
		if f.aborting == nil {
			f.aborting = map[int64]struct{}{}
		}
		f.aborting[t.ProducerID] = struct{}{}
	}
	f.aborted = rest
	if batch.IsControl() {
		if m, ok := batch.EndTxn(); ok && !m.Commit {
			delete(f.aborting, batch.ProducerID())
		}
		return false
	}
	_, aborted := f.aborting[batch.ProducerID()]
	return !aborted || !batch.IsTransactional()
}

// records yields the records of a batch from the next offset on and reports whether the loop goes on.
func (f *follower) records(batch record.Batch) bool {
	for r, err := range batch.Records(f.l.Config().Rules.MaxDecompressedBytes) {
		if err == nil {
			err = f.ctx.Err()
		} else {
			err = fmt.Errorf("follow %s at offset %d: %w", f.l.name, f.next, err)
		}
		if err != nil {
			return f.end(err)
		}
		if r.Offset < f.next {
			continue // the first batch may begin earlier
		}
		f.next = r.Offset + 1
		if !f.yield(r, nil) {
			return false
		}
	}
	return true
}
