package api

// Fetch (key 1), versions 4 to 18.
//
// Behaviours that matter:
//   - what is there is answered at once if it is at least min bytes, if a partition has an error, or if max wait is 0;
//     else the request waits for records, at most max wait (and at most maxFetchWait), or until its client has gone
//   - an answer has fetch.max.bytes of records at most, and min bytes beyond that count as that
//   - the first batch of the first partition that has one comes as a whole, whatever the limits say; further ones only
//     within them
//   - read_committed ends at the last stable offset and has the list of aborted transactions, which is null where records are
//     there and none is in the answer; read_uncommitted has no list. The last stable offset is in either
//   - records are ranges of files, which go to the socket without a copy
//   - sessions (KIP-227): see fetch_session.go
//   - epochs (KIP-320): a current leader epoch that is not the partition's is FENCED_LEADER_EPOCH or
//     UNKNOWN_LEADER_EPOCH; a last fetched epoch that diverges is answered with where
//   - below version 10, zstd batches are UNSUPPORTED_COMPRESSION_TYPE
//   - from version 13 on topics are named by id
//
// The request is parsed in place and the answer is written by hand: see fetch_parse.go and fetch_answer.go.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// maxFetchWait bounds how long a request waits: a client that vanished is remembered so long.
const maxFetchWait = 5 * time.Minute

// maxAnswer bounds the records of an answer in bytes, whatever fetch.max.bytes says: its size is a signed 32-bit number.
const maxAnswer = 1 << 30

// defaultFetchMaxBytes is Kafka's default of fetch.max.bytes, 55 MiB.
const defaultFetchMaxBytes = 55 << 20

// inlineLook is how many partitions are looked at on an event loop, or on the writer that wakes a request: some 100
// microseconds. A reader looks at more.
const inlineLook = 200

// fetchLimits are the request's own limits.
type fetchLimits struct {
	replica   int32
	maxWait   time.Duration
	minBytes  int32
	maxBytes  int32
	isolation int8 // 0 read_uncommitted, 1 read_committed
}

// cap brings the limits under the broker's: more than an answer may have is not waited for.
func (l *fetchLimits) cap(most int32) {
	l.maxBytes = min(l.maxBytes, most, maxAnswer)
	l.minBytes = min(l.minBytes, l.maxBytes)
	l.maxWait = min(l.maxWait, maxFetchWait)
}

// A wanted partition is one that the request asks for, by itself or by its session.
type wanted struct {
	topic       string
	id          [16]byte
	index       int32
	epoch       int32 // current leader epoch, -1: not said
	lastEpoch   int32 // of the last record fetched, -1: not said
	offset      int64
	maxBytes    int32
	high, start int64 // as its session was last told
}

// A fetched partition is what was found for a wanted one.
type fetched struct {
	code      int16
	early     bool // the code is of a check before the read: the list of aborted transactions is then empty, not null
	r         engine.Range
	stable    int64               // last stable offset
	aborted   []engine.AbortedTxn // nil: null
	start     int64
	high      int64
	diverging bool
	divEpoch  int32
	divOffset int64
	leader    *partition.Partition // to be told of, with an error of epochs
}

// A fetchRequest is one request until it is answered.
type fetchRequest struct {
	b       *Broker
	r       *wire.Request
	limits  fetchLimits
	session *session // nil: none
	full    bool     // every partition is answered for, changed or not
	want    []wanted

	done  atomic.Bool // answered, or about to be; set under mu
	woken atomic.Bool // there is something to look at that nobody has looked at
	lost  atomic.Bool // the client has gone

	mu       sync.Mutex // held while a reader waits for a disk: see Wake
	denied   int16      // a code for all partitions
	got      []fetched
	patience dirSet // directories whose disks the look may wait for
	cold     dirSet // others, of which it did not see all for that
	asked    bool   // a reader is about to look
	timer    *time.Timer
	parts    []*partition.Partition // that it waits for
}

func (b *Broker) fetch(r *wire.Request) error {
	in, err := b.parseFetch(readerOf(r))
	if err != nil {
		return err
	}
	f := &fetchRequest{b: b, r: r}
	if code := f.begin(in); code != 0 {
		f.refuse(code)
		return nil
	}
	f.turn(func() bool { return f.see(false) })
	return nil
}

// turn lets the request go on: step, under the lock, reports whether it is to be answered with what was found last.
func (f *fetchRequest) turn(step func() bool) {
	f.mu.Lock()
	f.locked(step)
	f.rouse()
}

// locked is a turn under the lock, which it gives up. The answer leaves outside of it.
func (f *fetchRequest) locked(step func() bool) {
	if f.done.Load() || !step() {
		f.mu.Unlock()
		return
	}
	resp := f.answer()
	f.mu.Unlock()
	f.r.Send(resp)
}

// rouse looks at what the request was woken for, unless somebody has the lock: whoever does rouses it afterwards.
func (f *fetchRequest) rouse() {
	for f.woken.Load() && !f.done.Load() && f.mu.TryLock() {
		f.locked(func() bool {
			f.woken.Store(false)
			if f.lost.Load() {
				f.denied = kerr.UnknownServerError.Code // no look at the logs: the answer is nobody's
				f.look()
				return true
			}
			return !f.asked && f.see(false)
		})
	}
}

// see looks, and reports whether the request is to be answered now. Else it waits, or a reader is about to look, because
// that would keep whoever calls for too long. f is locked.
func (f *fetchRequest) see(reader bool) bool {
	if !reader {
		f.patience, f.cold = 0, 0
		if len(f.want) > inlineLook {
			f.ask()
			return false
		}
	}
	enough := f.look()
	switch {
	case enough:
		return true
	case f.cold != 0:
		f.ask()
		return false
	case f.timer != nil:
		f.drop()
		return false
	case f.limits.maxWait <= 0 || len(f.want) == 0:
		return true
	}
	f.wait()
	return f.see(reader)
}

// ask has a reader look, which waits for the disks of what was not seen: of those alone, so that a disk that hangs keeps nobody who needs nothing
// of it. What turns out to be of others meanwhile is asked for again. Asked twice before that, it looks once. f is locked.
func (f *fetchRequest) ask() {
	if f.asked {
		return
	}
	f.asked = true
	f.patience |= f.cold
	f.b.readers.do(f.patience, func() {
		f.turn(func() bool {
			f.asked = false
			return f.see(true)
		})
	})
}

// look reads what is there, and reports whether the request can be answered with it. f is locked.
func (f *fetchRequest) look() bool {
	f.drop()
	f.cold = 0
	left, whole, total, urgent := int64(f.limits.maxBytes), true, int64(0), false
	for i := range f.want {
		g := f.read(&f.want[i], left, whole)
		if g.r.Size > 0 {
			whole = false
			left -= int64(g.r.Size)
			total += int64(g.r.Size)
		}
		urgent = urgent || g.code != 0 || g.diverging
		f.got = append(f.got, g)
	}
	return f.cold == 0 && (urgent || total >= int64(f.limits.minBytes) || f.b.stopping.Load())
}

// drop lets go of what was found: files that retention wants to remove, and memory. f is locked.
func (f *fetchRequest) drop() {
	releaseAll(f.got)
	if f.got = f.got[:0]; cap(f.got) > inlineLook {
		f.got = nil
	}
}

func releaseAll(got []fetched) {
	for i := range got {
		got[i].r.Release()
	}
}

// wait arranges to be woken by records, by the time, or by the end of the connection. What came between the look and the
// arrangement is to be looked at once more. f is locked.
func (f *fetchRequest) wait() {
	f.timer = time.AfterFunc(f.limits.maxWait, f.expire)
	if !f.r.OnClose(f.gone) {
		f.limits.minBytes = 0 // nobody waits: the next look is the last
	}
	for i := range f.want {
		if p := f.b.partitionOf(&f.want[i]); p != nil {
			p.Await(f)
			f.parts = append(f.parts, p)
		}
	}
}

// Wake implements partition.Waiter: there is more in p, or p is gone. It does not wait for the lock, since whoever calls
// is a writer of the engine, and a reader may hold it as long as a disk takes.
func (f *fetchRequest) Wake(p *partition.Partition) {
	p.Await(f)
	if f.done.Load() {
		p.Forget(f) // leave may have been there before
		return
	}
	f.woken.Store(true)
	f.rouse()
}

// expire answers with what there is, as soon as that has been seen.
func (f *fetchRequest) expire() {
	f.turn(func() bool {
		f.limits.minBytes = 0
		return !f.asked && f.see(false)
	})
}

// gone ends a request whose client has gone.
func (f *fetchRequest) gone() {
	f.lost.Store(true)
	f.woken.Store(true)
	f.rouse()
}

// leave ends the wait. f is locked.
func (f *fetchRequest) leave() {
	f.done.Store(true)
	if f.timer != nil {
		f.timer.Stop()
	}
	for _, p := range f.parts {
		p.Forget(f)
	}
	f.parts = nil
}
