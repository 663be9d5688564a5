package engine

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
)

// recoveryName is our own file beside Kafka's recovery-point-offset-checkpoint. Kafka passes it over; without it, or with
// one that is garbage, recovery takes every log for an async one and reads more of the headers.
//
//	0                                   version
//	7a1b2c3d                            CRC-32C of all that follows, 8 hex digits
//	2                                   number of entries
//	orders 0 4096 0 1700000000000 4090 96
//	orders 1 17 0 -1 0 -1
//	topic, partition, recovery point, base offset of the segment that holds it, greatest timestamp (ms) in that segment
//	below the point and the last offset of the batch that has it (-1 and the base offset if there is none), first offset
//	from which on everything was written in sync mode (-1: nothing); a base offset of -1 says that the two behind it
//	are not known
const recoveryName = "zurau-recovery-checkpoint"

// A point is where the next recovery of a log starts, and what it need not find out from what lies before.
type point struct {
	offset       int64 // recovery point: everything that a recovery from here needs is on stable storage
	base         int64 // of the segment that holds it
	maxTimestamp int64
	maxOffset    int64
	// syncFrom is an offset from which on no write went out before the one before it was flushed (flightBytes): -1 where
	// that is not promised. It is lowered durably before the first write that breaks the promise.
	syncFrom int64
}

var errPoints = errors.New("not a recovery checkpoint")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendPoints appends the file's content.
func appendPoints(b []byte, points map[Name]point) []byte {
	names := sortedNames(points)
	body := fmt.Appendf(nil, "%d\n", len(names))
	for _, n := range names {
		p := points[n]
		body = fmt.Appendf(body, "%s %d %d %d %d %d %d\n", n.Topic, n.Partition, p.offset, p.base, p.maxTimestamp, p.maxOffset, p.syncFrom)
	}
	return append(fmt.Appendf(b, "0\n%08x\n", crc32.Checksum(body, castagnoli)), body...)
}

// parsePoints reads the file's content.
func parsePoints(b []byte) (map[Name]point, error) {
	version, rest, _ := bytes.Cut(b, []byte("\n"))
	sum, body, _ := bytes.Cut(rest, []byte("\n"))
	if string(version) != "0" || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return nil, errPoints
	}
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	if lines[0] != strconv.Itoa(len(lines)-1) {
		return nil, errPoints
	}
	points := make(map[Name]point, len(lines)-1)
	for _, line := range lines[1:] {
		w := strings.Fields(line)
		if len(w) != 7 {
			return nil, errPoints
		}
		var v [6]int64
		for i := range v {
			n, err := strconv.ParseInt(w[i+1], 10, 64)
			if err != nil || n < -1 {
				return nil, errPoints
			}
			v[i] = n
		}
		if v[0] < 0 || v[0] > math.MaxInt32 || v[1] < 0 {
			return nil, errPoints
		}
		points[Name{w[0], int32(v[0])}] = point{v[1], v[2], v[3], v[4], v[5]}
	}
	return points, nil
}

// sortedNames gives one state one file.
func sortedNames[T any](m map[Name]T) []Name {
	names := make([]Name, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := names[i], names[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
	return names
}

// readPoints reads our own file into the recovery points that Kafka's has, where the two speak of the same log.
func (e *Engine) readPoints() {
	name := filepath.Join(e.opt.Dir, recoveryName)
	b, err := e.readFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var own map[Name]point
	if err == nil {
		own, err = parsePoints(b)
	}
	if err != nil {
		e.meet(CheckpointDamaged, "file", recoveryName, "error", err)
		return
	}
	for n, p := range own {
		at, ok := e.checkpoints.points[n]
		switch {
		case !ok:
		case at.offset == p.offset:
			e.checkpoints.points[n] = p
		case at.offset > p.offset:
			// A crash came between the writes of the two files, or Kafka has had the directory since. The lower point
			// is the safe one, and nothing else is known.
			e.checkpoints.points[n] = pointAt(p.offset)
			e.meet(CheckpointsDiffer, "partition", n, "kafka", at.offset, "zurau", p.offset)
		default:
			e.meet(CheckpointsDiffer, "partition", n, "kafka", at.offset, "zurau", p.offset)
		}
	}
}

// pointAt returns a recovery point of which nothing else is known.
func pointAt(offset int64) point { return point{offset, -1, -1, -1, -1} }

// writePoints replaces our own file.
func (e *Engine) writePoints(points map[Name]point) error {
	return checkpoint.Replace(e.fs, filepath.Join(e.opt.Dir, recoveryName), appendPoints(nil, points))
}
