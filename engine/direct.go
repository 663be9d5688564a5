package engine

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// The direct writer: one goroutine with a queue of writes for all logs of the directory whose active segment is direct.
// Each log has one write in flight: what is appended meanwhile shares its next one, and no two writes in flight cover the
// same block. Different logs' writes overlap, and the device merges their flushes.
//
// A batch ends anywhere, and a direct write covers whole blocks. So the block in which the last write ended is kept
// (directState.tail) and written again in front of the next; the rest of the last block is zeros until then, and no
// reader looks behind Segment.Size.
//
//	|<- tail: written again ->|<- run ->|<- zeros ->|
//	block boundary            position              block boundary
type committer struct {
	e *Engine
	q fs.Queue

	mu     sync.Mutex
	inbox  []*Log
	closed bool

	// What follows is owned by the goroutine.
	flying  map[uint64]flight // by tag
	tag     uint64
	full    []*Log       // wait for room in the queue
	zeros   []byte       // what is laid ahead
	holders atomic.Int64 // segments that have zeros ahead of their records
	laid    atomic.Int64 // writes of zeros that have ended well
	filling int          // logs that zeros are being laid for
	done    chan struct{}
}

// A flight is a write that is with the kernel.
type flight struct {
	log   *Log
	zeros int64 // laid ahead, by this one: it ends there; 0 for a write of records
	flush bool  // it was written, and is being flushed; or it is to be, when the write has ended
}

// queueDepth bounds the writes in flight of a directory, zero-filling included.
const queueDepth = 128

// directState is a log's part in it, owned by whoever has the log as its writer.
type directState struct {
	seg   *segment.Segment // that tail and zero are of
	left  []*run           // taken and not written yet
	sync  bool             // the write in flight flushes itself: the mode may change under it
	began time.Time        // that write, where somebody asks
	tail  []byte           // the bytes of the file's last block that is not full
	zero  ahead
	runs  int  // small ones in a row, of a log that is direct because it was hot
	cold  bool // it is to be written through the page cache again
}

// committer returns the direct writer, starting it on first use.
func (e *Engine) committer() *committer {
	e.direct.once.Do(func() {
		q, err := e.newQueue()
		if err != nil {
			if !errors.Is(err, fs.ErrUnsupported) {
				e.log.Warn("no ring for direct writes", "error", err)
			}
			e.log.Info("io_uring is not to be had: durable appends of many logs cost more for it", "dir", e.opt.Dir)
			q = fs.NewPlainQueue(queueDepth)
		}
		c := &committer{e: e, q: q, flying: map[uint64]flight{}, done: make(chan struct{})}
		e.direct.c = c
		go c.run()
	})
	return e.direct.c
}

func (e *Engine) newQueue() (fs.Queue, error) {
	if e.opt.NoRing {
		return fs.NewPlainQueue(queueDepth), nil
	}
	return e.fs.NewQueue(queueDepth)
}

// lazyCommitter is the direct writer once it is wanted.
type lazyCommitter struct {
	once sync.Once
	c    *committer
}

// wantsDirect reports whether a new segment of a log with that configuration is to be written directly.
func (l *Log) wantsDirect(c *Config) bool {
	switch c.Writer {
	case WriterBuffered:
		return false
	case WriterAuto:
		return c.Sync() || l.w.hot.Load()
	}
	return true
}

// push hands a log over.
func (c *committer) push(l *Log) {
	c.mu.Lock()
	c.inbox = append(c.inbox, l)
	c.mu.Unlock()
	c.q.Wake()
}

// run is the goroutine.
func (c *committer) run() {
	runtime.LockOSThread() // the ring has one thread
	defer close(c.done)
	var ended []fs.Completion
	var begun []*Log
	for {
		c.mu.Lock()
		begun, c.inbox = append(c.inbox, c.full...), begun[:0]
		closed := c.closed
		c.mu.Unlock()
		c.full = c.full[:0]
		if closed && len(begun) == 0 && len(c.flying) == 0 {
			if err := c.q.Close(); err != nil {
				c.e.log.Warn("close the ring", "error", err)
			}
			return
		}
		c.begin(begun)
		clear(begun)
		var err error
		if ended, err = c.q.Wait(ended[:0]); err != nil {
			c.broken(err)
			return
		}
		c.end(ended)
	}
}

// begin starts the writes of logs. A single one with nothing in flight is a plain write: a ring pays from two on.
func (c *committer) begin(logs []*Log) {
	if len(logs) == 1 && len(c.flying) == 0 {
		c.writeAlone(logs[0])
		return
	}
	for _, l := range logs {
		c.next(l)
	}
}

// next pushes the next write of a log, or leaves the log to whom nextDirect gave it.
func (c *committer) next(l *Log) {
	c.layZeros(l)
	r := l.nextDirect()
	if r == nil {
		return
	}
	f, p, at, durable := l.block(r)
	dsync := durable && c.e.method() == SyncDsync
	c.tag++
	if !c.q.Push(f, p, at, dsync, c.tag) {
		c.full = append(c.full, l)
		return
	}
	c.flying[c.tag] = flight{log: l, flush: durable && !dsync}
}

// writeAlone writes for a log until nothing of it waits, or until others do.
func (c *committer) writeAlone(l *Log) {
	for {
		r := l.nextDirect()
		if r == nil {
			return
		}
		f, p, at, durable := l.block(r)
		dsync := durable && c.e.method() == SyncDsync
		err := f.Write(p, at, dsync)
		if err == nil && durable && !dsync {
			err = f.Datasync()
		}
		l.wrote(r, err)
		c.mu.Lock()
		others := len(c.inbox) > 0
		c.mu.Unlock()
		if z := &l.w.direct.zero; others || z.small >= smallSeen && z.wants(l.w.direct.seg.Size()) {
			c.next(l)
			return
		}
	}
}

// end takes the ends of writes.
func (c *committer) end(ended []fs.Completion) {
	for _, e := range ended {
		f, ok := c.flying[e.Tag]
		if !ok {
			continue
		}
		delete(c.flying, e.Tag)
		switch {
		case f.zeros > 0:
			c.zerosLaid(f, e.Err)
		case f.flush && e.Err == nil:
			c.flush(f.log)
		default:
			f.log.wrote(f.log.w.direct.left[0], e.Err)
			c.next(f.log)
		}
	}
}

// flush follows a write with an fdatasync, on devices where that is the faster way.
func (c *committer) flush(l *Log) {
	r := l.w.direct.left[0]
	f, err := r.seg.Writer(fs.Direct)
	if err == nil {
		c.tag++
		if c.q.PushSync(f, c.tag) {
			c.flying[c.tag] = flight{log: l}
			return
		}
		err = f.Datasync() // no room in the queue: this thread can wait as well
	}
	l.wrote(r, err)
	c.next(l)
}

// broken ends the writer after a failure of the ring itself: what is in flight is not known to have been written.
func (c *committer) broken(err error) {
	c.e.fail(fmt.Errorf("ring of %s: %w", c.e.opt.Dir, err))
	for _, f := range c.flying {
		f.log.w.direct.zero.flying = false
		f.log.giveUp()
	}
	c.flying = nil
	for _, l := range c.full {
		l.giveUp() // else its appends, and a stop, would wait for ever
	}
	c.full = nil
	for {
		c.mu.Lock()
		logs, closed := c.inbox, c.closed
		c.inbox = nil
		c.mu.Unlock()
		for _, l := range logs {
			l.giveUp()
		}
		if closed {
			return
		}
		time.Sleep(10 * time.Millisecond) // failing appends of a directory that is offline: nothing is urgent any more
	}
}

// close lets the goroutine go once nothing is in flight.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.q.Wake()
	<-c.done
}
