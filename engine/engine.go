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
)

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
	direct                lazyCommitter
	buffers               buffers
	space                 space
	waiting               atomic.Int64 // bytes appended and not written
	ready                 ready

	failure   atomic.Pointer[error]
	closed    atomic.Bool
	syncBy    atomic.Int32 // SyncMethod in force
	dirty     logSet       // written since the last checkpoint
	recovered Recovery
	tasks     tasks

	// checkpoints serialises their files.
	checkpoints struct {
		sync.Mutex
		points map[Name]int64 // recovery points on disk
		starts map[Name]int64 // log start offsets on disk
	}
	removals removals
}

// Open takes the directory and opens the logs in it: those that an orderly stop left as they are, others after a
// recovery of what lies beyond their recovery points. It returns an error where the directory is not to be had; a log whose
// files are corrupt is opened and offline (Log.Err).
func Open(opt Options) (*Engine, error) {
	if opt.Dir == "" {
		return nil, errors.New("engine: Options.Dir is empty")
	}
	e := &Engine{opt: opt.filled()}
	e.fs, e.log = e.opt.FS, e.opt.Logger
	e.logs.m = map[Name]*Log{}
	e.checkpoints.points, e.checkpoints.starts = map[Name]int64{}, map[Name]int64{}
	if err := e.fs.MkdirAll(opt.Dir); err != nil {
		return nil, err
	}
	lock, err := e.fs.Lock(filepath.Join(opt.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("log directory %s is in use: %w", opt.Dir, err)
	}
	e.lock = lock
	e.async = newPool(e.opt.Writers, e.write)
	e.sync = newPool(e.opt.SyncWriters, e.write)
	e.flushers = newPool(2, e.flushTurn)
	if err := e.recover(); err != nil {
		lock.Close()
		return nil, err
	}
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
	o.MemoryBytes = orDefault(o.MemoryBytes, 256<<20)
	o.CheckpointInterval = orDefault(o.CheckpointInterval, 5*time.Second)
	o.CheckpointBytes = orDefault(o.CheckpointBytes, 64<<20)
	o.RetentionInterval = orDefault(o.RetentionInterval, 5*time.Minute)
	o.ProducerIDExpiration = orDefault(o.ProducerIDExpiration, 24*time.Hour)
	o.RecoveryWorkers = orDefault(o.RecoveryWorkers, runtime.NumCPU())
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
	if err := checkName(n); err != nil {
		return nil, err
	}
	if err := e.failed(); err != nil {
		return nil, offline(err)
	}
	l, err := e.emptyLog(n, id, c)
	if err != nil {
		return nil, err
	}
	e.logs.Lock()
	defer e.logs.Unlock()
	if e.closed.Load() {
		return nil, ErrClosed
	}
	if _, ok := e.logs.m[n]; ok {
		return nil, fmt.Errorf("create %s: %w", n, ErrExists)
	}
	e.logs.m[n] = l
	return l, nil
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
	e.log.Error("log directory goes offline", "dir", e.opt.Dir, "error", err)
	if e.opt.OnFailure != nil {
		e.opt.OnFailure(err)
	}
}

// Close stops the engine in order: what was appended is written, acknowledged and flushed, the files are what Kafka
// leaves after an orderly stop, and the directory is free for another process.
func (e *Engine) Close() error {
	e.logs.Lock()
	was := e.closed.Swap(true)
	e.logs.Unlock()
	if was {
		return ErrClosed
	}
	e.tasks.stop()
	for _, l := range e.Logs() {
		l.drain()
	}
	if c := e.direct.c; c != nil {
		c.close()
	}
	e.async.close()
	e.sync.close()
	e.flushers.close()
	err := e.shutDown()
	for _, l := range e.Logs() {
		err = errors.Join(err, l.closeFiles())
	}
	e.removals.finish(e)
	e.buffers.trim()
	return errors.Join(err, e.lock.Close())
}

// shutDown leaves the directory so that the next start need not look at the logs: everything flushed, and only then
// the mark of an orderly stop.
func (e *Engine) shutDown() error {
	if err := e.failed(); err != nil {
		return offline(err)
	}
	for _, l := range e.Logs() {
		if l.corrupt.Load() != nil {
			continue
		}
		if err := l.settle(); err != nil {
			return fmt.Errorf("close %s: %w", l.name, err)
		}
	}
	if err := e.writeCheckpoints(); err != nil {
		return err
	}
	return checkpoint.WriteCleanShutdown(e.fs, e.opt.Dir, -1)
}
