package engine

import (
	"fmt"
	"os"
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
	syncFrom    atomic.Int64          // see point
	closed      atomic.Pointer[error] // why the files are closed
	files       sync.Mutex            // serialises the small files of the folder
	messages    atomic.Int64          // written and not flushed, for flush.messages
	beyond      atomic.Int64          // bytes written beyond the recovery point
	armed       atomic.Bool           // the timer of flush.ms runs
	flushQueued atomic.Bool           // a flusher has the log in its queue
	dirty       atomic.Bool           // the next checkpoint knows that the log was written

	direct directState

	planted planted
}

// planted are bugs that the tests of the crash tests put in. Nothing else sets them, and only before the first append.
type planted struct {
	early   bool // an acknowledgement leaves before the flush
	doubled bool // a duplicate is acknowledged before the original is flushed
}

// answerEarly is the first of them.
func (l *Log) answerEarly(taken []*run) {
	for _, r := range taken {
		for _, a := range r.acks {
			a.done(a.result)
		}
		r.acks = nil
	}
}

// flightBytes bounds what of a sync log is written and not flushed at a time. Recovery counts on it: see point.syncFrom.
// One run may be larger; the promise is taken back before it is written.
const flightBytes = 16 << 20

// take moves what is left over, and what is pending, to the writer.
func (l *Log) take() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := append(l.w.taken[:0], l.w.direct.left...)
	clear(l.w.direct.left)
	l.w.direct.left = l.w.direct.left[:0]
	taken = append(taken, l.mu.pending...)
	clear(l.mu.pending)
	l.mu.pending, l.w.taken = l.mu.pending[:0], nil
	return taken
}

// write is one turn of a writer with a log: what is pending for buffered segments goes to the files, then the
// acknowledgements go out. What is for a direct segment is left to the direct writer, once the segment is ready for it.
func (e *Engine) write(l *Log) {
	taken := l.take()
	n := l.turn(taken)
	if err := l.writeRuns(taken[:n]); err != nil {
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

// turn returns how many of the runs are written through the page cache before the next flush: at least one that is not
// direct, and for a sync log no more than may be in flight.
func (l *Log) turn(taken []*run) (n int) {
	bytes, sync := 0, l.config.Load().Sync()
	for n < len(taken) && !taken[n].seg.Direct() {
		if bytes += len(taken[n].buf); n > 0 && sync && bytes > flightBytes {
			break
		}
		n++
	}
	return n
}

// unpromise takes back, durably, that the log is in sync mode, before a write that is not or is larger than what may be
// in flight.
func (l *Log) unpromise() error {
	if l.w.syncFrom.Swap(-1) < 0 {
		return nil
	}
	return l.e.writeCheckpoints()
}

// promise says that from here on nothing is written before what precedes it is flushed. A checkpoint makes it known.
func (l *Log) promise(offset int64) { l.w.syncFrom.CompareAndSwap(-1, offset) }

// leave ends a writer's turn: the log goes to whoever has the next work with it.
func (l *Log) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.idle.Broadcast()
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
	if len(l.w.direct.left) > 0 || len(l.mu.pending) > 0 {
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
func (l *Log) writeRuns(taken []*run) error {
	if len(taken) == 0 || l.Err() != nil {
		return nil // acknowledge says so to each
	}
	cfg := l.config.Load()
	var messages int64
	for _, r := range taken {
		messages += r.messages
	}
	durable := cfg.Sync() || cfg.FlushMessages > 1 && l.w.messages.Load()+messages >= cfg.FlushMessages
	// One run with everything before it flushed is flushed by its own write.
	alone := durable && len(taken) == 1 && l.e.method() == SyncDsync && l.flushed.Load().offset == l.high.Load().offset
	flushed := false
	if !cfg.Sync() || len(taken[0].buf) > flightBytes {
		if err := l.unpromise(); err != nil {
			return err
		}
	}
	for _, r := range taken {
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
	if cfg.Sync() {
		l.promise(m.offset)
	}
	l.high.Store(m)
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
	if err := f.Write(r.buf, r.position, durable); err != nil {
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

// makeFolder makes the log's folder.
func (l *Log) makeFolder() error {
	if err := l.e.fs.MkdirAll(l.dir); err != nil {
		return err
	}
	l.w.made.Store(true)
	l.w.folder.Store(true)
	l.w.named.Add(1)
	return nil
}

// seal ends the segment before r's: its index entries go to their files, and the producers' state at its end beside
// it. A sync log's bytes are flushed already; an async log's are by the next flush, which closes the descriptor.
func (l *Log) seal(r *run) error {
	segs := *l.view.Load()
	if len(segs) > 0 {
		last := segs[len(segs)-1]
		if err := last.SealIndexes(); err != nil {
			return err
		}
		if err := last.Trim(); err != nil {
			return err
		}
		l.dropZeros()
	}
	if !l.w.made.Load() {
		if err := l.makeFolder(); err != nil {
			return err
		}
	}
	name := segment.Name(l.dir, r.seg.Base, segment.SnapshotSuffix)
	if err := l.writeFile(name, r.snapshot); err != nil {
		return err
	}
	return l.writeEpochs()
}

// writeFile replaces a small file of the folder. A crash may leave it short or stale: its reader checks it.
func (l *Log) writeFile(name string, b []byte) error {
	l.w.files.Lock()
	defer l.w.files.Unlock()
	f, err := l.e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	err = f.Write(b, 0, false)
	if err == nil {
		err = f.Datasync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	l.w.named.Add(1)
	return err
}

// acknowledge answers the appends of the runs and gives their memory back.
func (l *Log) acknowledge(taken []*run) {
	err := l.Err()
	start := l.start.Load()
	for _, r := range taken {
		for _, a := range r.acks {
			a.result.LogStartOffset = start
			if err != nil {
				a.result = Appended{BaseOffset: -1, LastOffset: -1, LogStartOffset: start, LogAppendTimeMs: -1, Err: err}
			}
			a.done(a.result)
		}
	}
	for _, r := range taken {
		l.e.release(int64(len(r.buf)))
		l.e.recycle(r)
	}
	if len(taken) > 0 && err == nil && l.e.opt.OnAdvance != nil {
		l.e.opt.OnAdvance(l)
	}
}
