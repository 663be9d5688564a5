package api

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
)

// magicAt is where every batch and message has its magic byte.
const (
	magicAt = 16
)

// requestFault is what Kafka checks of a request before it looks at a log.
type requestFault struct{ code int16 }

func (r requestFault) Error() string { return kerr.ErrorForCode(r.code).Error() }

// checkRequest holds the records against the rules of the request's version: one batch of magic 2.
func (part *producePart) checkRequest() error {
	b := part.records
	if len(b) < record.HeaderSize {
		if len(b) > magicAt && b[magicAt] > 2 {
			return nil // Prepare says what is wrong with it
		}
		return requestFault{kerr.InvalidRecord.Code}
	}
	if b[magicAt] != 2 {
		if b[magicAt] > 2 {
			return nil
		}
		return requestFault{kerr.InvalidRecord.Code}
	}
	size := int64(int32(binary.BigEndian.Uint32(b[8:]))) + 12
	if size >= record.HeaderSize && size != int64(len(b)) {
		return requestFault{kerr.InvalidRecord.Code} // a second batch, or the first is cut off
	}
	batch := record.Batch(b)
	if batch.Codec() == record.Zstd && part.req.r.Version < 7 {
		return requestFault{kerr.UnsupportedCompressionType.Code}
	}
	if batch.IsTransactional() {
		return requestFault{kerr.InvalidTxnState.Code}
	}
	return nil
}

// deniedTransaction reports whether a batch is transactional in a request that names no transactional id.
func (p *produceRequest) deniedTransaction() bool {
	if p.transactional {
		return false
	}
	for i := range p.parts {
		b := p.parts[i].records
		if len(b) >= record.HeaderSize && b[magicAt] == 2 && record.Batch(b).IsTransactional() {
			return true
		}
	}
	return false
}

// refused notes why the records are not appended, and returns the code.
func (part *producePart) refused(err error) int16 {
	var r requestFault
	if errors.As(err, &r) {
		if r.code == kerr.InvalidTxnState.Code {
			part.message = "The partition is not part of an ongoing transaction of this producer"
		}
		return r.code
	}
	var e *record.Error
	if !errors.As(err, &e) {
		return kerr.UnknownServerError.Code
	}
	part.faults = e.Records
	if len(e.Records) > 0 || e.Kind == record.Corrupt {
		part.message = e.Message
	}
	if e.Kind == record.Corrupt || e.Kind == record.TooLarge {
		part.result.LogStartOffset = -1
	}
	return recordCode(e.Kind)
}

// recordCode is Kafka's code for a kind of bad records.
func recordCode(k record.Kind) int16 {
	switch k {
	case record.Corrupt:
		return kerr.CorruptMessage.Code
	case record.TooLarge:
		return kerr.MessageTooLarge.Code
	case record.InvalidTimestamp:
		return kerr.InvalidTimestamp.Code
	case record.UnsupportedCompression:
		return kerr.UnsupportedCompressionType.Code
	case record.UnsupportedVersion:
		return kerr.UnsupportedForMessageFormat.Code
	case record.Undecodable:
		return kerr.UnknownServerError.Code
	}
	return kerr.InvalidRecord.Code
}

// appendCode is Kafka's code for why a log did not append.
func appendCode(err error) int16 {
	switch {
	case errors.Is(err, engine.ErrDeleted):
		return kerr.UnknownTopicOrPartition.Code
	case errors.Is(err, engine.ErrTooLargeForSegment):
		return kerr.RecordListTooLarge.Code
	case errors.Is(err, producer.ErrOutOfOrderSequence):
		return kerr.OutOfOrderSequenceNumber.Code
	case errors.Is(err, producer.ErrInvalidEpoch):
		return kerr.InvalidProducerEpoch.Code
	case errors.Is(err, producer.ErrInvalidTxnState):
		return kerr.InvalidTxnState.Code
	case errors.Is(err, engine.ErrBusy):
		return kerr.RequestTimedOut.Code
	}
	return kerr.KafkaStorageError.Code
}
