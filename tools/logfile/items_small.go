package logfile

import (
	"encoding/json"
	"fmt"

	"github.com/zurau/zurau/replication/metadata"
)

// OffsetIndexItem is an entry of an offset index.
type OffsetIndexItem struct {
	Type     string `json:"type"` // offset
	Offset   int64  `json:"offset"`
	Position int64  `json:"position"`
}

func (i OffsetIndexItem) String() string {
	return fmt.Sprintf("offset %d position %d", i.Offset, i.Position)
}

// TimeIndexItem is an entry of a time index.
type TimeIndexItem struct {
	Type      string `json:"type"` // time
	Timestamp int64  `json:"timestamp"`
	Offset    int64  `json:"offset"`
}

func (i TimeIndexItem) String() string {
	return fmt.Sprintf("timestamp %d offset %d", i.Timestamp, i.Offset)
}

// GuardItem is a piece in a guard: batches of a segment as they were when they were flushed.
type GuardItem struct {
	Type       string `json:"type"` // piece
	Position   int64  `json:"position"`
	End        int64  `json:"end"`
	Batches    uint32 `json:"batches"`
	BaseOffset int64  `json:"baseOffset"`
	Sum        string `json:"sum"` // CRC-32C of the first 21 bytes of each batch, in hex
}

func (i GuardItem) String() string {
	return fmt.Sprintf("piece: positions %d to %d, %s from offset %d on, sum %s", i.Position, i.End, count(int64(i.Batches), "batch", "batches"), i.BaseOffset, i.Sum)
}

// TxnIndexItem is an entry of a transaction index: a transaction that was aborted.
type TxnIndexItem struct {
	Type             string `json:"type"` // aborted
	Version          int16  `json:"version"`
	ProducerID       int64  `json:"producerId"`
	FirstOffset      int64  `json:"firstOffset"`
	LastOffset       int64  `json:"lastOffset"`
	LastStableOffset int64  `json:"lastStableOffset"`
}

func (i TxnIndexItem) String() string {
	return fmt.Sprintf("aborted: producer %d offsets %d to %d last stable offset %d version %d", i.ProducerID, i.FirstOffset,
		i.LastOffset, i.LastStableOffset, i.Version)
}

// ProducerItem is an entry of a producer snapshot.
type ProducerItem struct {
	Type             string `json:"type"` // producer
	ProducerID       int64  `json:"producerId"`
	Epoch            int16  `json:"epoch"`
	LastSequence     int32  `json:"lastSequence"`
	LastOffset       int64  `json:"lastOffset"`
	OffsetDelta      int32  `json:"offsetDelta"`
	LastTimestamp    int64  `json:"lastTimestamp"`
	CoordinatorEpoch int32  `json:"coordinatorEpoch"`
	TxnFirstOffset   int64  `json:"txnFirstOffset"` // of the open transaction, -1 without
}

func (i ProducerItem) String() string {
	return fmt.Sprintf("producer %d epoch %d last sequence %d last offset %d delta %d timestamp %d coordinator epoch %d open transaction from %d",
		i.ProducerID, i.Epoch, i.LastSequence, i.LastOffset, i.OffsetDelta, i.LastTimestamp, i.CoordinatorEpoch, i.TxnFirstOffset)
}

// CheckpointItem is a line of an offset checkpoint.
type CheckpointItem struct {
	Type      string `json:"type"` // checkpoint
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (i CheckpointItem) String() string {
	return fmt.Sprintf("%s-%d offset %d", i.Topic, i.Partition, i.Offset)
}

// EpochItem is a line of leader epochs.
type EpochItem struct {
	Type        string `json:"type"` // epoch
	Epoch       int32  `json:"epoch"`
	StartOffset int64  `json:"startOffset"`
}

func (i EpochItem) String() string {
	return fmt.Sprintf("epoch %d from offset %d", i.Epoch, i.StartOffset)
}

// ValueItem is a named value of a small file.
type ValueItem struct {
	Type  string `json:"type"` // value
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (i ValueItem) String() string { return i.Key + " " + i.Value }

// MetadataItem is a frame of zurau's metadata log, or a record of its snapshot.
type MetadataItem struct {
	Type     string            `json:"type"` // header, entry, state, snapshot
	Position int64             `json:"position"`
	Fields   map[string]uint64 `json:"fields,omitempty"`
	Records  []MetadataRecord  `json:"records,omitempty"`
	names    []string          // of the fields, in order
}

// MetadataRecord is one record with the name of its kind.
type MetadataRecord struct {
	Kind   string          `json:"kind"`
	Record metadata.Record `json:"record"`
}

func (i MetadataItem) String() string {
	s := fmt.Sprintf("position %d %s", i.Position, i.Type)
	for _, n := range i.names {
		s += fmt.Sprintf(" %s %d", n, i.Fields[n])
	}
	for _, r := range i.Records {
		s += fmt.Sprintf("\n  %s %+v", r.Kind, r.Record)
	}
	return s
}

// jsonString encodes a string, which never fails.
func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}
