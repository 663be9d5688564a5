package engine

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/segment"
)

// Name names a log.
type Name struct {
	Topic     string
	Partition int32
}

// String returns the name of the log's folder, as Kafka names it.
func (n Name) String() string { return fmt.Sprintf("%s-%d", n.Topic, n.Partition) }

// A Log is one partition's records. Its methods may be called from anywhere.
//
// Three offsets move forward, in this order: the log end offset (appended: in memory, with its offset), the written one
// (its file has it) and the flushed one (stable storage has it). The high watermark is the flushed one of a sync log, and of an
// async log what a kill of the process does not undo: it is staged, or written. Readers see what lies below it.
type Log struct {
	e    *Engine
	name Name
	dir  string
	id   [16]byte // topic id, zero if none was given

	config   atomic.Pointer[Config]
	attached atomic.Pointer[any]

	// view is what readers see: the segments whose files exist, ascending. It is replaced, never changed.
	view atomic.Pointer[[]*segment.Segment]
	// start is the log start offset: records below it are gone for readers.
	start atomic.Int64
	// high, written and flushed are where readers, writers and recovery may rely on whole batches. They never fall, but in
	// Truncate. Between written and high are the staged runs.
	high    atomic.Pointer[mark]
	written atomic.Pointer[mark]
	flushed atomic.Pointer[mark]
	// cuts counts the beginnings and ends of Truncate: odd while one is at it. A read that saw it change starts again.
	cuts atomic.Int64
	// txns is what readers of committed records look at.
	txns transactions
	// corrupt takes this log alone offline: its files are not what they were.
	corrupt atomic.Pointer[error]

	// mu guards the append side. It is held for a copy of the batches at most, never for a disk, but by Truncate.
	mu struct {
		sync.Mutex
		idle       *sync.Cond // broadcast after each turn of a writer with the log
		active     *segment.Segment
		created    time.Time // of the active segment, for rolls of records without time
		end        int64     // log end offset
		producers  *producer.State
		epochs     *checkpoint.LeaderEpochs
		epochsNew  bool // since they were last in their file
		epochAhead bool // the latest one has no records yet, and is in no file
		tally      guard.Tally
		condemned  error // the log is about to go offline: see condemn
		pending    []*run
		busy       bool // a writer has the log, or it is in a writer's queue
		kicked     bool // the last staged run is to be written as it is
		serial     uint64
		class      int  // of the next slot of the stage
		parked     bool // the direct writer has it, and waits for zeros alone
		deleted    bool
	}

	// w is owned by the writer that has the log (mu.busy), and by nobody else.
	w writing

	tail      tailReads
	followers waiters // for the high watermark to move, or for the end

	// flushing serialises flushes, settling what a checkpoint writes: neither guards anything that an append needs.
	flushing, settling sync.Mutex
	settled            atomic.Pointer[point] // recovery point: everything that a recovery from there needs is durable
	stored             atomic.Int64          // offset of the newest producer snapshot, -1 before any
	trash              string                // the folder of a deleted log, until it is left to be removed; under settling
	guarding           guarding
}

// A mark is an offset at which a batch ends, and where that is in a file.
type mark struct {
	offset   int64
	seg      *segment.Segment
	position int64
}

// Name returns the log's name.
func (l *Log) Name() Name { return l.name }

// Dir returns the log's folder. It is made when the first record is written.
func (l *Log) Dir() string { return l.dir }

// TopicID returns the id that the log was created with, or that its partition.metadata has.
func (l *Log) TopicID() [16]byte { return l.id }

// Attach keeps v with the log, for whoever is called back with it.
func (l *Log) Attach(v any) { l.attached.Store(&v) }

// Attached returns what was attached last, or nil.
func (l *Log) Attached() any {
	if p := l.attached.Load(); p != nil {
		return *p
	}
	return nil
}

// Config returns what the log was last told.
func (l *Log) Config() Config { return *l.config.Load() }

// SetConfig changes the log's configuration. It is in force for every append that starts afterwards. Going from async
// to sync, what was written is flushed in the background, and the first append waits until it is.
func (l *Log) SetConfig(c Config) {
	if old := l.config.Swap(c.filled()); c.Sync() && !old.Sync() && l.flushed.Load().offset < l.high.Load().offset {
		l.flushSoon()
	}
}

// LogStartOffset returns the first offset that may be read.
func (l *Log) LogStartOffset() int64 { return l.start.Load() }

// LogEndOffset returns the offset that the next record gets.
func (l *Log) LogEndOffset() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.end
}

// HighWatermark returns the offset below which records may be read: what is written in async, what is flushed in sync.
// After a failure of the directory only what is flushed is left of it.
func (l *Log) HighWatermark() int64 { return l.readable().offset }

// FlushedOffset returns the offset below which every record is on stable storage.
func (l *Log) FlushedOffset() int64 { return l.flushed.Load().offset }

func (l *Log) readable() *mark {
	h := l.high.Load()
	if l.e.failed() != nil {
		if f := l.flushed.Load(); f.offset < h.offset {
			return f
		}
	}
	return h
}

// Size returns the bytes of all the log's segments, written or about to be.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	segs := *l.view.Load()
	n := int64(0)
	for _, s := range segs {
		if s != l.mu.active {
			n += s.Size()
		}
	}
	if l.mu.active != nil { // as it is where the log could not be read
		n += l.mu.active.Appended()
	}
	return n
}

// Segments returns the number of segment files.
func (l *Log) Segments() int { return len(*l.view.Load()) }

// Err returns why the log is offline, or nil.
func (l *Log) Err() error {
	if err := l.e.failed(); err != nil {
		return offline(err)
	}
	if p := l.corrupt.Load(); p != nil {
		return offline(*p)
	}
	return nil
}

// Unreadable returns why nothing of the log is to be read, or nil: its files are corrupt. Where it is the directory that is
// offline, what is flushed can be read.
func (l *Log) Unreadable() error {
	if p := l.corrupt.Load(); p != nil {
		return offline(*p)
	}
	return nil
}

func (l *Log) limits() segment.Limits {
	c := l.config.Load()
	return segment.Limits{Bytes: c.SegmentBytes, IndexBytes: c.IndexBytes, IndexInterval: c.IndexInterval, Shared: l.e.shared}
}

func (e *Engine) path(n Name) string { return filepath.Join(e.opt.Dir, n.String()) }
