// Package checkpoint reads and writes the small files that stand beside the logs of a directory, in the formats of
// Apache Kafka 4.x, and holds the leader epochs of one log in memory (LeaderEpochs).
//
// It decides nothing: what a missing or damaged file means (start at 0, rebuild from the log, refuse to start) is the
// caller's, who tells the two apart with errors.Is(err, os.ErrNotExist) and errors.Is(err, ErrCorrupt).
//
// # Offset checkpoints
//
// recovery-point-offset-checkpoint, replication-offset-checkpoint, log-start-offset-checkpoint and
// cleaner-offset-checkpoint, at the root of a log directory. Text; a line ends with one newline, the last one too:
//
//	0                     version
//	2                     number of entries
//	orders 0 13           topic, partition, offset, separated by one space
//	orders 1 6
//
// A file of no bytes has no entries: Kafka makes it so before its first write. The order of the entries means nothing
// (Kafka's is that of a hash table) and is kept by ReadOffsets and WriteOffsets.
//
// # leader-epoch-checkpoint, in the folder of each log
//
//	0                     version
//	2                     number of entries
//	0 0                   leader epoch, offset of the first record that was appended in it
//	2 273
//
// Epochs and offsets rise strictly from line to line. A file that breaks this is corrupt, and the epochs are then
// taken from the batch headers of the log: an empty cache in its place could let logs diverge (KAFKA-16541).
//
// # partition.metadata, in the folder of each log
//
//	version: 0
//	topic_id: HTG7yel4RDajLWwib9uuPg      16 bytes in URL base64 without padding; no newline after it
//
// # meta.properties, at the root
//
// A Java properties file. Kafka writes the keys in this order, under a comment and the time of writing:
//
//	#
//	#Mon Nov 30 22:51:07 UTC 2026
//	node.id=1
//	directory.id=Jo-8DfRX7gUDEcDB7fX8wg
//	version=1
//	cluster.id=AAAAAAAAAAAAAAAAAAAAAQ
//
// # .kafka_cleanshutdown, at the root
//
// One line of JSON without a newline: {"version":0,"brokerEpoch":109}. That the file is there says that the last stop
// was orderly; what is in it only proves it to a controller (KIP-966). Remove it before the first write after a start
// (RemoveCleanShutdown), or a later crash would be taken for an orderly stop.
//
// # Writing
//
// Each file is replaced as a whole: NAME.tmp is written, flushed and renamed over NAME, and the directory is flushed.
// After a crash NAME is the old file or the new one. Functions for one name must not run at the same time as each
// other; for different names they may. They wait for a disk: never call them on an event loop or in an append.
package checkpoint
