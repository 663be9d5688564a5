package engine

import (
	"errors"
	"fmt"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// nextDirect returns the log's next run for the direct writer. It returns nil where the log is out of its hands: nothing
// is pending, or something is to be done first that waits for a disk (a new segment, say), which a writer of the pool
// does and then gives the log back.
func (l *Log) nextDirect() *run {
	d := &l.w.direct
	for {
		if len(d.left) == 0 && !l.takeDirect() {
			return nil
		}
		r := d.left[0]
		d.sync = syncs(l.config.Load(), r)
		switch {
		case l.Err() != nil:
			l.giveUp()
			return nil
		case len(r.buf) == 0 && !r.rolled && !(d.sync && l.unflushed()):
			l.answered(r)
			continue
		case l.blockedByZeros(r):
			return nil // zerosLaid goes on
		case l.cools(r), r.rolled || !r.seg.Direct() || !r.seg.Open() || d.sync && l.unflushed() || l.w.syncFrom.Load() >= 0 && !l.promised(d.sync, r):
			l.errand()
			return nil
		}
		return r
	}
}

// takeDirect takes what is pending, or lets the log go and reports false.
func (l *Log) takeDirect() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.mu.idle.Broadcast()
	d := &l.w.direct
	if l.takeable() == 0 {
		if d.zero.flying {
			l.mu.parked = true // the zeros must be there before anybody else may touch the file
		} else {
			l.mu.busy = false
		}
		return false
	}
	d.left = l.takePending(d.left)
	return true
}

// errand hands the log to the pool, once no zeros are being laid.
func (l *Log) errand() {
	if l.w.direct.zero.flying {
		l.w.direct.zero.errand = true
		return
	}
	l.e.writers(l.config.Load()).push(l)
}

// promised reports whether a write keeps what a recovery counts on in sync mode.
func (l *Log) promised(sync bool, r *run) bool { return sync && len(r.buf) <= flightBytes }

// unflushed reports whether records were written and not flushed.
func (l *Log) unflushed() bool {
	return l.flushed.Load().offset < l.written.Load().offset || !l.namesDurable()
}

// block lays out the blocks of a run's write: see committer.
func (l *Log) block(r *run) (f fs.File, p []byte, at int64, durable bool) {
	if l.w.planted.early {
		l.answerEarly(l.w.direct.left[:1])
	}
	l.w.direct.began = clock(l.e.opt.Metrics.Write != nil)
	head := int(r.position % fs.BlockSize)
	if head != len(l.w.direct.tail) {
		panic(fmt.Sprintf("engine: %d bytes of the last block of %s are kept at position %d", len(l.w.direct.tail), r.seg.Path(), r.position))
	}
	f, err := r.seg.Writer(fs.Direct)
	if err != nil {
		panic(err) // it is open: nextDirect has looked
	}
	n := head + len(r.buf)
	end := (n + fs.BlockSize - 1) / fs.BlockSize * fs.BlockSize
	mem := r.mem.bytes
	err = r.mem.change(func() {
		copy(mem[:head], l.w.direct.tail)
		clear(mem[n:end])
	})
	if err != nil {
		l.e.fail(err) // the write will be of no consequence: written looks at what failed
	}
	return f, mem[:end], r.position - int64(head), l.w.direct.sync
}

// wrote takes the end of a run's direct write, moves the marks and answers.
func (l *Log) wrote(r *run, err error) {
	if err == nil {
		l.e.opt.Metrics.wrote(len(r.buf), l.w.direct.began)
		err = l.advance(r)
	}
	if err != nil {
		l.e.fail(fmt.Errorf("write %d bytes at position %d of %s: %w", len(r.buf), r.position, r.seg.Path(), err))
	}
	l.answered(r)
}

func (l *Log) advance(r *run) error {
	cfg := l.config.Load()
	d := &l.w.direct
	end := r.position + int64(len(r.buf))
	mem := r.mem.bytes[:int(r.position%fs.BlockSize)+len(r.buf)]
	d.tail = append(d.tail[:0], mem[len(mem)-int(end%fs.BlockSize):]...)
	d.zero.passed(end)
	d.zero.seen(len(r.buf), d.sync)
	r.seg.Extend(end)
	m := &mark{r.end, r.seg, end}
	l.w.beyond.Add(int64(len(r.buf)))
	l.w.messages.Add(r.messages)
	switch {
	case d.sync:
		l.w.messages.Store(0)
		l.raiseFlushed(m)
	case cfg.FlushMessages > 1 && l.w.messages.Load() >= cfg.FlushMessages:
		if err := l.flushTo(m); err != nil {
			return err
		}
	}
	if d.sync {
		l.promise(m.offset)
	}
	if !r.staged {
		l.keepRun(r) // before anybody reads there
	}
	l.written.Store(m)
	l.raiseHigh(m)
	if err := l.unstage(r); err != nil {
		return err
	}
	l.arrangeFlush(cfg)
	return nil
}

// answered acknowledges the first of the runs that are left, and takes it off.
func (l *Log) answered(r *run) {
	d := &l.w.direct
	l.acknowledge(d.left[:1])
	n := copy(d.left, d.left[1:])
	d.left[n] = nil
	d.left = d.left[:n]
	l.mu.Lock()
	l.mu.idle.Broadcast()
	l.mu.Unlock()
}

// giveUp refuses everything that waits, for a directory that is offline.
func (l *Log) giveUp() {
	d := &l.w.direct
	for {
		for len(d.left) > 0 {
			l.answered(d.left[0])
		}
		if !l.takeDirect() {
			return
		}
	}
}

// prepareDirect makes the segment of a run ready for direct writes, in the pool. Where its file system has no direct
// writes the segment is written through the page cache.
func (l *Log) prepareDirect(r *run) error {
	if r.rolled {
		if err := l.seal(r); err != nil {
			return err
		}
	}
	if !l.w.made.Load() {
		if err := l.makeFolder(); err != nil {
			return err
		}
	}
	if !r.seg.Open() {
		_, err := l.openActive(r.seg, fs.Direct)
		if errors.Is(err, fs.ErrUnsupported) {
			l.e.log.Info("no direct writes on this file system", "dir", l.e.opt.Dir)
			l.e.noDirect.Store(true)
			l.w.hot.Store(false)
			r.seg.SetDirect(false, false)
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.loadTail(r.seg); err != nil {
			return err
		}
	}
	r.rolled = false
	sync := syncs(l.config.Load(), r)
	if !l.promised(sync, r) {
		if err := l.unpromise(); err != nil {
			return err
		}
	}
	if sync {
		if err := l.flushTo(l.written.Load()); err != nil {
			return err
		}
		return l.syncNames()
	}
	return nil
}

// loadTail reads the last block of a segment's file, where that is not full.
func (l *Log) loadTail(s *segment.Segment) error {
	d := &l.w.direct
	size := s.Size()
	d.seg = s
	l.dropZeros()
	// What was seen of the log's commits holds for the new segment, too.
	d.zero = ahead{end: (size + fs.BlockSize - 1) / fs.BlockSize * fs.BlockSize, small: max(d.zero.small, 0)}
	d.tail = make([]byte, size%fs.BlockSize, fs.BlockSize)
	if len(d.tail) == 0 {
		return nil
	}
	var f fs.File
	var err error
	patient{l.e.fs, l.e}.wait(func() error {
		f, err = s.Acquire()
		return err
	})
	if err != nil {
		return err
	}
	defer s.Release()
	if _, err := f.ReadAt(d.tail, size-int64(len(d.tail))); err != nil {
		return fmt.Errorf("read the last block of %s: %w", s.Path(), err)
	}
	return nil
}
