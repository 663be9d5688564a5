package engine

import (
	"log/slog"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// Options says where the logs of an engine live and what it may use. Dir is required; the zero value of every other
// field works.
type Options struct {
	// Dir is the log directory: one file system, one lock, one fate. A failed flush takes all logs in it offline.
	// A program with several disks opens one engine for each.
	Dir string

	// FS is the file system; nil is the operating system's.
	FS fs.FS

	// Now is the wall clock; nil is time.Now. It stamps LogAppendTime and decides retention and rolls by time.
	Now func() time.Time

	// Logger receives what an operator should know: recoveries, cuts, failures. nil discards.
	Logger *slog.Logger

	// OnAdvance is called when the high watermark of a log has moved, after the appends below it were acknowledged: on a
	// writer's goroutine, or on that of a staged append. It must not block.
	OnAdvance func(*Log)

	// OnFailure is called once when the directory goes offline, on a goroutine of its own.
	OnFailure func(error)

	// Metrics is told what happens, for who counts it.
	Metrics Metrics

	// LogConfig says how a log is configured that Open finds: a directory does not tell. nil is the zero Config for all: async, and
	// records go after 7 days. A Config that Check refuses fails Open.
	LogConfig func(Name) Config

	// Writers is the number of goroutines that write for async logs; 0 is one for each CPU, 4 at most.
	Writers int

	// SyncWriters is the most goroutines that wait in a durable write for sync logs; 0 is 32.
	SyncWriters int

	// SyncMethod says how a buffered write becomes durable; the zero value measures the device in the background and
	// uses SyncFdatasync until it knows.
	SyncMethod SyncMethod

	// MemoryBytes bounds the bytes that are appended but not written; 0 is 256 MiB. Beyond it Busy says so and Ready when
	// it is over; beyond twice as much Append refuses with ErrBusy.
	MemoryBytes int64

	// StageBytes bounds the memory in which appends of async logs are acknowledged before they are in their files. It is a file
	// of the directory that is mapped: what is there outlives the process as what is written does. 0 is 64 MiB; negative is
	// none: such appends are then acknowledged by the writers.
	StageBytes int64

	// Descriptors bounds the files that are kept open for logs which are not at work: half of them for writers and half for
	// readers. 0 is a quarter of the process's limit (RLIMIT_NOFILE), 4,096 at most.
	Descriptors int

	// ReserveBytes is kept free on the file system for checkpoints, indexes and recovery: appends are refused with
	// ErrNoSpace before it is used. 0 is 256 MiB.
	ReserveBytes int64

	// SpaceSharers is how many engines have their directories on the same file system: each takes its part of the room, so that together
	// they leave the reserve, although none knows what the others have taken since it looked. 0 is one.
	SpaceSharers int

	// ZeroAheadBytes bounds the zeros that are laid ahead of the logs of small sync commits, over all logs (they are on
	// the disk, not in memory); 0 is 1 GiB, negative lays none.
	ZeroAheadBytes int64

	// NoRing keeps the direct writer from using io_uring: it then writes the same bytes with plain calls.
	NoRing bool

	// CheckpointInterval is the longest time for which written records may lie beyond the recovery point, and so bounds
	// the work of a recovery; 0 is 5 s, negative is never: call Checkpoint. CheckpointBytes is the same bound in bytes for one log; 0 is 64 MiB.
	CheckpointInterval time.Duration
	CheckpointBytes    int64

	// RetentionInterval is how often retention looks at every log; 0 is 5 minutes (Kafka's
	// log.retention.check.interval.ms). Negative never looks: call Retain.
	RetentionInterval time.Duration

	// ProducerIDExpiration is how long an idle producer is remembered; 0 is 24 h (producer.id.expiration.ms).
	ProducerIDExpiration time.Duration

	// ScrubBytesPerSecond is how fast the scrub reads what was flushed, to find what has rotted; 0 is 8 MiB, negative never scrubs: call
	// Scrub. ScrubInterval is the time from the beginning of a pass to that of the next; 0 is a week.
	ScrubBytesPerSecond int64
	ScrubInterval       time.Duration

	// RecoveryWorkers is how many logs are opened, settled at a checkpoint and closed at once, which is mostly waiting for
	// the disk; 0 is 16.
	RecoveryWorkers int

	unfinished bool // what is opened is a backup that is about to be finished
}

// SyncMethod is how a buffered write is made durable.
type SyncMethod int

const (
	// SyncAuto measures both on the device, once, in the background.
	SyncAuto SyncMethod = iota
	// SyncFdatasync is a write and fdatasync(2).
	SyncFdatasync
	// SyncDsync is one pwritev2(2) with RWF_DSYNC.
	SyncDsync
)

func (m SyncMethod) String() string {
	return [...]string{"auto", "fdatasync", "dsync"}[m]
}

// Writer is the kind of writer of a log.
type Writer int

const (
	// WriterAuto takes the direct writer for sync logs and, for as long as they are written in large pieces, for async
	// ones; and the buffered one elsewhere.
	WriterAuto Writer = iota
	// WriterBuffered writes through the page cache.
	WriterBuffered
	// WriterDirect writes with O_DIRECT through a ring, whole blocks at a time.
	WriterDirect
)

func (w Writer) String() string {
	return [...]string{"auto", "buffered", "direct"}[w]
}

// Config is what a log may be told while it runs; the names in brackets are Kafka's topic properties. The zero value
// of each field is Kafka's default.
type Config struct {
	// SegmentBytes rolls a segment that would grow beyond it [segment.bytes]; 0 is 1 GiB.
	SegmentBytes int32
	// SegmentAge rolls a segment whose first record is so much older than the one to append, or than now where records
	// have no time [segment.ms]; 0 is 7 days.
	SegmentAge time.Duration
	// IndexBytes is the most that an index file may hold; a full one rolls [segment.index.bytes]; 0 is 10 MiB.
	IndexBytes int32
	// IndexInterval is the bytes of log between two index entries [index.interval.bytes]; 0 is 4096.
	IndexInterval int32

	// RetentionAge deletes segments whose newest record is older [retention.ms]; 0 is 7 days, negative keeps for ever.
	RetentionAge time.Duration
	// RetentionBytes deletes old segments while the log is larger [retention.bytes]; 0 and negative keep all.
	RetentionBytes int64
	// KeepAll says that neither age nor size deletes [cleanup.policy without delete]. DeleteRecordsTo still does.
	KeepAll bool
	// DeleteDelay is how long a deleted file stays under its .deleted name [file.delete.delay.ms]; 0 is 1 minute,
	// negative deletes at once.
	DeleteDelay time.Duration

	// FlushMessages flushes when so many records are unflushed [flush.messages]; 0 never by count. 1 is sync: an append is
	// acknowledged, and becomes readable, when it is on stable storage.
	FlushMessages int64
	// FlushInterval flushes a record that has been unflushed for so long [flush.ms]; 0 never by time.
	FlushInterval time.Duration

	// Writer is the kind of writer.
	Writer Writer

	// Rules are what Prepare checks. They are here so that whoever appends finds the log's rules in one place: Append goes by what was
	// prepared, a Batcher prepares by them, or by Kafka's defaults where they are zero.
	Rules record.Rules
}

// Sync reports whether appends are acknowledged only when flushed.
func (c *Config) Sync() bool { return c.FlushMessages == 1 }

const (
	defaultSegmentBytes  = 1 << 30
	defaultIndexBytes    = 10 << 20
	defaultIndexInterval = 4096
	week                 = 7 * 24 * time.Hour
)

func orDefault[T int | int32 | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// filled returns c with the defaults in place of zeros, and of what Check refuses.
func (c Config) filled() *Config {
	c.SegmentBytes, c.IndexBytes, c.IndexInterval = max(c.SegmentBytes, 0), max(c.IndexBytes, 0), max(c.IndexInterval, 0)
	c.SegmentAge, c.FlushMessages, c.FlushInterval = max(c.SegmentAge, 0), max(c.FlushMessages, 0), max(c.FlushInterval, 0)
	if c.Writer < WriterAuto || c.Writer > WriterDirect {
		c.Writer = WriterAuto
	}
	c.SegmentBytes = orDefault(c.SegmentBytes, defaultSegmentBytes)
	c.SegmentAge = orDefault(c.SegmentAge, week)
	c.IndexBytes = orDefault(c.IndexBytes, defaultIndexBytes)
	c.IndexInterval = orDefault(c.IndexInterval, defaultIndexInterval)
	c.RetentionAge = orDefault(c.RetentionAge, week)
	c.RetentionBytes = orDefault(c.RetentionBytes, -1)
	c.DeleteDelay = orDefault(c.DeleteDelay, time.Minute)
	return &c
}
