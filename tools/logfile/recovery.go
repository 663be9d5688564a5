package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine"
)

// recoveryName is zurau's own checkpoint beside Kafka's, see package engine:
//
//	0                     version
//	b275db7b              CRC-32C of what follows
//	1                     number of entries
//	orders 0 15 0 1796084372097 14 -1
//
// The numbers are partition, recovery point, base offset of its segment, the largest timestamp in it and that record's
// offset, and the offset from which on the log was in sync.
const recoveryName = "zurau-recovery-checkpoint"

// flightBytes is how much of a log in sync is written and not flushed at a time (engine): a good batch further behind a
// bad place proves that the bad place was flushed once.
const flightBytes = 16 << 20

// RecoveryItem is a line of zurau's recovery checkpoint.
type RecoveryItem struct {
	Type         string `json:"type"` // recovery
	Topic        string `json:"topic"`
	Partition    int32  `json:"partition"`
	Offset       int64  `json:"offset"`
	Base         int64  `json:"base"`
	MaxTimestamp int64  `json:"maxTimestamp"`
	MaxOffset    int64  `json:"maxOffset"`
	SyncFrom     int64  `json:"syncFrom"` // -1: not in sync
}

func (i RecoveryItem) String() string {
	return fmt.Sprintf("%s-%d offset %d segment %d largest timestamp %d at offset %d sync from %d", i.Topic, i.Partition, i.Offset,
		i.Base, i.MaxTimestamp, i.MaxOffset, i.SyncFrom)
}

// parseRecovery reads the file.
func parseRecovery(b []byte) (items []RecoveryItem, err error) {
	version, rest, _ := bytes.Cut(b, []byte("\n"))
	sum, body, _ := bytes.Cut(rest, []byte("\n"))
	if string(version) != "0" {
		return nil, fmt.Errorf("version %q, expected 0", version)
	}
	if want := fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)); string(sum) != want {
		return nil, fmt.Errorf("checksum %q, computed %s", sum, want)
	}
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if lines[0] != strconv.Itoa(len(lines)-1) {
		return nil, fmt.Errorf("%d lines, where %q are announced", len(lines)-1, lines[0])
	}
	for n, line := range lines[1:] {
		i := RecoveryItem{Type: "recovery"}
		got, err := fmt.Sscanf(line, "%s %d %d %d %d %d %d", &i.Topic, &i.Partition, &i.Offset, &i.Base, &i.MaxTimestamp, &i.MaxOffset, &i.SyncFrom)
		if err != nil || got != 7 {
			return nil, errors.Join(fmt.Errorf("line %d: %q", n+4, line), err)
		}
		items = append(items, i)
	}
	return items, nil
}

// bad is the first bad place of a log above the recovery point.
type bad struct {
	path     string
	position int64 // in that file
	at       int64 // position over all segments
	offset   int64 // that was expected there
	set      bool
}

// proven reports a bad place that was taken for torn where a good batch at position at, over all segments, proves that
// it was flushed once.
func (p *partition) proven(path string, s Span) {
	at := p.before + s.Position
	if !p.bad.set || p.syncFrom < 0 || p.bad.offset < p.syncFrom || at-p.bad.at <= flightBytes {
		return
	}
	p.bad.set = false
	p.report(Problem{State: engine.CorruptFlushed, File: p.bad.path, Position: p.bad.position, folder: p.dir,
		Found:    fmt.Sprintf("bad bytes, and a good batch %d bytes behind them in %s", at-p.bad.at, path),
		Expected: fmt.Sprintf("none more than %d bytes behind: the log was in sync, so the bad bytes were flushed once", flightBytes)})
}
