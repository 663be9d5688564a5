package engine

import (
	"fmt"
	"time"
)

// Flush puts every record that was appended before the call on stable storage and returns then. Its error is final for
// the directory.
func (l *Log) Flush() error {
	l.mu.Lock()
	end := l.mu.end
	for l.mu.busy && l.high.Load().offset < end && l.Err() == nil {
		l.mu.idle.Wait()
	}
	l.mu.Unlock()
	return l.flushWritten()
}

// flushWritten flushes what is written, and takes the directory offline if that fails.
func (l *Log) flushWritten() error {
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.flushTo(l.high.Load()); err != nil {
		l.e.fail(err)
		return offline(err)
	}
	return nil
}

// flushTo puts everything below m, which is written, on stable storage. All segments that were written since the last
// flush are flushed, then the names of files that are new, then the mark moves. The error is final: the caller takes
// the directory offline.
func (l *Log) flushTo(m *mark) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	from := l.flushed.Load()
	if from.offset >= m.offset {
		return nil
	}
	l.w.bytes.Store(0)
	l.w.messages.Store(0)
	for _, s := range *l.view.Load() {
		if s.Base < from.seg.Base || s.Base > m.seg.Base {
			continue
		}
		if err := s.Flush(); err != nil {
			return fmt.Errorf("flush %s: %w", s.Path(), err)
		}
	}
	if err := l.syncNames(); err != nil {
		return err
	}
	l.raiseFlushed(m)
	return l.closeFlushed(m)
}

// raiseFlushed moves the flushed mark forward: a writer whose write was durable and a flusher may both be at it.
func (l *Log) raiseFlushed(m *mark) {
	for {
		old := l.flushed.Load()
		if old.offset >= m.offset || l.flushed.CompareAndSwap(old, m) {
			return
		}
	}
}

// syncNames makes the names of files that were created or replaced durable.
func (l *Log) syncNames() error {
	if !l.w.names.Swap(false) {
		return nil
	}
	if err := l.e.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("flush the names in %s: %w", l.dir, err)
	}
	if l.w.folder.Swap(false) {
		if err := l.e.fs.SyncDir(l.e.opt.Dir); err != nil {
			return fmt.Errorf("flush the names in %s: %w", l.e.opt.Dir, err)
		}
	}
	return nil
}

// closeFlushed closes the writers' descriptors of sealed segments that are flushed as a whole: before that the kernel
// might forget an error with the descriptor.
func (l *Log) closeFlushed(m *mark) error {
	for _, s := range *l.view.Load() {
		if s.Base < m.seg.Base {
			if err := s.CloseWriter(); err != nil {
				return fmt.Errorf("close %s: %w", s.Path(), err)
			}
		}
	}
	return nil
}

// arrangeFlush sees to it that what an async log has just written is flushed in time: at once (by a flusher) when it is
// much, after flush.ms where that is set, and by the next checkpoint at the latest.
func (l *Log) arrangeFlush(cfg *Config) {
	if l.w.bytes.Load() >= l.e.opt.CheckpointBytes {
		l.flushSoon()
		return
	}
	if cfg.FlushInterval > 0 && l.w.armed.CompareAndSwap(false, true) {
		time.AfterFunc(cfg.FlushInterval, func() {
			l.w.armed.Store(false)
			l.flushSoon()
		})
	}
	l.noteDirty()
}

// flushSoon hands the log to a flusher unless it is in one's queue.
func (l *Log) flushSoon() {
	if l.w.flushQueued.CompareAndSwap(false, true) {
		l.e.flushers.push(l)
	}
}

// flushTurn is one turn of a flusher with a log.
func (e *Engine) flushTurn(l *Log) {
	l.w.flushQueued.Store(false)
	if l.flushWritten() == nil {
		e.checkpointSoon(l)
	}
}
