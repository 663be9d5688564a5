package engine

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// Readers find here what is in memory: staged runs, which no file has yet, and runs that were written past the page cache a
// moment ago. So that a reader at the end of a log does not read from the disk what was in memory, the buffers of the last direct
// writes are kept for it, within a bound for the whole directory, the oldest going first. Nothing is kept for logs that
// nobody reads at their end.

const (
	// recentBytes bounds the memory of buffers that are kept for readers, over all logs of a directory.
	recentBytes = 32 << 20
	// readLately is how long after a read at its end the buffers of a log are kept.
	readLately = 5 * time.Second
)

// recent is what is kept, in the order of the writes. Its lock comes before that of a log's list.
type recent struct {
	mu    sync.Mutex
	fifo  []*kept
	bytes int64
}

// kept is the records of one run.
type kept struct {
	log      *Log
	base     int64 // offset of the first record
	position int64 // in the file
	buf      []byte
	mem      *buffer // with one reference of ours once the run has none
	filled   atomic.Pointer[filled]
}

// filled is how much of a run readers may see: a staged one grows.
type filled struct {
	n   int   // bytes
	end int64 // offset after the last record
}

// ends returns the offset after the last record that readers may see.
func (k *kept) ends() int64 { return k.filled.Load().end }

// tailReads is a log's part in it.
type tailReads struct {
	mu   sync.Mutex
	list []*kept // ascending
	last time.Time
}

// keepRun takes the memory of a run that was written, if somebody reads the log at its end.
func (l *Log) keepRun(r *run) {
	l.tail.mu.Lock()
	wanted := time.Since(l.tail.last) < readLately
	l.tail.mu.Unlock()
	switch {
	case !wanted && r.staged:
		l.hideRun(r.readable)
		return
	case !wanted:
		return
	case !r.staged:
		l.showRun(r, record.Batch(r.buf).BaseOffset()).filled.Store(&filled{len(r.buf), r.end})
	}
	k := r.readable
	r.mem = nil
	rc := &l.e.recent
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.fifo = append(rc.fifo, k)
	rc.bytes += int64(len(k.mem.bytes))
	for rc.bytes > recentBytes {
		rc.drop(l.e)
	}
}

// showRun lets readers find a run, once filled says that there is something.
func (l *Log) showRun(r *run, base int64) *kept {
	k := &kept{log: l, base: base, position: r.position, buf: r.buf[:cap(r.buf)], mem: r.mem}
	k.filled.Store(&filled{0, base})
	r.readable = k
	l.tail.mu.Lock()
	defer l.tail.mu.Unlock()
	l.tail.list = append(l.tail.list, k)
	return k
}

// hideRun takes a run off: its records are in the file and in the page cache.
func (l *Log) hideRun(k *kept) {
	l.tail.mu.Lock()
	defer l.tail.mu.Unlock()
	if i := slices.Index(l.tail.list, k); i >= 0 {
		l.tail.list = slices.Delete(l.tail.list, i, i+1)
	}
}

// unstage lets go of a staged run whose records are in their file.
func (l *Log) unstage(r *run) error {
	if !r.staged {
		return nil
	}
	if err := l.e.stage.written(r.mem); err != nil { // while the slot is surely ours
		return err
	}
	if r.seg.Direct() {
		l.keepRun(r)
	} else {
		l.hideRun(r.readable)
	}
	return nil
}

// drop lets the oldest go. It is the oldest of its log too.
func (rc *recent) drop(e *Engine) {
	k := rc.fifo[0]
	rc.fifo[0] = nil
	rc.fifo = rc.fifo[1:]
	rc.bytes -= int64(len(k.mem.bytes))
	t := &k.log.tail
	t.mu.Lock()
	if len(t.list) > 0 && t.list[0] == k {
		t.list[0] = nil
		t.list = t.list[1:]
	}
	t.mu.Unlock()
	e.buffers.unref(k.mem)
}

// dropAll lets everything go: the engine is closed, or nobody has read for a while.
func (rc *recent) dropAll(e *Engine) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for len(rc.fifo) > 0 {
		rc.drop(e)
	}
	rc.fifo = nil
}

// forgetRecent makes the log's buffers unfindable: its end is about to be cut. They go as others do.
func (l *Log) forgetRecent() {
	l.tail.mu.Lock()
	defer l.tail.mu.Unlock()
	l.tail.list = nil
}

// readRecent sets the range to records in memory, and reports whether those from offset on are there.
func (r *Range) readRecent(l *Log, offset int64, maxBytes int, whole bool) bool {
	t := &l.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].ends() > offset })
	if i == len(t.list) || t.list[i].base > offset {
		return false
	}
	k := t.list[i]
	f := k.filled.Load()
	if f.end > r.HighWatermark {
		if r.HighWatermark = l.readable().offset; f.end > r.HighWatermark {
			return false // it is being staged at this moment, or the directory is offline
		}
	}
	var p segment.Place
	var err error
	if fault := k.mem.change(func() { p, err = segment.FindIn(k.buf[:f.n], offset) }); fault != nil || err != nil {
		return false
	}
	size := min(max(maxBytes, 0), f.n-int(p.Position))
	if size < p.Size {
		if !whole {
			return true // as an empty range
		}
		size = p.Size
	}
	k.mem.refs.Add(1)
	r.Mem, r.Size, r.Position = k.buf[p.Position:][:size], size, k.position+p.Position
	r.mem, r.buffers = k.mem, &l.e.buffers
	return true
}
