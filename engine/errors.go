package engine

import (
	"errors"
	"fmt"
)

var (
	// ErrOffline says that the directory of the log, or the log itself, is offline: a write or a flush failed, or its files
	// are corrupt. It wraps the cause. Nothing is acknowledged any more, and nothing unflushed is served.
	ErrOffline = errors.New("offline")
	// ErrNoSpace says that the file system had no room for the append. Nothing was appended; later tries may succeed.
	ErrNoSpace = errors.New("no space left for an append")
	// ErrBusy says that the appends in memory are at Options.MemoryBytes. Nothing was appended: see Engine.Ready.
	ErrBusy = errors.New("too many bytes wait to be written")
	// ErrOffsetOutOfRange says that an offset lies before the log's start or after its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrDeleted says that the log was deleted.
	ErrDeleted = errors.New("log deleted")
	// ErrClosed says that the engine was closed.
	ErrClosed = errors.New("engine closed")
	// ErrExists says that a log of that name is there already.
	ErrExists = errors.New("log exists")
	// ErrTooLargeForSegment says that the batches are larger than a segment may be.
	ErrTooLargeForSegment = errors.New("record batches larger than a segment")
)

// offline wraps the cause of a failure so that errors.Is finds both ErrOffline and the cause.
func offline(cause error) error { return fmt.Errorf("%w: %w", ErrOffline, cause) }
