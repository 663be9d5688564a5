package record

import (
	"fmt"
	"strconv"
)

// Kind says what is wrong with records, in the engine's words. The server maps kinds to Kafka's error codes; the number
// in each comment is the code that Apache Kafka 4.4 answers.
type Kind int8

const (
	// Corrupt: the bytes are not what was sent, or not a batch at all (CORRUPT_MESSAGE, 2).
	Corrupt Kind = iota + 1
	// TooLarge: a batch is above Rules.MaxBatchBytes (MESSAGE_TOO_LARGE, 10).
	TooLarge
	// InvalidTimestamp: at least one record's timestamp is out of range (INVALID_TIMESTAMP, 32).
	InvalidTimestamp
	// UnsupportedCompression: the attributes name a codec that does not exist (UNSUPPORTED_COMPRESSION_TYPE, 76).
	UnsupportedCompression
	// InvalidRecord: well transported but not allowed, or its parts contradict each other (INVALID_RECORD, 87).
	InvalidRecord
	// UnsupportedVersion: a magic that cannot be read here (see Batch.Check).
	UnsupportedVersion
	// Undecodable: the codec cannot read the compressed bytes. Kafka lets the exception of its library through, which
	// becomes UNKNOWN_SERVER_ERROR (-1); that says nothing, but clients and tests know it.
	Undecodable
	// Bomb: the records are larger than Rules.MaxDecompressedBytes, or ask for more memory to decompress than that. Kafka
	// has no such limit. MESSAGE_TOO_LARGE (10) fits: producers split a batch on it.
	Bomb
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case Corrupt:
		return "corrupt"
	case TooLarge:
		return "too large"
	case InvalidTimestamp:
		return "invalid timestamp"
	case UnsupportedCompression:
		return "unsupported compression"
	case InvalidRecord:
		return "invalid record"
	case UnsupportedVersion:
		return "unsupported version"
	case Undecodable:
		return "undecodable"
	case Bomb:
		return "decompresses to too much"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Error is the one error type of this package for records that are refused.
type Error struct {
	Kind    Kind
	Message string
	// Records names the records at fault, in order, where single records are. It is never longer than MaxRecordErrors.
	Records []RecordError
}

// RecordError is what is wrong with one record.
type RecordError struct {
	Index   int // of the record within its batch, from 0
	Message string
}

// MaxRecordErrors bounds Error.Records: a batch of 1 MiB can hold 150,000 records, and an answer that names each is
// larger than the request.
const MaxRecordErrors = 1000

func (e *Error) Error() string { return e.Kind.String() + ": " + e.Message }

// errorf makes an Error. It is kept out of callers so that the good path stays small.
//
//go:noinline
func errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}
