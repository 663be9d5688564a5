package record

import "encoding/binary"

// EmptyBatch returns a batch without records that stands for the offsets from first to last, as Kafka's cleaner leaves
// where it has removed all records of a batch: consumers go on behind it. last is at most 2^31-1 more than first.
func EmptyBatch(first, last int64, leaderEpoch int32) Batch {
	b := Batch(appendHeader(nil, 0))
	b.SetBaseOffset(first)
	b.SetPartitionLeaderEpoch(leaderEpoch)
	binary.BigEndian.PutUint32(b[lastOffsetDeltaAt:], uint32(last-first))
	b.setHeader(0, noTimestamp, noTimestamp)
	return b
}
