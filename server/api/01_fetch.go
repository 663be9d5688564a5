package api

// Fetch (key 1), versions 4 to 18.
//
// Behaviours that matter:
//   - what is there is answered at once if it is at least min bytes, if a partition has an error, or if max wait is 0;
//     else the request waits for records, at most max wait (and at most maxFetchWait)
//   - the first batch of the first partition that has one comes as a whole, whatever the limits say; further ones only
//     within them
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
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// maxFetchWait bounds how long a request waits: a client that vanished is remembered so long.
const maxFetchWait = 5 * time.Minute

// fetchLimits are the request's own limits.
type fetchLimits struct {
	replica   int32
	maxWait   time.Duration
	minBytes  int32
	maxBytes  int32
	isolation int8 // 0 read_uncommitted, 1 read_committed
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
	stable    int64 // last stable offset
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
	denied  int16 // a code for all partitions

	mu     sync.Mutex
	got    []fetched
	done   bool
	noWait bool // the look must not wait for a disk
	cold   bool // and so it did not see all
	timer  *time.Timer
	parts  []*partition.Partition // that it waits for
}

func (b *Broker) fetch(r *wire.Request) error {
	in, err := b.parseFetch(r)
	if err != nil {
		return err
	}
	f := &fetchRequest{b: b, r: r, limits: in.limits}
	if code := f.begin(in); code != 0 {
		f.refuse(code)
		return nil
	}
	f.first(true)
	return nil
}

// first looks for the first time. Where that would wait for a disk, a reader does it.
func (f *fetchRequest) first(noWait bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noWait = noWait
	enough := f.look()
	switch {
	case f.cold:
		f.b.readers.do(func() { f.first(false) })
	case enough || f.limits.maxWait <= 0 || len(f.want) == 0:
		f.answer()
	default:
		f.wait()
	}
}

// look reads what is there, and reports whether the request can be answered with it. f is locked.
func (f *fetchRequest) look() bool {
	f.drop()
	f.cold = false
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
	return urgent || total >= int64(f.limits.minBytes) || f.b.stopping.Load()
}

// drop lets go of what was found. f is locked.
func (f *fetchRequest) drop() {
	releaseAll(f.got)
	f.got = f.got[:0]
}

func releaseAll(got []fetched) {
	for i := range got {
		got[i].r.Release()
	}
}

// wait arranges to be woken by records or by the time. What came between the look and the arrangement is looked at
// once more. f is locked.
func (f *fetchRequest) wait() {
	for i := range f.want {
		if p := f.b.partitionOf(&f.want[i]); p != nil {
			p.Await(f)
			f.parts = append(f.parts, p)
		}
	}
	f.timer = time.AfterFunc(min(f.limits.maxWait, maxFetchWait), f.expire)
	f.again()
}

// again looks once more, for a request that waits. f is locked.
func (f *fetchRequest) again() {
	f.noWait = true
	enough := f.look()
	if f.cold {
		f.b.readers.do(f.againCold)
		return
	}
	if enough {
		f.answer()
	}
}

// againCold is again for a reader, which may wait for a disk.
func (f *fetchRequest) againCold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return
	}
	f.noWait = false
	if f.look() {
		f.answer()
	}
}

// Wake implements partition.Waiter: there is more in p, or p is gone.
func (f *fetchRequest) Wake(p *partition.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return
	}
	p.Await(f)
	f.again()
}

// expire answers with what there is.
func (f *fetchRequest) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.noWait = false // this is a goroutine of its own
		f.look()
		f.answer()
	}
}

// leave ends the wait. f is locked.
func (f *fetchRequest) leave() {
	f.done = true
	if f.timer != nil {
		f.timer.Stop()
	}
	for _, p := range f.parts {
		p.Forget(f)
	}
	f.parts = nil
}
