// Package producer keeps what one log knows of the producers that write to it: the rules of idempotence (KIP-98,
// KIP-360, KIP-679), the transactions that are open, and the snapshot file that saves a replay of the log.
//
// It holds decisions only: no clock, no file, no goroutine. A State is not safe for concurrent use: its owner is the
// log, under the log's lock.
//
// # Appending
//
//	Check     before an append, on the leader: is the batch new, a duplicate, or refused?
//	Update    once it has its offsets, on every replica and in recovery (without Check there)
//	CheckMarker, EndTransaction: the same for a control batch that ends a transaction
//
// Rules for a batch of a client, first that applies:
//
//	epoch    sequence                                 answer
//	same     first and last those of one of the       duplicate, with the original's offsets
//	         last five batches
//	smaller                                           ErrInvalidEpoch
//	new      0                                        accepted, earlier batches are forgotten
//	new      not 0                                    ErrOutOfOrderSequence
//	any      any, nothing known of the producer       accepted: its state may have expired
//	same     follows the last one (2^31-1, then 0)    accepted
//	same     else                                     ErrOutOfOrderSequence
//
// and an accepted batch without the transactional bit, while a transaction of its producer is open, is ErrInvalidTxnState.
// A coordinator's batches have no sequences: only their epoch is checked.
//
// # Transactions
//
//	open: ordered by first offset          ended: marker appended at or above the high watermark
//	FirstUndecidedOffset = first open      FirstUnstableOffset = first of either: the last stable offset is below it
//
// # Snapshot
//
// The file NNN.snapshot holds the state as it was when the log ended at offset NNN. Big endian:
//
//	0        2            6           10
//	| version|   CRC-32C  |   count   |  count entries of 46 bytes ...
//	|   = 1  | of all that follows    |
//
//	0             8     10      14            22     26           34       38           46
//	| producer id |epoch|lastSeq| last offset |delta | timestamp  |coord.  | first offset|
//	|             |     |       |             |      |            |epoch   | of open txn |
//
// last sequence, last offset and delta (last minus first offset) are those of the last data batch, or -1, -1 and 0
// after a marker that began an epoch; timestamp is that of the last batch or marker; the coordinator epoch is -1
// before the first marker, the first offset -1 without an open transaction. Entries are written in the order of producer
// ids. Of the five batches that are remembered only the last survives a restart, as in Kafka.
package producer
