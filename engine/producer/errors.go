package producer

import "errors"

// Refusals. The errors that are returned wrap one of these and name producer, epochs and sequences.
var (
	// ErrOutOfOrderSequence: the batch does not follow the last one of its producer, or a new epoch does not start at 0.
	ErrOutOfOrderSequence = errors.New("out of order sequence")
	// ErrInvalidEpoch: a newer incarnation of the producer has written already.
	ErrInvalidEpoch = errors.New("invalid producer epoch")
	// ErrInvalidTxnState: a plain batch while a transaction of its producer is open.
	ErrInvalidTxnState = errors.New("invalid transaction state")
	// ErrCoordinatorFenced: a newer coordinator has written a marker of the producer already.
	ErrCoordinatorFenced = errors.New("transaction coordinator fenced")
	// ErrCorruptSnapshot: the bytes are no snapshot of version 1. The state is made again from the log.
	ErrCorruptSnapshot = errors.New("corrupt producer snapshot")
)
