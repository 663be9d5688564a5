package record

import "math"

// Origin says who made the records, and with it how far they are trusted.
type Origin int8

const (
	// Client: everything is checked.
	Client Origin = iota
	// Coordinator: the broker's own writes to internal topics and its transaction markers; control batches are
	// allowed, and base offsets and sequences are not looked at.
	Coordinator
	// Replication: batches that a leader has already accepted. Only framing, CRC and header are checked, nothing is
	// changed, and offsets stay as they are.
	Replication
)

// Rules is how a log wants its records: Kafka's topic properties, and when and by whom they are appended.
type Rules struct {
	// Now is the time of the append in ms.
	Now int64
	// LogAppendTime is message.timestamp.type: stamp batches with Now instead of checking the producer's timestamps.
	LogAppendTime bool
	// TimestampBeforeMaxMs and TimestampAfterMaxMs are message.timestamp.before.max.ms and after.max.ms: how far in ms
	// a record's timestamp may lie in the past and in the future. Zero is zero: see DefaultRules. A record without a
	// timestamp (-1) is always in range.
	TimestampBeforeMaxMs, TimestampAfterMaxMs int64
	// Compression is compression.type: a codec, or Producer to keep batches as they were sent.
	Compression Codec
	// CompressionLevel is the codec's own level, 0 its default. It matters where batches are compressed here.
	CompressionLevel int
	// MaxBatchBytes is max.message.bytes: the largest batch in bytes with its header, 0 for no limit.
	MaxBatchBytes int32
	// Compacted is cleanup.policy=compact: every record needs a key.
	Compacted bool
	// OrderedDeltas refuses uncompressed records whose offset deltas are not 0, 1, 2, ...: Kafka 4.4 stores them as they
	// came. Compressed ones are refused always.
	OrderedDeltas bool
	// Origin is who made the records.
	Origin Origin
	// MaxDecompressedBytes caps what the records of one call may decompress to, 0 for DefaultMaxDecompressedBytes.
	MaxDecompressedBytes int
}

// DefaultMaxDecompressedBytes is 64 times Kafka's default for max.message.bytes: far above what producers make of log
// lines, and decompressed in a fraction of a second by every codec.
const DefaultMaxDecompressedBytes = 64 << 20

// DefaultRules are Kafka's defaults for a topic, for a client's append at now (ms).
func DefaultRules(now int64) Rules {
	return Rules{
		Now:                  now,
		TimestampBeforeMaxMs: math.MaxInt64,
		TimestampAfterMaxMs:  3600 * 1000,
		Compression:          Producer,
		MaxBatchBytes:        1<<20 + 12,
	}
}

// maxDecompressed returns the cap with its default.
func (r *Rules) maxDecompressed() int {
	if r.MaxDecompressedBytes > 0 {
		return r.MaxDecompressedBytes
	}
	return DefaultMaxDecompressedBytes
}

// target returns the codec that a batch of codec c is stored with. Control batches are kept as they were written.
func (r *Rules) target(c Codec, control bool) Codec {
	if r.Compression == Producer || c == None && control {
		return c
	}
	return r.Compression
}

// outOfRange reports whether timestamp ts (ms) is too old or too new. Differences wrap around, as Kafka's do, so that
// no timestamp is in range by overflow: now-MinInt64 is negative, and its negation far above any limit.
func (r *Rules) outOfRange(ts int64) bool {
	diff := r.Now - ts
	return diff > r.TimestampBeforeMaxMs || -diff > r.TimestampAfterMaxMs
}
