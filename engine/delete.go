package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zurau/zurau/engine/checkpoint"
)

// Delete removes a log. Appends that wait are refused with ErrDeleted or done, readers finish with what they hold, and
// the files go after Config.DeleteDelay. Until it returns the name is taken; then it is free, and nothing of the old log,
// on disk or in a checkpoint, is left to be mistaken for a new one's. After an error the log is deleted for its users,
// its name stays taken, and Delete may be called again.
func (e *Engine) Delete(n Name) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.life.RUnlock()
	l, ok := e.Log(n)
	if !ok {
		return fmt.Errorf("delete %s: %w", n, ErrDeleted)
	}
	l.mu.Lock()
	l.mu.deleted = true
	l.mu.Unlock()
	l.drain()
	l.settling.Lock()
	defer l.settling.Unlock()
	if now, _ := e.Log(n); now != l {
		return fmt.Errorf("delete %s: %w", n, ErrDeleted) // somebody else did
	}
	if err := l.deleteFolder(); err != nil {
		return fmt.Errorf("delete %s: %w", n, err)
	}
	e.logs.Lock()
	delete(e.logs.m, n)
	e.logs.Unlock()
	return nil
}

// SetAside is Delete for a log that is in the way, and whose records nobody has asked to delete: its folder is renamed as
// Kafka renames such, to <topic>-<partition>.<32 hex digits>-stray, and stays.
func (e *Engine) SetAside(n Name) error {
	if l, ok := e.Log(n); ok {
		l.w.aside.Store(true)
	}
	return e.Delete(n)
}

// deleteFolder lets go of the files, renames the folder so that no start finds it, and takes the log out of the
// checkpoints: a log of the same name must not inherit a recovery point.
func (l *Log) deleteFolder() error {
	if err := l.e.failed(); err != nil {
		return offline(err)
	}
	if !l.w.gone.Load() {
		// The records are not wanted any more, but an error of their write-back must still take the directory offline.
		if l.corrupt.Load() == nil {
			if err := l.flushWritten(); err != nil {
				return err
			}
		}
		if l.id == [16]byte{} {
			if err := l.forgetStaged(); err != nil {
				return err
			}
		}
		if err := l.closeFiles(ErrDeleted); err != nil {
			return l.e.failIfFinal(err)
		}
		if err := l.renameFolder(); err != nil {
			return l.e.failIfFinal(err)
		}
		l.w.gone.Store(true)
	}
	if err := l.e.writeCheckpoints(); err != nil {
		return err
	}
	// Not before: of a log that checkpoints know, a start after a crash has to find what became of it.
	if dir := l.trash; dir != "" {
		l.trash = ""
		l.e.removeLater(l.config.Load().DeleteDelay, removal{dir: dir})
	}
	return nil
}

func (l *Log) renameFolder() error {
	if !l.w.made.Load() {
		return nil
	}
	name := l.e.deletedName(l.name)
	if l.w.aside.Load() {
		name = l.strayName()
	}
	gone := filepath.Join(l.e.opt.Dir, name)
	if err := l.e.fs.Rename(l.dir, gone); err != nil {
		return err
	}
	if err := l.e.fs.SyncDir(l.e.opt.Dir); err != nil {
		return err
	}
	if l.w.aside.Load() {
		l.e.log.Warn("set a log aside", "partition", l.name, "folder", gone)
		return nil
	}
	l.trash = gone
	return nil
}

// maxFileName is what Linux takes, in bytes.
const maxFileName = 255

// deletedName returns a name for the folder of a deleted log, in Kafka's form: <topic>-<partition>.<32 hex digits>-delete,
// with as much of the topic as fits. Those of an earlier process are gone: Open removes them.
func (e *Engine) deletedName(n Name) string {
	end := fmt.Sprintf("-%d.%032x%s", n.Partition, e.deletions.Add(1), deleteSuffix)
	return n.Topic[:min(len(n.Topic), maxFileName-len(end))] + end
}

// strayName returns a name for the folder of a log that is set aside: the digits are half of its topic id, and the time,
// since those of an earlier process are still there.
func (l *Log) strayName() string {
	end := fmt.Sprintf("-%d.%x%016x"+straySuffix, l.name.Partition, l.id[:8], l.e.opt.Now().UnixNano())
	return l.name.Topic[:min(len(l.name.Topic), maxFileName-len(end))] + end
}

// drain waits until no writer has the log and nothing is pending.
func (l *Log) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaitIdle()
}

// closeFiles closes the descriptors of all segments, and says why to reads that come later.
func (l *Log) closeFiles(why error) (err error) {
	l.w.closed.Store(&why)
	l.followers.wake()
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
	if n := len(segs); active != nil && (n == 0 || segs[n-1] != active) {
		err = errors.Join(err, active.Close())
	}
	return err
}

// writePartitionMetadata says in the folder which topic the log belongs to. It is part of the first flush: before that
// nothing of the log is promised, and the first appends of thousands of logs need not wait for a flush each.
func (l *Log) writePartitionMetadata() error {
	if l.id == [16]byte{} || l.w.named.Load() == 0 || l.w.identified.Load() {
		return nil
	}
	if err := checkpoint.PutTopicID(l.e.fs, l.dir, l.id); err != nil {
		return err
	}
	l.w.named.Add(1)
	l.w.identified.Store(true)
	return nil
}

// Adopt gives the log the topic id that it has not: a crash came before its first flush. It is for the start, when
// nobody uses the log yet.
func (l *Log) Adopt(id [16]byte) {
	if l.id == [16]byte{} {
		l.id = id
		l.w.named.Add(1)
	}
}
