// Package logfile reads the files of a log directory offline: to show what is in them (Dump) and to check them
// (Verify). It is for directories of zurau and of Apache Kafka alike; and repairs it (Repair).
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
// Each Problem is a row of the recovery table (engine.States, and States for files that are not the engine's), by the rules
// by which the next start decides, and is of one of three types:
//
//	problem   damage; and what lies beyond the recovery point of a log without one: nothing says that it may be missing
//	torn      what a crash leaves above the recovery point
//	note      nothing is wrong
//
// Verify finds more than a start, which reads nothing below recovery points but the ends of segments, and it goes on where a
// start stops. What lies beyond the recovery point is torn in indexes, snapshots and epochs, too.
//
// A log counts as compacted where the cleaner's checkpoint names it, where its batches have lost records, or where it
// is one of the internal topics that are always compacted. Zeros behind an active index are nothing after an unclean stop:
// Kafka lays it out in full and cuts it at a stop.
//
// The files must not be written meanwhile: verify a directory whose broker is stopped, or a copy.
//
// # Repair
//
// Repair does what a start does not, because a person has to decide it: see there. It is the only part that writes.
package logfile
