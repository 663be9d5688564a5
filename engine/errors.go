package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
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
	// ErrUnfinished says that a directory is a backup that was not finished: it may lack anything.
	ErrUnfinished = errors.New("a backup that was not finished, and may lack anything: remove it, and make another")
	// ErrTooLargeForSegment says that the batches are larger than a segment may be.
	ErrTooLargeForSegment = errors.New("record batches larger than a segment")
)

// offline wraps the cause of a failure so that errors.Is finds both ErrOffline and the cause.
func offline(cause error) error { return fmt.Errorf("%w: %w", ErrOffline, cause) }

// final reports whether err is a failed write or flush: after one nobody knows what the disk has. A file that cannot be
// opened, made or renamed is not one, and neither is a full disk that says so before it has taken anything.
func final(err error) bool {
	var op *os.PathError
	if !errors.As(err, &op) {
		return false
	}
	switch op.Op {
	case "write":
		return !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT)
	case "fdatasync", "fsync", "truncate":
		return true
	}
	return false
}

// failIfFinal takes the directory offline where err says that it is to be, and returns err.
func (e *Engine) failIfFinal(err error) error {
	if err == nil || !final(err) {
		return err
	}
	e.fail(err)
	return offline(err)
}
