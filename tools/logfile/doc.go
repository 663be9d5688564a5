// Package logfile reads the files of a log directory offline: to show what is in them (Dump) and to check them
// (Verify). It is for directories of zurau and of Apache Kafka alike, and never writes.
//
// It differs from the engine's own reading in that it goes on behind damage: where the engine stops at the first bad
// batch, a person wants to know what is behind it.
//
// # Dump
//
// Dump gives one Item for each batch, record, entry or line. An Item prints itself for people (String) and is encoded
// as JSON for programs.
//
// # Verify
//
// A partition's segments are read once, in order, and everything else is held against that one pass: the offset, time
// and transaction indexes of each segment, the leader epochs, the producer snapshots (by keeping a producer state up to
// each of them), and at the end the checkpoints at the root. Memory: the index files of one segment, one batch, and the
// producers.
//
//	what             where                   Problem
//	bad batch        below recovery point    corruption: it was flushed once
//	                 above it, unclean stop  torn: the next start cuts it off
//	                 above it, in sync, and  corruption: it was flushed once, else what is behind could not be there
//	                 a good batch far behind
//	                 no recovery point       corruption: nothing says that it may be missing
//	offsets          fall or repeat          corruption
//	                 have a gap              corruption, unless the log is compacted
//	index, snapshot, disagrees with the log  corruption; for what lies beyond the log's end and above the recovery
//	epochs                                   point, torn
//	active index     zeros at its end        nothing after an unclean stop: Kafka lays it out in full and cuts it at a stop
//	checkpoint       beyond the log's end    corruption for a recovery point, torn for a high watermark
//
// A log counts as compacted where the cleaner's checkpoint names it, where its batches have lost records, or where it
// is one of the internal topics that are always compacted.
//
// The files must not be written meanwhile: verify a directory whose broker is stopped, or a copy.
package logfile
