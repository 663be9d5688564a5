package engine

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// straySuffix ends the name of a folder that was set aside.
const straySuffix = "-stray"

// compareCheckpoints tells of logs that the checkpoints know and that have no folder. aside are folders of logs that were
// deleted or set aside: a crash may have come before the checkpoints forgot them.
func (e *Engine) compareCheckpoints(names []Name, aside []string) error {
	_, err := e.fs.Stat(filepath.Join(e.opt.Dir, checkpoint.RecoveryPoints))
	if errors.Is(err, os.ErrNotExist) && len(names) > 0 {
		e.meet(CheckpointMissing, "file", checkpoint.RecoveryPoints)
	}
	known, err := e.readOffsets(checkpoint.HighWatermarks) // of no other use: what is above it is not cut
	if err != nil {
		return err
	}
	for n, p := range e.checkpoints.points {
		known[n] = max(known[n], p.offset)
	}
	for n, start := range e.checkpoints.starts {
		known[n] = max(known[n], start)
	}
	for _, n := range names {
		delete(known, n)
	}
	for _, n := range sortedNames(known) {
		// A log without records has no folder.
		if known[n] > 0 && !slices.ContainsFunc(aside, func(folder string) bool { return wasOf(folder, n) }) {
			e.meet(FolderMissing, "partition", n, "end", known[n])
		}
	}
	return nil
}

// wasOf reports whether a folder that was put aside may be that of a log: <topic>-<partition>.<digits>-delete, where as
// much of the topic is left as the longest name has room for.
func wasOf(folder string, n Name) bool {
	dot := strings.LastIndexByte(folder, '.')
	dash := strings.LastIndexByte(folder[:max(dot, 0)], '-')
	if dash < 1 || folder[dash+1:dot] != strconv.Itoa(int(n.Partition)) {
		return false
	}
	topic := folder[:dash]
	return topic == n.Topic || len(folder) == maxFileName && strings.HasPrefix(n.Topic, topic)
}

// compareIDs tells of logs with another topic id than most of their topic's.
func (e *Engine) compareIDs() {
	topics := map[string][]*Log{}
	for _, l := range e.Logs() {
		if l.id != [16]byte{} {
			topics[l.name.Topic] = append(topics[l.name.Topic], l)
		}
	}
	for _, logs := range topics {
		slices.SortFunc(logs, func(a, b *Log) int { return cmp.Compare(a.name.Partition, b.name.Partition) })
		count := map[[16]byte]int{}
		for _, l := range logs {
			count[l.id]++
		}
		most := logs[0].id
		for _, l := range logs {
			if count[l.id] > count[most] {
				most = l.id
			}
		}
		for _, l := range logs {
			if l.id != most {
				e.meet(MetadataForeign, "partition", l.name, "id", checkpoint.FormatID(l.id), "expected", checkpoint.FormatID(most))
			}
		}
	}
}

// keepPoints gives corrupt logs that no checkpoint knows a recovery point, behind the damage where the directory was clean:
// the next start, to which it is not, would take the damage for what a crash left, and cut it.
func (e *Engine) keepPoints() error {
	e.checkpoints.Lock()
	defer e.checkpoints.Unlock()
	points := maps.Clone(e.checkpoints.points)
	for _, l := range e.Logs() {
		if _, known := points[l.name]; !known && l.corrupt.Load() != nil {
			points[l.name] = *l.settled.Load()
		}
	}
	if len(points) == len(e.checkpoints.points) {
		return nil
	}
	return e.replaceCheckpoints(points, e.checkpoints.starts)
}

// compareStart holds the segments against the log start offset. Without an entry in its checkpoint a log that we have
// written starts at 0, and one of Kafka's at its first segment. A first segment that is missing does not take the log
// offline: a retention on a full disk, and Kafka's, may be ahead of the checkpoint.
func (r *recovering) compareStart() {
	start, ok := r.e.checkpoints.starts[r.name]
	switch {
	case start > r.next:
		r.meet(StartAhead, "log start offset", start, "end", r.next)
	case r.files[0] > start && (ok || r.point.base >= 0):
		r.meet(FirstSegmentMissing, "file", segment.Name(r.dir, r.files[0], segment.LogSuffix), "from", start, "to", r.files[0])
	}
}

// compacted reports whether a cleaner has made the hole before the segment number i: its checkpoint is beyond it, or, where
// headers are worth a look, the segments on both sides of it have lost records in their midst, too.
func (r *recovering) compacted(i int, look bool) (bool, error) {
	cleaned, err := checkpoint.ReadOffsets(r.e.fs, filepath.Join(r.e.opt.Dir, checkpoint.CleanerOffsets))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, checkpoint.ErrCorrupt) {
		return false, err
	}
	for _, o := range cleaned {
		if o.Topic == r.name.Topic && o.Partition == r.name.Partition && o.Offset >= r.files[i] {
			return true, nil
		}
	}
	for _, base := range r.files[max(0, i-1) : i+1] {
		if !look {
			break
		}
		if sparse, err := r.sparse(base); sparse || err != nil {
			return sparse, err
		}
	}
	return false, nil
}

// sparse reports whether a segment has lost records, in a batch or between two.
func (r *recovering) sparse(base int64) (sparse bool, err error) {
	f, err := r.e.fs.Open(segment.Name(r.dir, base, segment.LogSuffix), os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer func(f fs.File) { err = errors.Join(err, f.Close()) }(f)
	next := int64(math.MaxInt64)
	err = segment.Headers(f, 0, r.sizes[base], func(p segment.Place, b record.Batch) bool {
		sparse = p.BaseOffset > next || int64(b.Count()) != int64(b.LastOffsetDelta())+1
		next = p.LastOffset + 1
		return !sparse
	})
	if op := (*os.PathError)(nil); err != nil && !errors.As(err, &op) {
		err = nil // what is no batch is not for us to tell
	}
	return sparse, err
}
