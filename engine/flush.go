package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Flush puts every record that was appended before the call on stable storage and returns then. Its error is final for
// the directory.
func (l *Log) Flush() error {
	if err := l.e.enter(); err != nil {
		return err
	}
	defer l.e.life.RUnlock()
	l.mu.Lock()
	l.awaitWritten(l.mu.end)
	l.mu.Unlock()
	return l.flushWritten()
}

// flushWritten flushes what is written, and takes the directory offline if that fails.
func (l *Log) flushWritten() error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.onceFlushing(func() error { return l.flushLocked(l.written.Load()) }) // Truncate lowers it, under the lock
}

// flushTo puts everything below m, which is written, on stable storage.
func (l *Log) flushTo(m *mark) error {
	return l.onceFlushing(func() error { return l.flushLocked(m) })
}

// onceFlushing runs what flushes files of the log, one at a time. An error takes the directory offline before the next
// one may begin: the kernel reports a failed flush once, and a second one would succeed without having written what the
// first one lost.
func (l *Log) onceFlushing(flush func() error) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.e.failed(); err != nil {
		return offline(err)
	}
	if err := flush(); err != nil {
		l.e.fail(err)
		return offline(err)
	}
	return nil
}

// flushLocked flushes all segments that were written since the last flush, then the names of files that are new, and
// then moves the mark. The caller holds flushing.
func (l *Log) flushLocked(m *mark) error {
	from := l.flushed.Load()
	if from.offset >= m.offset {
		return nil
	}
	began := clock(l.e.opt.Metrics.Flush != nil)
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
	l.e.opt.Metrics.flushed(began)
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

// namesDurable reports whether all files of the folder would be there after a power cut.
func (l *Log) namesDurable() bool { return l.w.synced.Load() == l.w.named.Load() }

// syncNames makes the names of files that were created or replaced before the call durable. One at a time, and an error
// of the flush takes the directory offline before the next one, for the reason of onceFlushing.
func (l *Log) syncNames() error {
	l.w.naming.Lock()
	defer l.w.naming.Unlock()
	if err := l.e.failed(); err != nil {
		return offline(err)
	}
	return l.e.failIfFinal(l.syncNamesLocked())
}

func (l *Log) syncNamesLocked() error {
	err := l.writePartitionMetadata()
	if err != nil && final(err) {
		return err
	}
	named := l.w.named.Load()
	if err != nil {
		// No record is lost for want of that file, which is the first to feel a full disk. A checkpoint tries again.
		l.e.log.Warn("the log does not say yet which topic it is of", "partition", l.name, "error", err)
	}
	if l.w.synced.Load() >= named {
		return nil
	}
	if err := l.e.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("flush the names in %s: %w", l.dir, err)
	}
	if l.w.folder.Load() {
		if err := l.e.syncFolders(); err != nil {
			return fmt.Errorf("flush the names in %s: %w", l.e.opt.Dir, err)
		}
		l.w.folder.Store(false)
	}
	l.w.synced.Store(named)
	return nil
}

// A folderNames counts the folders that were made in the directory. Thousands of new logs that are flushed at a time share the
// flushes of their names.
type folderNames struct {
	made   atomic.Int64
	mu     sync.Mutex
	synced int64 // how many of them are durable; under mu
}

// syncFolders makes the names of folders that were made before the call durable.
func (e *Engine) syncFolders() error {
	f := &e.folderNames
	made := f.made.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.synced >= made {
		return nil // by somebody who came to it after the call
	}
	if err := e.failed(); err != nil {
		return offline(err) // perhaps by the flush that should have done it: see onceFlushing
	}
	made = f.made.Load()
	if err := e.fs.SyncDir(e.opt.Dir); err != nil {
		e.fail(err)
		return err
	}
	f.synced = made
	return nil
}

// closeFlushed closes the writers' descriptors of sealed segments that are flushed as a whole: before that the kernel
// might forget an error with the descriptor.
func (l *Log) closeFlushed(m *mark) error {
	for _, s := range *l.view.Load() {
		if s.Base < m.seg.Base {
			if err := s.CloseWriter(false); err != nil {
				return fmt.Errorf("close %s: %w", s.Path(), err)
			}
		}
	}
	return nil
}

// arrangeFlush sees to it that what has just been written is flushed and checkpointed in time: at once (by a flusher) when
// much lies beyond the recovery point, after flush.ms where that is set, and by the next checkpoint at the latest.
func (l *Log) arrangeFlush(cfg *Config) {
	l.noteDirty()
	if l.w.beyond.Load() >= l.e.opt.CheckpointBytes {
		l.flushSoon()
		return
	}
	if cfg.FlushInterval > 0 && l.flushed.Load().offset < l.high.Load().offset && l.w.armed.CompareAndSwap(false, true) {
		time.AfterFunc(cfg.FlushInterval, func() {
			l.w.armed.Store(false)
			l.flushSoon()
		})
	}
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
	if e.enter() != nil {
		return // Close has flushed it, or will
	}
	defer e.life.RUnlock()
	l.mu.Lock()
	l.awaitWritten(l.mu.end)
	l.mu.Unlock()
	if l.flushWritten() == nil && l.w.beyond.Load() >= e.opt.CheckpointBytes {
		e.checkpointSoon(l)
	}
	if l.w.evict.Swap(false) {
		l.evict()
	}
}
