package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/zurau/zurau/engine/record"
)

// ErrOldMessage says that a segment holds messages of magic 0 or 1, which Kafka stored before 0.11 and still serves.
var ErrOldMessage = errors.New("a message of magic 0 or 1, which is sound and not read here")

// OldMessage returns an ErrOldMessage where a sound message of magic 0 or 1 is at a position of a file of that size, else nil.
// Its checksum tells it from a batch that is damaged.
func OldMessage(f io.ReaderAt, at, size int64) error {
	head := make([]byte, record.OldHead)
	if size-at < int64(len(head)) {
		return nil
	}
	if _, err := f.ReadAt(head, at); err != nil {
		return nil // whoever asks has met that error, or will
	}
	n := record.OldSize(head)
	if n == 0 || int64(n) > size-at {
		return nil
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil || !record.IsOld(b) {
		return nil
	}
	return fmt.Errorf("%w: at position %d", ErrOldMessage, at)
}
