package engine

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// maxIdle bounds the index mappings that are kept for readers that may come again: far below vm.max_map_count.
const maxIdle = 4096

// lockName is the file whose lock says that a process has the directory, as in Kafka.
const lockName = ".lock"

// An Engine is the logs of one directory. Its methods may be called from anywhere.
type Engine struct {
	opt  Options
	fs   fs.FS
	log  *slog.Logger
	lock io.Closer

	// logs is read on every look-up and changed when a log is created or deleted.
	logs struct {
		sync.RWMutex
		m map[Name]*Log
	}

	async, sync, flushers *pool
	evictors              *pool // closes writers' descriptors where none is left, waiting for nobody
	direct                lazyCommitter
	recent                recent
	stage                 *stage      // nil where there is none
	noDirect              atomic.Bool // the file system has no O_DIRECT
	staged                struct {    // during recovery
		file fs.File
		runs map[Name][]stagedRun
	}
	buffers            buffers
	shared             *segment.Shared
	open               descriptors
	space              space
	waiting            atomic.Int64 // bytes appended and not written
	producerExpiration atomic.Int64 // milliseconds
	ready              ready

	failure   atomic.Pointer[error]
	broken    waiters // for a failure
	closed    atomic.Bool
	life      sync.RWMutex // read-locked by what uses the files beside the writers, locked by Close
	syncBy    atomic.Int32 // SyncMethod in force
	dirty     logSet       // written since the last checkpoint
	recovered Recovery
	tasks     tasks
	scrub     scrubbing

	// checkpoints serialises their files.
	checkpoints struct {
		sync.Mutex
		points map[Name]point // recovery points on disk
		starts map[Name]int64 // log start offsets on disk
	}
	known       known
	folderNames folderNames
	removals    removals
	deletions   atomic.Int64 // so far, for names
}

// Open takes the directory and opens the logs in it: those that an orderly stop left as they are, others after a
// recovery of what lies beyond their recovery points. It returns an error where the directory is not to be had; a log whose
// files are corrupt is opened and offline (Log.Err).
func Open(opt Options) (*Engine, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	e := &Engine{opt: opt.filled()}
	e.fs, e.log = patient{e.opt.FS, e}, e.opt.Logger
	e.logs.m = map[Name]*Log{}
	e.SetProducerIDExpiration(e.opt.ProducerIDExpiration)
	e.shared = segment.NewShared(e.opt.Descriptors/2, maxIdle)
	e.shared.Tell(e.opt.Metrics.Open, e.opt.Metrics.Close)
	e.open.max = e.opt.Descriptors / 2
	e.checkpoints.points, e.checkpoints.starts = map[Name]point{}, map[Name]int64{}
	if err := e.fs.MkdirAll(opt.Dir); err != nil {
		return nil, err
	}
	if err := e.fs.SyncDir(filepath.Dir(opt.Dir)); err != nil {
		return nil, err
	}
	if _, err := e.fs.Stat(filepath.Join(opt.Dir, Unfinished)); err == nil && !opt.unfinished {
		return nil, fmt.Errorf("log directory %s: %w", opt.Dir, ErrUnfinished)
	}
	lock, err := e.fs.Lock(filepath.Join(opt.Dir, lockName))
	if errors.Is(err, fs.ErrLocked) {
		return nil, fmt.Errorf("log directory %s: %w; expected a directory that nobody else uses", opt.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("log directory %s: %w", opt.Dir, err)
	}
	e.lock = lock
	e.async = newPool(e.opt.Writers, e.write)
	e.sync = newPool(e.opt.SyncWriters, e.write)
	e.flushers = newPool(2, e.flushTurn)
	e.evictors = newPool(1, (*Log).evictNow)
	if err := e.recover(); err != nil {
		for _, l := range e.Logs() {
			err = errors.Join(err, l.closeFiles(ErrClosed))
		}
		return nil, errors.Join(err, lock.Close())
	}
	e.readScrub()
	e.openStage()
	e.space.measure(e)
	e.start()
	return e, nil
}

func (o Options) filled() Options {
	if o.FS == nil {
		o.FS = fs.OS()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Writers = orDefault(o.Writers, min(runtime.NumCPU(), 4))
	o.SyncWriters = orDefault(o.SyncWriters, 32)
	o.Descriptors = orDefault(o.Descriptors, defaultDescriptors())
	o.StageBytes = orDefault(o.StageBytes, 64<<20)
	o.MemoryBytes = orDefault(o.MemoryBytes, 256<<20)
	o.ReserveBytes = orDefault(o.ReserveBytes, 256<<20)
	o.SpaceSharers = orDefault(o.SpaceSharers, 1)
	o.ZeroAheadBytes = orDefault(o.ZeroAheadBytes, 1<<30)
	o.CheckpointInterval = orDefault(o.CheckpointInterval, 5*time.Second)
	o.CheckpointBytes = orDefault(o.CheckpointBytes, 64<<20)
	o.RetentionInterval = orDefault(o.RetentionInterval, 5*time.Minute)
	o.ProducerIDExpiration = orDefault(o.ProducerIDExpiration, 24*time.Hour)
	o.ScrubBytesPerSecond = orDefault(o.ScrubBytesPerSecond, 8<<20)
	o.ScrubInterval = orDefault(o.ScrubInterval, week)
	o.RecoveryWorkers = orDefault(o.RecoveryWorkers, 16)
	return o
}

// writers returns the pool that writes for logs of that configuration: a sync log waits for a disk, and must not
// keep an async one waiting.
func (e *Engine) writers(c *Config) *pool {
	if c.Sync() {
		return e.sync
	}
	return e.async
}

func (e *Engine) method() SyncMethod { return SyncMethod(e.syncBy.Load()) }

// Log returns the log of that name.
func (e *Engine) Log(n Name) (*Log, bool) {
	e.logs.RLock()
	defer e.logs.RUnlock()
	l, ok := e.logs.m[n]
	return l, ok
}

// Logs returns all logs, in no order.
func (e *Engine) Logs() []*Log {
	e.logs.RLock()
	defer e.logs.RUnlock()
	all := make([]*Log, 0, len(e.logs.m))
	for _, l := range e.logs.m {
		all = append(all, l)
	}
	return all
}

// Create makes an empty log. id is kept in partition.metadata, where it is not zero. Nothing is on disk before the
// first append. It returns ErrExists where there is one of that name.
func (e *Engine) Create(n Name, id [16]byte, c Config) (*Log, error) {
	if err := errors.Join(checkName(n), c.Check()); err != nil {
		return nil, fmt.Errorf("create %s: %w", n, err)
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.life.RUnlock()
	if err := e.failed(); err != nil {
		return nil, offline(err)
	}
	l, err := e.emptyLog(n, id, c)
	if err != nil {
		return nil, err
	}
	e.logs.Lock()
	defer e.logs.Unlock()
	if _, ok := e.logs.m[n]; ok {
		return nil, fmt.Errorf("create %s: %w", n, ErrExists)
	}
	e.logs.m[n] = l
	return l, nil
}

// enter lets a call use the files until it unlocks e.life, or says that the engine is closed.
func (e *Engine) enter() error {
	e.life.RLock()
	if e.closed.Load() {
		e.life.RUnlock()
		return ErrClosed
	}
	return nil
}

// checkName refuses what is no name of a folder: Kafka's rules for topics.
func checkName(n Name) error {
	ok := n.Topic != "" && n.Topic != "." && n.Topic != ".." && len(n.Topic) <= 249 && n.Partition >= 0
	for i := 0; ok && i < len(n.Topic); i++ {
		c := n.Topic[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return fmt.Errorf("log name %q, partition %d: want 1 to 249 of [a-zA-Z0-9._-] and a partition from 0", n.Topic, n.Partition)
	}
	return nil
}

// failed returns what took the directory offline, or nil.
func (e *Engine) failed() error {
	if p := e.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Err returns why the directory is offline, or nil.
func (e *Engine) Err() error {
	if err := e.failed(); err != nil {
		return offline(err)
	}
	return nil
}

// fail takes the directory offline, once and for good: after a failed write or flush nobody knows what the disk has.
func (e *Engine) fail(err error) {
	if !e.failure.CompareAndSwap(nil, &err) {
		return
	}
	e.broken.wake()
	e.log.Error("log directory goes offline", "dir", e.opt.Dir, "error", err)
	if e.opt.OnFailure != nil {
		go e.opt.OnFailure(err) // whoever failed may hold locks
	}
}

// Close stops the engine in order: what was appended is written, acknowledged and flushed, the files are what Kafka
// leaves after an orderly stop, and the directory is free for another process.
func (e *Engine) Close() error {
	e.life.Lock()
	was := e.closed.Swap(true)
	e.life.Unlock()
	if was {
		return ErrClosed
	}
	e.tasks.stop()
	e.writeScrub()
	for _, l := range e.Logs() {
		l.drain()
	}
	if c := e.direct.c; c != nil {
		c.close()
	}
	e.async.close()
	e.sync.close()
	e.flushers.close()
	e.evictors.close()
	e.shared.CloseIdle() // what follows needs some descriptors
	err := errors.Join(e.settleAll(), e.failIfFinal(e.closeKnown()))
	if err == nil {
		err = e.markClean()
	}
	e.removals.finish(e)
	e.recent.dropAll(e)
	e.buffers.trim()
	return errors.Join(err, e.closeStage(err == nil), e.lock.Close())
}

// settleAll brings everything to stable storage that the next start would have to look for, and closes the files: each log's when it is
// settled, since settling all of them first would take descriptors for all.
func (e *Engine) settleAll() error {
	failed := e.Err()
	err := e.each(e.Logs(), func(l *Log) error {
		var err error
		if failed == nil && l.corrupt.Load() == nil && !l.w.gone.Load() {
			err = l.settle()
		}
		if errors.Is(err, ErrDeleted) {
			err = nil
		}
		if err = errors.Join(err, l.closeFiles(ErrClosed)); err != nil {
			return fmt.Errorf("close %s: %w", l.name, err)
		}
		return nil
	})
	return errors.Join(failed, err)
}

// markClean says that the next start need not look at the logs. It comes after everything, the last cut and the last index
// entry included. Of a log that is offline nobody knows what is in order.
func (e *Engine) markClean() error {
	if err := e.writeCheckpoints(); err != nil {
		return err
	}
	for _, l := range e.Logs() {
		if l.corrupt.Load() != nil {
			e.log.Warn("the next start looks at the logs again: one is offline", "dir", e.opt.Dir, "partition", l.name)
			return nil
		}
	}
	if err := checkpoint.WriteCleanShutdown(e.fs, e.opt.Dir, -1); err != nil {
		return err
	}
	return e.rememberAll()
}
