// Package record reads, checks, converts and builds Kafka's record batches: the unit that a producer sends, a log
// stores and a consumer gets. It holds the format and the rules of what a log takes; it knows no offsets but those in
// the bytes, no files, no clock and no goroutines.
//
// It does not keep producer state (a batch that is well made may still be a duplicate), it does not assign offsets
// (Batch.SetBaseOffset is for the log, under its lock), and it does not look at what keys and values mean.
//
// # Words
//
// A batch is a header and records. The wrapper of magic 0 and 1 is a message whose value holds compressed messages. A
// delta is relative to the batch's base offset or base timestamp. A control batch holds the broker's markers. A record
// set is batches one behind the other, as in a produce request.
//
// # A batch of magic 2
//
// All integers are big endian. The CRC is CRC-32C (Castagnoli) of everything behind it, so base offset, length, leader
// epoch and magic can change without it.
//
//	 0               8       12      16 17      21  23      27
//	┌───────────────┬───────┬───────┬──┬───────┬───┬───────┬─────────────────
//	│ base offset   │length │leader │ 2│ CRC   │att│ last  │ base timestamp
//	│ int64         │int32  │epoch  │i8│uint32 │i16│ delta │ int64
//	└───────────────┴───────┴───────┴──┴───────┴───┴───────┴─────────────────
//	                         ◄── length counts from here ─── … ─►
//	                                            ◄── the CRC covers from here ─►
//	 27              35              43              51  53      57      61
//	┌───────────────┬───────────────┬───────────────┬───┬───────┬───────┬─────
//	│ base timestamp│ max timestamp │ producer id   │ep.│ base  │count  │records…
//	│ int64         │ int64         │ int64         │i16│ seq.  │int32  │
//	└───────────────┴───────────────┴───────────────┴───┴───────┴───────┴─────
//
//	attributes  6 delete horizon  5 control  4 transactional  3 LogAppendTime  2-0 codec
//
// Records follow, compressed as one where there is a codec. Varints are zigzag; a size of -1 is null.
//
//	length       varint   of what follows
//	attributes   int8     0
//	timestamp    varlong  delta to the base timestamp, ms
//	offset       varint   delta to the base offset
//	key          varint size, bytes
//	value        varint size, bytes
//	headers      varint count, then each: key (varint size, bytes, never null), value (varint size, bytes)
//
// # A message of magic 0 or 1
//
// Its CRC is CRC-32 (IEEE) of everything behind it. The timestamp is there in magic 1 only.
//
//	 0               8       12      16 17 18              26
//	┌───────────────┬───────┬───────┬──┬──┬───────────────┬───────────────┬─────────────────
//	│ offset        │length │ CRC   │ma│at│ timestamp     │ key size, key │ value size, value
//	└───────────────┴───────┴───────┴──┴──┴───────────────┴───────────────┴─────────────────
//	                         ◄── length counts from here
//	                                 ◄── the CRC covers from here
//
// # How a log uses it
//
// For an append: Prepare with the log's Rules, ask the producer state about each Info, take the lock, SetBaseOffset and
// SetPartitionLeaderEpoch on each Prepared.Batch, write Prepared.Bytes. For recovery: Next, then Check, over the bytes
// of a segment. For tools: Batch.Records.
//
// A Batch is a view and a Prepared has one owner; functions may be called from anywhere. Decoders and buffers are in
// sync.Pools. Prepare takes microseconds for a batch that is not compressed and up to a second for the worst that the
// caps let in: NeedsDecompression says beforehand.
//
// # Limits
//
// What a client can make the package do is bounded before it happens: counts and sizes against the bytes that are
// there, decompressed bytes by Rules.MaxDecompressedBytes, gzip members, zstd windows, the claims of snappy and LZ4
// blocks, the depth of wrappers (one) and the number of record errors by constants beside the code.
package record
