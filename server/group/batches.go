package group

import (
	"bytes"
	"iter"

	"github.com/zurau/zurau/engine/record"
)

// LogRecords turns the batches of a partition of __consumer_offsets into what Load reads. The records alias nothing
// that the batches own.
func LogRecords(batches iter.Seq2[record.Batch, error]) iter.Seq2[LogRecord, error] {
	return func(yield func(LogRecord, error) bool) {
		for b, err := range batches {
			if err != nil {
				yield(LogRecord{}, err)
				return
			}
			if !eachRecord(b, yield) {
				return
			}
		}
	}
}

// eachRecord yields the records of a batch, or its marker. Other control batches have nothing for a group.
func eachRecord(b record.Batch, yield func(LogRecord, error) bool) bool {
	if b.IsControl() {
		end, ok := b.EndTxn()
		return !ok || yield(LogRecord{Marker: true, Commit: end.Commit, ProducerID: b.ProducerID()}, nil)
	}
	for r, err := range b.Records(0) {
		if err != nil {
			yield(LogRecord{}, err)
			return false
		}
		lr := LogRecord{
			Record:        Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)},
			Transactional: b.IsTransactional(), ProducerID: b.ProducerID(),
		}
		if !yield(lr, nil) {
			return false
		}
	}
	return true
}
