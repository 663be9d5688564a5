package engine

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

// Every log that was written lately has a descriptor for its writer, and those that were read lately one for readers. Beyond
// a bound the ones that have been open for longest are flushed and closed, so that ten thousand logs do with a few hundred.
// Where the process has none left (who connects to a server takes some, too), a file that is to be written is not given
// up: the writer waits until there is one, and says so. Nothing is acknowledged meanwhile, nothing is lost.

// descriptors is the logs with a writer's descriptor, in the order in which they opened it.
type descriptors struct {
	mu    sync.Mutex
	queue []*Log
	max   int
}

// opened takes in a log whose writer has opened its descriptor, and has the oldest ones closed while there are too many.
func (d *descriptors) opened(e *Engine, l *Log) {
	if !l.w.listed.CompareAndSwap(false, true) {
		return
	}
	d.mu.Lock()
	d.queue = append(d.queue, l)
	var close *Log
	if len(d.queue) > d.max {
		close = d.oldest()
	}
	d.mu.Unlock()
	if close != nil {
		close.w.evict.Store(true)
		close.flushSoon()
	}
}

// oldest takes the first log off. The lock is held.
func (d *descriptors) oldest() *Log {
	if len(d.queue) == 0 {
		return nil
	}
	l := d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	l.w.listed.Store(false)
	return l
}

// relieve has one writer's descriptor closed, and those that no reader holds. Flushers are no help: they wait for writers, who
// may be waiting for this one. Nor is Engine.life taken for it, which a stop may be waiting for.
func (e *Engine) relieve() {
	e.shared.CloseIdle()
	e.open.mu.Lock()
	l := e.open.oldest()
	e.open.mu.Unlock()
	if l != nil {
		e.evictors.push(l)
	}
}

// evictNow is evict for a log that nobody flushes at the moment: who does may be waiting for a descriptor as well.
func (l *Log) evictNow() {
	if !l.flushing.TryLock() {
		l.e.open.opened(l.e, l)
		return
	}
	l.flushing.Unlock()
	l.evict()
}

// evict flushes and closes the writer's descriptor of a log, unless it is being written: then it takes its place at the end
// of the queue again.
func (l *Log) evict() {
	l.mu.Lock()
	if l.mu.busy || len(l.mu.pending) > 0 || l.mu.deleted || l.Err() != nil || l.e.closed.Load() {
		busy := l.mu.busy || len(l.mu.pending) > 0
		l.mu.Unlock()
		if busy {
			l.e.open.opened(l.e, l)
		}
		return
	}
	l.mu.busy = true // as its writer
	active := l.mu.active
	l.mu.Unlock()
	if active.Open() {
		err := l.reopen(active, true, func() {})
		if err != nil {
			l.e.fail(err)
		} else if err := l.e.failIfFinal(active.FlushIndexes(true)); err != nil { // which closes theirs
			l.e.log.Warn("the indexes of a log stay open", "partition", l.name, "error", err)
		}
	}
	l.leave()
}

// patient is a file system for writers: where the process has no descriptor left it waits for one.
type patient struct {
	fs.FS
	e *Engine
}

// patience is how long a writer waits between two tries, and how often it says so; patienceEnd is how long a stop does, which has only
// what the others of its logs give back.
const (
	patience      = 20 * time.Millisecond
	patienceWords = 10 * time.Second
	patienceEnd   = 2 * time.Second
)

func (p patient) Open(name string, flag int) (f fs.File, err error) {
	if flag&os.O_CREATE == 0 {
		return p.FS.Open(name, flag)
	}
	p.wait(func() error {
		f, err = p.FS.Open(name, flag)
		return err
	})
	return f, err
}

func (p patient) SyncDir(dir string) (err error) {
	p.wait(func() error {
		err = p.FS.SyncDir(dir)
		return err
	})
	return err
}

// wait calls open until it does not fail, or fails for another reason than that there is no descriptor, or the directory has failed, or
// a stop has been patient for long enough.
func (p patient) wait(open func() error) {
	var said, ends time.Time
	for {
		err := open()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || p.e.failed() != nil {
			return
		}
		if p.e.closed.Load() {
			if ends.IsZero() {
				ends = time.Now().Add(patienceEnd)
			}
			if time.Now().After(ends) {
				return
			}
			p.e.shared.CloseIdle()
			time.Sleep(patience)
			continue
		}
		if time.Since(said) > patienceWords {
			said = time.Now()
			p.e.log.Warn("no file descriptor is left, and writers wait for one: raise the limit (ulimit -n)", "dir", p.e.opt.Dir, "error", err)
		}
		p.e.relieve()
		time.Sleep(patience)
	}
}

// defaultDescriptors is a quarter of what the process may have, and no more than 4,096: connections need some, too.
func defaultDescriptors() int {
	const most, unknown = 4096, 256
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return unknown
	}
	return int(min(limit.Cur/4, most))
}
