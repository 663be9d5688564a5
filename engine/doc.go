// Package engine keeps partitioned logs of Kafka record batches in a directory, in Apache Kafka's own files: it appends,
// reads, flushes, rolls, deletes and recovers them. It is a library: no network, no flags, no global state, no metrics
// registry. Logger, clock, file system and functions that count are fields of Options.
//
// It does not know topics, leaders or replicas (a log has a name and an end; who may append is the caller's), it does not
// check records (package engine/record does, before Append), it knows no Kafka error codes, and it does not compact: a
// log that Kafka compacted is read as it is.
//
// # Use
//
//	e, err := engine.Open(engine.Options{Dir: "data"})
//	l, err := e.Create(engine.Name{Topic: "orders"}, topicID, engine.Config{FlushMessages: 1})
//	p.Prepare(batch, rules)                         // engine/record: checks, converts, stamps
//	l.Append(p, leaderEpoch, func(a engine.Appended) { ... })
//	b, err := l.NewBatcher(engine.BatcherOptions{}) // for single records: makes the batches, checks them, answers each record
//	offset, err := b.Append(ctx, record.Record{Value: v}).Wait(ctx)
//	r, err := l.Read(offset, maxBytes, true)        // a range of a file, for sendfile; r.Bytes() for memory
//	r.Release()
//	for r, err := range l.Follow(ctx, offset) { ... } // committed records, waiting for more until ctx is done
//	e.Close()
//
// The examples are whole programs: append and read, follow a log, crash and recover. tools/eventlog is a server.
//
// # Words
//
// An offset counts records, a position counts bytes in a file, a range is half open. Of a record:
//
//	appended   it has its offset and is in memory                            below Log.LogEndOffset
//	written    the kernel has it: kill -9 does not take it, a power cut may
//	flushed    stable storage has it, and the name of its file               below Log.FlushedOffset
//
// Readers see what lies below Log.HighWatermark, and never below Log.LogStartOffset. The recovery point is the offset below
// which a recovery need not look: everything there, and all that belongs to it, is flushed.
//
// # What is promised
//
//	                      async (FlushMessages 0)                      sync (FlushMessages 1)
//	acknowledged when     written                                      flushed, with all before it
//	high watermark        written                                      flushed
//	kill -9 loses         nothing that was acknowledged                nothing that was acknowledged
//	a power cut loses     a suffix of the log, bounded by              nothing that was acknowledged, and nothing that a
//	                      flush.messages, flush.ms, checkpoints        reader has seen
//	a duplicate of an     is answered when the original is             is answered when the original is flushed
//	idempotent producer   written
//
// FlushMessages of N flushes every N records, and acknowledges as async does. The mode may be changed at any time
// (SetConfig): the first append in sync mode flushes everything before it, and the high watermark never falls. Appends to
// many logs share flushes: everything that came while the last ones ran goes with the next.
//
// Appends are acknowledged in their order within a log. Nothing orders two logs. Batches are stored byte for byte as
// prepared, but for base offset and leader epoch.
//
// # Transactions
//
// Records of a transaction are in the log like any others, and Read returns them. A Marker (AppendMarker) ends the transaction
// of a producer in a log. ReadCommitted ends at the last stable offset, where the first transaction begins that has no marker
// below the high watermark, and says which transactions were aborted; their records are in the range, and the reader passes
// them over, as Kafka's clients do. Whose transaction may have records in which log is a coordinator's business: the engine
// has none.
//
// # States
//
//	           Create                first append              Delete
//	 (no log) ───────► no files yet ─────────────► in its folder ──────► (no log; the folder goes after DeleteDelay)
//	                                                    │ Open finds damage that no crash explains, or cannot read it
//	                                                    ▼
//	                                                log offline: nothing is taken, served, cut or deleted
//
//	           Open             a write or a flush fails                      Close
//	directory ──────► in use ─────────────────────────────► offline (Err) ─────────────► free; the next Open recovers
//	                     └──────────────────────── Close ──────────────────────────────► free, marked as stopped in order
//
// A directory is one fate. The first failed write or flush takes it offline for good, since nobody knows what the disk
// has then: appends that wait are answered with ErrOffline, nothing is acknowledged, retried or written any more, and
// readers keep what was flushed. A new process finds out what there is. Not a failure: a full disk, which refuses appends
// with ErrNoSpace before they get offsets (Options.ReserveBytes) and takes them again when there is room; a file that
// cannot be opened for a checkpoint, which is tried again.
//
// # Files
//
//	.lock                                       held while an Engine has the directory
//	.kafka_cleanshutdown                        the last stop was orderly; removed by Open before anything changes
//	recovery-point-offset-checkpoint and others see engine/checkpoint
//	zurau-recovery-checkpoint                   ours: modes, and what the time indexes may have lost (points.go)
//	zurau-scrub                                 ours: how far the scrub is, and what it found
//	zurau-stage                                 ours: async appends that no segment has yet
//	zurau-logs                                  ours: what logs at rest hold, for starts that need not look (known.go)
//	<topic>-<partition>/                        a log
//	    <base offset>.log                       record batches: engine/record
//	    <base offset>.index, .timeindex,        engine/index
//	        .txnindex
//	    <offset>.snapshot                       producers: engine/producer
//	    leader-epoch-checkpoint, partition.metadata
//	    <base offset>.guard.deleted             ours: what was flushed, against rot: engine/guard
//	    other *.deleted                         go after Config.DeleteDelay
//	    <base offset>.log.torn-<position>       ours: what a recovery took off, for people to look at; nothing reads it
//	    <base offset>.log.staged-<position>     ours: what the stage had, and the log had no place for
//	    <base offset>.log.redo-<position>       ours: what the stage had while the log was offline, for the start that opens it
//	<topic>-<partition>.<number>-delete/        a deleted log, until Config.DeleteDelay is over
//
// At rest these are exactly Kafka's. While a direct writer has a log its last file may go on with zeros.
//
// # Recovery
//
// After an orderly stop nothing is scanned. Else each log is checked from its recovery point on (a checkpoint every 5 s
// or 64 MiB keeps that short), cut behind the last good batch, and what is left is flushed before it is served. What was
// cut is kept beside the log, until retention has passed the place. Small files that are missing, short, stale or garbage
// are made again from the log. What is not cut:
//
//   - a bad batch below the recovery point, with good ones behind it: it was flushed, so the disk has lost it;
//   - a bad batch in what the guard of its segment says was flushed, or good ones with other headers than they had then;
//   - in sync mode, a bad batch with a good one more than 16 MiB behind it: no more than that is ever in flight, so the bad
//     one was flushed before the good one was written.
//
// Such a log is offline, as it is, and Recovery.Offline counts it. The others open.
//
// Logs that are as they were when they came to rest are not even looked into (Recovery.Known): after an orderly stop all of
// them, after a kill those that had not been written since a checkpoint or two. Whether they are is told by the stamps (inode, time of
// change) of the folder and of the newest files. The segments before the last one are looked at by who first reads them: one that is
// shorter than it was is not served, and named as segment-lost.
//
// Every state that a start may find is a row of a table: States, and RECOVERY.md as a page. Recovery.States counts the rows
// that were met, log lines have them as "state", and StateOf names the row of an offline log's error.
//
// # Backups
//
// Backup makes a second directory of a running engine, as an orderly stop would leave it, and BackupDir of one that nobody has.
// Sealed segments are shared: by reflink, else by a hard link. So a log file may have two names, and it is never written or cut
// then: Segment.Writer replaces it by a copy of its own first. A directory that was not stopped in order shares only what lies below the
// recovery points: a reflink has what the disk has, which is not what a failed flush left in the page cache.
//
// # Rot
//
// Kafka's CRC leaves out 17 bytes of a batch, its base offset and leader epoch among them. Beside each segment a guard (package
// engine/guard) has a sum over these of what was flushed, in pieces of 64 KiB, written with each checkpoint. With it a recovery tells a
// write that a crash tore from one that was flushed and has changed since. It is never missed: a log without one is read as before.
//
// A recovery reads what lies beyond the recovery point. The rest is read by the scrub, slowly, in the background and past the page cache:
// all that is flushed, a pass a week (Options.ScrubBytesPerSecond, ScrubInterval; ScrubStatus says how far it is; Scrub runs a pass now).
// A log in which it finds what is not what it was, twice, goes offline as one that a recovery finds corrupt, with file and position, after
// what was acknowledged is written; it is offline after a start, too, until the place is sound.
//
// # Who may call
//
// All methods may be called from anywhere, at any time. These never wait for a disk: Append, ReadNoWait, SetConfig,
// ReadCommittedNoWait, DeleteRecordsTo and whatever returns an offset or an error. Wait for a disk: Open, Close, Scrub, Delete, Flush,
// Truncate, Retain, Checkpoint, Backup, Read, ReadCommitted, AbortedTransactions and the look-ups by time (never on an event loop).
// Follow and Wait also wait for what is to come, for as long as their context lets them; Close ends them.
//
// Callbacks (done of Append, OnAdvance, Ready) run on goroutines that others wait for: they hand over and return. They may
// call Append and what returns an offset. done and OnAdvance are called inside Append where it is refused or staged, so a
// callback that appends the next record again and again would go deeper each time.
//
// A Range holds its file open, whatever is deleted or truncated meanwhile, until Release.
//
// # Inside
//
// An append of an async log is done when it is in the stage (stage.go, staged.go): memory that is the page cache of the file
// zurau-stage, from which a start after a kill appends to the segments what they lack (redo.go).
//
// A log has one writer at a time: append.go gives offsets under the log's lock and leaves runs of bytes; a goroutine of a
// pool (writer.go), or the one direct writer of the directory (direct.go), takes all that is there, writes it, flushes it
// where the mode says so, moves the marks and answers. Locks, in the order in which they may be taken:
//
//	Engine.life       calls that use files beside the writers, and Close
//	Log.settling      checkpoint, retention, truncation, deletion of one log, one at a time
//	Log.w.files       small files of one folder
//	Log.mu            offsets, producers, what is pending; held for a copy of the batches, but by Truncate
//	Log.flushing      flushes of one log
//	Engine.checkpoints, then Engine.logs, then those of segments, indexes and buffers
//
// A flush takes neither settling nor mu, so appends go on beside it.
//
// # Caveats
//
//   - A directory does not tell how its logs are configured. Say it with Options.LogConfig, or with SetConfig for each that Open has
//     found: else a log that was sync is async after a start, and loses what is older than 7 days.
//   - The device writes a sector of 512 bytes whole or not at all, and a flush that succeeded is true. The last block of a
//     direct log is written again with the next records, its acknowledged bytes unchanged.
//   - One Engine, one file system: DeleteDelay and checkpoints rename within the directory. Network file systems whose
//     locks or flushes do not hold are not for this.
//   - Free space is looked at each second, and what the engine itself appends, stages and lays ahead meanwhile is taken off. Others who take more
//     than ReserveBytes of the same file system within that second, or a quota that statfs(2) does not tell, can still make a
//     write fail: the directory is then offline, as after any write that failed, and a start recovers it.
//   - Zero in Config is a default, not nothing: to retain for no time say 1 ns, and to keep for ever say -1.
//   - Of the last five batches of a producer only the newest is known after a restart, as in Kafka.
//   - DeleteRecordsTo is durable with the next checkpoint, as in Kafka: until then a crash may bring records back.
//   - A stored batch that rots is served as it is until the scrub comes there: readers check its CRC.
//   - Linux only.
package engine
