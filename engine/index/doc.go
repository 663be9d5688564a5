// Package index holds the indexes of a segment, in Apache Kafka's files: the offset index (which position in the log file
// to start reading at for an offset) and the time index (which offset to start at for a timestamp), both sparse, and the
// transaction index (which transactions were aborted by a marker in the segment).
//
// # Files
//
// Entries of fixed size without header or checksum, big endian, sorted. Offsets are relative to the base offset of the
// segment, so a segment spans at most 2^31-1 of them.
//
//	NAME.index      0        4        8
//	                | offset |position|         last offset of a batch, position of that batch in NAME.log
//
//	NAME.timeindex  0                 8        12
//	                |    timestamp    | offset |    largest timestamp so far in ms since 1970, offset of a record
//	                                                that has it
//
//	NAME.txnindex   0         2             10             18            26                   34
//	                | version | producer id | first offset | last offset | last stable offset |
//	                | = 0     |             | of records   | the marker's | when it was written|
//
// In an offset index both columns rise strictly and no position is 0: a segment's first batch is found without one. In a
// time index timestamps rise strictly and offsets never fall. At rest a file has exactly its entries. (Kafka lays active
// indexes out in full and leaves zeros behind them when it is killed: Check refuses those, as Kafka rebuilds them.)
//
// An index is worth nothing that the log does not have: it is made again from it (Reset, then Append for each interval)
// whenever an error is ErrCorrupt. Indexes of two segments that were swapped look right by themselves; the segment finds
// that out by looking in its log at what Last says, and at the batch that a lookup led to.
//
// In a transaction index last offsets rise strictly, first ones do not. A segment without aborted transactions has no file.
// Its entries are few and without intervals, so what Txn does is not what the others do, and what follows is theirs: see Txn.
//
// # States
//
//	         Append, MaybeAppend, TruncateTo, Reset
//	at rest ----------------------------------------> active
//	   ^                                                |
//	   +-------------------- Seal ----------------------+
//
// At rest an index keeps its size and its last entry, no file and no entries: some 150 bytes. A lookup maps the file
// read-only (or reads it, when it is no larger than a page) and keeps that until Seal, Close or, where the index was
// given to a Mappings, until others need the place. Active, all entries are in memory in the layout of the file; Flush
// writes the new ones with an ordinary write, because a store into a mapping would be a fatal signal on a full disk. The
// file stays open from the first write that is not flushed to the flush, and no longer.
//
// # Who may call
//
// Everything is safe for concurrent use. Append, MaybeAppend, TruncateTo and Reset belong to one owner, the log, since the
// order of entries is its own; Flush may run beside them in another goroutine. Append and Lookup of an active index touch
// memory only and never wait for a Flush; at rest both read the file first, and may wait for a disk: not on an event
// loop. Activate takes that wait out of the first Append after a start.
//
// # Faults
//
// A mapped file that another process cut, or that a bad disk cannot read, raises SIGBUS at the load that touches it. A
// lookup turns that into an ErrCorrupt, for its own mapping only: any other fault stays the crash that it is.
package index
