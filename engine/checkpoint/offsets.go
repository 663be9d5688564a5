package checkpoint

import (
	"strconv"

	"github.com/zurau/zurau/engine/fs"
)

// Names of the offset checkpoints at the root of a log directory.
const (
	// RecoveryPoints holds for each log the offset up to which it is flushed: recovery starts there.
	RecoveryPoints = "recovery-point-offset-checkpoint"
	// HighWatermarks holds the high watermarks.
	HighWatermarks = "replication-offset-checkpoint"
	// LogStarts holds log start offsets that are above the base offset of the first segment.
	LogStarts = "log-start-offset-checkpoint"
	// CleanerOffsets holds for each compacted log the first offset that is still to be cleaned.
	CleanerOffsets = "cleaner-offset-checkpoint"
)

// Offset is one entry of an offset checkpoint.
type Offset struct {
	Topic     string // without white space
	Partition int32
	Offset    int64
}

// ReadOffsets reads the offset checkpoint name, in the order of the file. Errors: os.ErrNotExist, ErrCorrupt, or one
// of the file system.
func ReadOffsets(fsys fs.FS, name string) ([]Offset, error) {
	b, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	return parseOffsets(name, b)
}

// WriteOffsets replaces the offset checkpoint name, in the order of entries. Each partition may stand in it once.
func WriteOffsets(fsys fs.FS, name string, entries []Offset) error {
	return Replace(fsys, name, appendOffsets(nil, entries))
}

func parseOffsets(name string, content []byte) ([]Offset, error) {
	l, err := openLines(name, content)
	if err != nil {
		return nil, err
	}
	entries := make([]Offset, 0, l.left)
	for {
		w, ok, err := l.next(3)
		if err != nil {
			return nil, err
		}
		if !ok {
			return entries, nil
		}
		partition, err := l.number("partition", w[1], 32)
		if err != nil {
			return nil, err
		}
		offset, err := l.number("offset", w[2], 64)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Offset{Topic: w[0], Partition: int32(partition), Offset: offset})
	}
}

func appendOffsets(b []byte, entries []Offset) []byte {
	b = appendHeader(b, len(entries))
	for _, e := range entries {
		b = append(b, e.Topic...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(e.Partition), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Offset, 10)
		b = append(b, '\n')
	}
	return b
}
