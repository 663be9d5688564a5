package engine

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/zurau/zurau/engine/checkpoint"
)

// Delete removes a log. Appends that wait are refused with ErrDeleted or done, readers finish with what they hold, and
// the files go after Config.DeleteDelay. When it returns the name is free.
func (e *Engine) Delete(n Name) error {
	e.logs.Lock()
	l, ok := e.logs.m[n]
	delete(e.logs.m, n)
	e.logs.Unlock()
	if !ok {
		return fmt.Errorf("delete %s: %w", n, ErrDeleted)
	}
	l.mu.Lock()
	l.mu.deleted = true
	l.mu.Unlock()
	l.drain()
	l.settling.Lock()
	defer l.settling.Unlock()
	return l.deleteFolder()
}

// deleteFolder renames the folder so that no start finds it, and lets go of the files.
func (l *Log) deleteFolder() error {
	// The records are not wanted any more, but an error of their write-back must still take the directory offline.
	if l.e.failed() == nil {
		if err := l.flushTo(l.high.Load()); err != nil {
			l.e.fail(err)
		}
	}
	err := l.closeFiles()
	if !l.w.made.Load() {
		return err
	}
	id := hex.EncodeToString(l.id[:])
	gone := fmt.Sprintf("%s.%s%s", l.dir, id, deleteSuffix)
	if err := l.e.fs.Rename(l.dir, gone); err != nil {
		return err
	}
	if err := l.e.fs.SyncDir(l.e.opt.Dir); err != nil {
		return err
	}
	l.e.removeLater(l.config.Load().DeleteDelay, removal{dir: gone})
	return err
}

// drain waits until no writer has the log and nothing is pending.
func (l *Log) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.busy {
		l.mu.idle.Wait()
	}
}

// closeFiles closes the descriptors of all segments.
func (l *Log) closeFiles() (err error) {
	segs := *l.view.Load()
	for _, s := range segs {
		if l.e.failed() == nil {
			err = errors.Join(err, s.Trim())
		}
		err = errors.Join(err, s.Close())
	}
	l.mu.Lock()
	active := l.mu.active
	l.mu.Unlock()
	if n := len(segs); n == 0 || segs[n-1] != active {
		err = errors.Join(err, active.Close())
	}
	return err
}

// writePartitionMetadata says in the folder which topic the log belongs to.
func (l *Log) writePartitionMetadata() error {
	if l.id == [16]byte{} {
		return nil
	}
	return checkpoint.WriteTopicID(l.e.fs, l.dir, l.id)
}
