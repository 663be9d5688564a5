package record

import "encoding/binary"

// EndTxn is the record of a control batch that ends a transaction.
type EndTxn struct {
	Commit           bool
	CoordinatorEpoch int32
}

// Control record types, and the version of their key and value.
const (
	endTxnAbort   = 0
	endTxnCommit  = 1
	endTxnVersion = 0
)

// AddEndTxn appends a marker. Set Control, Transactional and the producer too.
func (b *Builder) AddEndTxn(timestamp int64, m EndTxn) *Builder {
	kind := uint16(endTxnAbort)
	if m.Commit {
		kind = endTxnCommit
	}
	key := binary.BigEndian.AppendUint16(nil, endTxnVersion)
	value := binary.BigEndian.AppendUint16(nil, endTxnVersion)
	return b.Add(timestamp, binary.BigEndian.AppendUint16(key, kind), binary.BigEndian.AppendUint32(value, uint32(m.CoordinatorEpoch)))
}

// EndTxn returns the marker in a control batch, and false where it holds something else, as Kafka's metadata log does.
func (b Batch) EndTxn() (m EndTxn, ok bool) {
	if !b.IsControl() {
		return m, false
	}
	for r, err := range b.Records(0) {
		if err != nil || len(r.Key) < 4 || len(r.Value) < 6 {
			return m, false
		}
		kind := binary.BigEndian.Uint16(r.Key[2:])
		m = EndTxn{Commit: kind == endTxnCommit, CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:]))}
		return m, kind <= endTxnCommit
	}
	return m, false
}
