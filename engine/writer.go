package engine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// writing is the state of a log's write side. What is not atomic is owned by whoever has the log as its writer.
type writing struct {
	taken []*run // spare for take

	made        atomic.Bool           // the folder is there
	named       atomic.Int64          // creates and renames in the folder so far
	synced      atomic.Int64          // how many of them are known to be durable
	identified  atomic.Bool           // partition.metadata is there
	folder      atomic.Bool           // the folder's own name is not yet durable
	gone        atomic.Bool           // the folder is renamed for good: the log was deleted
	aside       atomic.Bool           // and it is to be kept
	syncFrom    atomic.Int64          // see point
	closed      atomic.Pointer[error] // why the files are closed
	files       sync.Mutex            // serialises the small files of the folder
	naming      sync.Mutex            // serialises the flushes of the folder
	messages    atomic.Int64          // written and not flushed, for flush.messages
	beyond      atomic.Int64          // bytes written beyond the recovery point
	unanswered  atomic.Int64          // appends that wait for a writer
	armed       atomic.Bool           // the timer of flush.ms runs
	flushQueued atomic.Bool           // a flusher has the log in its queue
	unknown     atomic.Bool           // the next start has to look at the folder, whatever happens to it
	dirty       atomic.Bool           // the next checkpoint knows that the log was written

	listed atomic.Bool // in Engine.open
	evict  atomic.Bool // the flusher that comes next closes the descriptor
	staged atomic.Bool // something of the log was in the stage

	large int         // staged runs of hotRun bytes in a row
	hot   atomic.Bool // and so new segments are written directly

	direct directState

	planted planted
}

// take moves what is left over, and what is pending, to the writer.
func (l *Log) take() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := append(l.w.taken[:0], l.w.direct.left...)
	clear(l.w.direct.left)
	l.w.direct.left = l.w.direct.left[:0]
	l.w.taken = nil
	return l.takePending(taken)
}

// write is one turn of a writer with a log: what is pending for buffered segments goes to the files, then the
// acknowledgements go out. What is for a direct segment is left to the direct writer, once the segment is ready for it.
func (e *Engine) write(l *Log) {
	taken := l.take()
	if err := l.chooseWriter(taken); err != nil {
		e.fail(err)
	}
	cfg := l.config.Load() // of the whole turn: what it takes and how that is written belong together
	n := turn(taken, syncs(cfg, taken...))
	if err := l.writeRuns(taken[:n], cfg); err != nil {
		e.fail(err)
	}
	l.acknowledge(taken[:n])
	if n < len(taken) && taken[n].seg.Direct() && l.Err() == nil {
		if err := l.prepareDirect(taken[n]); err != nil {
			e.fail(err)
		}
	}
	l.w.direct.left = append(l.w.direct.left, taken[n:]...)
	clear(taken)
	l.w.taken = taken[:0]
	l.leave()
}

// leave ends a writer's turn: the log goes to whoever has the next work with it.
func (l *Log) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.mu.idle.Broadcast() // at the end: the lock is given up in between
	switch {
	case len(l.w.direct.left) > 0 && l.Err() != nil:
		l.mu.Unlock()
		l.refuseLeft()
		l.mu.Lock()
		l.leaveLocked()
	case len(l.w.direct.left) > 0 && l.w.direct.left[0].seg.Direct():
		l.e.committer().push(l)
	default:
		l.leaveLocked()
	}
}

// leaveLocked lets the log go, or queues it again where more waits.
func (l *Log) leaveLocked() {
	if len(l.w.direct.left) > 0 || l.takeable() > 0 {
		l.e.writers(l.config.Load()).push(l)
	} else {
		l.mu.busy = false
	}
}

// refuseLeft answers what was left over with the error that took the log offline.
func (l *Log) refuseLeft() {
	left := l.w.direct.left
	l.acknowledge(left)
	clear(left)
	l.w.direct.left = left[:0]
}

// writeRuns brings the runs to the files, and where the mode asks for it to stable storage, and moves the marks.
func (l *Log) writeRuns(taken []*run, cfg *Config) error {
	if len(taken) == 0 || l.Err() != nil {
		return nil // acknowledge says so to each
	}
	var messages int64
	for _, r := range taken {
		messages += r.messages
	}
	sync := syncs(cfg, taken...)
	durable := sync || cfg.FlushMessages > 1 && l.w.messages.Load()+messages >= cfg.FlushMessages
	// One run with everything before it flushed is flushed by its own write.
	alone := durable && len(taken) == 1 && l.e.method() == SyncDsync && l.flushed.Load().offset == l.written.Load().offset
	flushed := false
	if !sync || len(taken[0].buf) > flightBytes {
		if err := l.unpromise(); err != nil {
			return err
		}
	}
	began, bytes := clock(l.e.opt.Metrics.Write != nil), 0
	for _, r := range taken {
		bytes += len(r.buf)
		var err error
		if flushed, err = l.writeRun(r, alone); err != nil {
			return err
		}
	}
	last := taken[len(taken)-1]
	m := &mark{last.end, last.seg, last.position + int64(len(last.buf))}
	l.w.messages.Add(messages)
	if flushed {
		l.w.messages.Store(0)
		l.raiseFlushed(m)
	} else if durable {
		if l.w.planted.early {
			l.answerEarly(taken)
		}
		if err := l.flushTo(m); err != nil {
			return err
		}
	}
	if bytes > 0 {
		l.e.opt.Metrics.wrote(bytes, began)
	}
	if sync {
		l.promise(m.offset)
	}
	l.written.Store(m)
	l.raiseHigh(m)
	for _, r := range taken {
		if err := l.unstage(r); err != nil {
			return err
		}
	}
	l.arrangeFlush(cfg)
	return nil
}

// noteDirty has the next checkpoint look at the log.
func (l *Log) noteDirty() {
	if l.w.dirty.CompareAndSwap(false, true) {
		l.e.dirty.add(l)
	}
}

// writeRun writes one run, after sealing the segment before it where it starts one. With durable the write is one that
// flushes itself, if that is all that is needed: a file whose name may be lost is not flushed by its content. It reports
// whether the write was; the names may become durable right after it, so nobody can tell later.
func (l *Log) writeRun(r *run, durable bool) (flushed bool, err error) {
	if r.rolled {
		if err := l.seal(r); err != nil {
			return false, err
		}
	}
	if len(r.buf) == 0 {
		if r.rolled {
			_, err = l.openActive(r.seg, 0)
		}
		return false, err
	}
	if !l.w.made.Load() {
		if err := l.makeFolder(); err != nil {
			return false, err
		}
	}
	f, err := l.openActive(r.seg, 0)
	if err != nil {
		return false, err
	}
	durable = durable && l.namesDurable()
	noted := !durable && l.e.stage.beginWrite()
	err = f.Write(r.buf, r.position, durable)
	if noted {
		l.e.stage.endWrite()
	}
	if err != nil {
		return false, fmt.Errorf("write %d bytes at position %d of %s: %w", len(r.buf), r.position, f.Name(), err)
	}
	l.w.beyond.Add(int64(len(r.buf)))
	r.seg.Extend(r.position + int64(len(r.buf)))
	return durable, nil
}

// openActive returns the writer's descriptor of a segment, and shows the segment to readers when its file is new.
func (l *Log) openActive(s *segment.Segment, flag int) (fs.File, error) {
	fresh := !s.Open()
	f, err := s.Writer(flag)
	if err == nil && fresh {
		l.w.named.Add(1)
		l.show(s)
		l.e.open.opened(l.e, l)
	}
	return f, err
}

// show adds a segment to the view unless it is there.
func (l *Log) show(s *segment.Segment) {
	l.changeView(func(v []*segment.Segment) []*segment.Segment {
		if n := len(v); n > 0 && v[n-1] == s {
			return v
		}
		return append(append(make([]*segment.Segment, 0, len(v)+1), v...), s)
	})
}

// changeView replaces what readers see. change must not alter what it is given.
func (l *Log) changeView(change func([]*segment.Segment) []*segment.Segment) {
	for {
		old := l.view.Load()
		next := change(*old)
		if l.view.CompareAndSwap(old, &next) {
			return
		}
	}
}

// acknowledge answers the appends of the runs that wait for it, and gives the runs' memory back.
func (l *Log) acknowledge(taken []*run) {
	err := l.Err()
	start := l.start.Load()
	waited := int64(0)
	for _, r := range taken {
		waited += int64(len(r.acks))
		for _, a := range r.acks {
			a.result.LogStartOffset = start
			if err != nil {
				a.result = Appended{BaseOffset: -1, LastOffset: -1, LogStartOffset: start, LogAppendTimeMs: -1, Err: err}
			}
			a.done(a.result)
		}
	}
	l.w.unanswered.Add(-waited)
	for _, r := range taken {
		if err != nil && r.staged {
			l.hideRun(r.readable) // it was not written, and its memory goes
		}
		l.e.release(int64(len(r.buf)))
		l.e.recycle(r)
	}
	if waited > 0 && err == nil {
		l.advanced()
	}
}
