// Package guard keeps, beside a segment, what its batches were when they were flushed.
//
// The CRC of a record batch leaves out its first 17 bytes: base offset, length, leader epoch and magic. Bits that rot there change
// which offsets records have, and nobody is told. And a bad batch beyond the recovery point may be a write that a crash tore, or one
// that was flushed and rotted since: the log alone does not say which. A guard tells both. It is of no other use: without one, with a
// short, a torn or an old one a log is what it was before there were guards.
//
// # The file
//
// <base offset, 20 digits>.guard.deleted, beside the segment's .log. Apache Kafka removes what ends in .deleted when it loads a log,
// before it appends to it, truncates or compacts it. So whatever Kafka has made of a log, no guard says that it was otherwise: where
// there is a guard, nobody but us has had the log since. (A Kafka that a power cut stops right then may find its removal undone, but no
// truncation that came after it: file systems with a journal keep that order.)
//
// It is slots of 32 bytes, each of which stands for itself: one that is torn, missing or of zeros is passed over. They are in no
// order; between them may be positions that none covers. Integers are big-endian.
//
//	0    4    8       12        16                      24      28          32
//	| start | end | batches | sum | offset of the first record | version 0 | check |
//
//	start, end   positions in the segment's file, [start, end), of whole batches
//	sum          CRC-32C over the first 21 bytes of each of them: the 17 and Kafka's CRC, which covers the rest
//	check        CRC-32C over the segment's base offset (8 bytes) and the 28 bytes before
//
// A slot does not cross a sector, so that a write tears no slot but between the old one and the new one, and both are true.
//
// A slot is written only after what it covers was flushed. So everything below the greatest end of a guard was flushed, also between
// slots. Nothing flushes the guard itself, but where the log is cut: slots of what is cut must go for good before that does.
//
// # In memory
//
// A Tally sums up the batches that are appended to a log: nothing but numbers, as long as nothing is appended. A Check holds batches
// that are read against a guard. Neither is for more than one goroutine at a time.
package guard
