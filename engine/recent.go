package engine

import (
	"sort"
	"sync"
	"time"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// What a direct write has put on the disk is not in the page cache. So that a reader at the end of such a log does not
// read from the disk what was in memory a moment ago, the buffers of the last writes are kept for it, within a bound
// for the whole directory, the oldest going first. Nothing is kept for logs that nobody reads at their end.

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

// kept is the records of one direct write.
type kept struct {
	log       *Log
	seg       *segment.Segment
	base, end int64 // offsets
	position  int64 // in the file
	buf       []byte
	mem       *buffer // with one reference of ours
}

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
	if !wanted {
		return
	}
	k := &kept{log: l, seg: r.seg, base: record.Batch(r.buf).BaseOffset(), end: r.end, position: r.position, buf: r.buf, mem: r.mem}
	r.mem = nil
	rc := &l.e.recent
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.fifo = append(rc.fifo, k)
	rc.bytes += int64(len(k.mem.bytes))
	l.tail.mu.Lock()
	l.tail.list = append(l.tail.list, k)
	l.tail.mu.Unlock()
	for rc.bytes > recentBytes {
		rc.drop(l.e)
	}
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
func (r *Range) readRecent(l *Log, s *segment.Segment, offset int64, maxBytes int, whole bool) bool {
	t := &l.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].end > offset })
	if i == len(t.list) || t.list[i].base > offset || t.list[i].seg != s || t.list[i].end > r.HighWatermark {
		return false
	}
	k := t.list[i]
	p, err := segment.FindIn(k.buf, offset)
	if err != nil {
		return false
	}
	size := min(max(maxBytes, 0), len(k.buf)-int(p.Position))
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
