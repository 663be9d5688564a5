package logfile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
)

const leaderEpochsName = checkpoint.LeaderEpochsName

// clusterMetadata is Kafka's own metadata log. Its indexes keep the zeros at their ends when a broker stops in order.
const clusterMetadata = "__cluster_metadata"

// alwaysCompacted are Kafka's topics whose logs have gaps by nature.
var alwaysCompacted = map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true}

// partition is the state of checking one.
type partition struct {
	*Verify
	dir   string
	topic string
	part  int32

	// What the files at the root say; -1: nothing.
	recoveryPoint, highWatermark, logStart int64
	clean                                  bool // the last stop was orderly: nothing is torn
	compacted                              bool
	cleaned                                int64 // offset that a cleaner came to, -1 if none did
	sparse                                 bool  // this segment has lost records to a cleaner, or to somebody
	unknown                                bool  // no recovery point is known
	ours                                   bool  // zurau's own checkpoint speaks of the log as it is

	runs    []engine.StagedRun // what the next start has beside the segments
	goesOn  bool               // with such, behind the last segment that was read
	bases   []int64
	swapped map[string]bool // files that are read from their .swap file

	// syncFrom is the offset from which on the log was in sync, by zurau's own checkpoint; -1: it says nothing.
	syncFrom int64
	bad      bad
	before   int64 // bytes of the segments before this one

	guard  guard.Guard // of the segment
	guards *guard.Check
	lost   bool // the newest segment, as its guard says

	base      int64 // of the segment
	first     int64 // offset that this pass began at: of transactions that are older it knows nothing
	next      int64 // the least offset that the next batch can have; -1 before the first
	hole      bool  // something bad was told of what is before the next batch: offsets are missing for that reason
	lastEpoch int32
	noEpochs  bool                     // there is no file of leader epochs
	epochs    *checkpoint.LeaderEpochs // nil: none, or not readable
	producers producers
}

// partition checks the folder of one, or only the segment that starts at an offset.
func (v *Verify) partition(dir string, only int64) error {
	p := &partition{Verify: v, dir: dir, next: -1, lastEpoch: -1, syncFrom: -1, recoveryPoint: -1, highWatermark: -1, logStart: -1}
	v.Summary.Logs++
	p.topic, p.part, _ = partitionOf(dir)
	p.readRoot()
	p.compacted = p.compacted || alwaysCompacted[p.topic]
	bases, err := p.list(only)
	if err != nil {
		return err
	}
	p.bases = bases
	p.readEpochs()
	if only < 0 {
		p.compareStart(bases)
	}
	for i, base := range bases {
		if err := p.segment(base, i == len(bases)-1); err != nil {
			return err
		}
	}
	if only < 0 && len(bases) > 0 {
		p.finish()
	}
	return nil
}

// list returns the base offsets of the segments, and reads the producer snapshots.
func (p *partition) list(only int64) (bases []int64, err error) {
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if kind, base := KindOf(name); kind == Batches && filepath.Ext(name) == ".log" && (only < 0 || base == only) {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	if only < 0 {
		return bases, p.others(names, bases)
	}
	if only >= 0 && len(bases) == 0 {
		return nil, fmt.Errorf("%s: the log that an index belongs to: %w", p.name(only, ".log"), os.ErrNotExist)
	}
	return bases, nil
}

// names lists the files of the folder, as they are once what a swap left is settled.
func (p *partition) names() (names []string, err error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		kind, base := KindOf(e.Name())
		switch {
		case !e.IsDir():
			names = append(names, e.Name())
		case kind == Batches && base >= 0:
			p.problem(engine.Unreadable, filepath.Join(p.dir, e.Name()), -1, "a folder", "a file")
		default:
			p.problem(engine.ForeignFolder, filepath.Join(p.dir, e.Name()), -1, "a folder", "")
		}
	}
	return p.swap(names)
}

// others looks at the files beside the segments, and reads the producer snapshots.
func (p *partition) others(names []string, bases []int64) error {
	first := int64(0)
	if len(bases) > 0 {
		first = bases[0]
	}
	identified := false
	for _, name := range names {
		path := filepath.Join(p.dir, name)
		kind, base := KindOf(name)
		if p.left(path, first) {
			continue
		}
		switch kind {
		case ProducerSnapshot:
			p.Summary.Files++
			if s, ok := p.loadSnapshot(path, base); ok {
				p.producers.snapshots = append(p.producers.snapshots, s)
				p.producers.found = true
			}
		case PartitionMetadata:
			identified = true
			if err := p.small(kind, path); err != nil {
				return err
			}
		case Guard:
			if !slices.Contains(bases, base) {
				p.orphan(path, base, bases)
			}
		case OffsetIndex, TimeIndex, TxnIndex:
			if !slices.Contains(bases, base) {
				p.problem(engine.IndexOrphan, path, -1, "an index", fmt.Sprintf("%020d.log beside it", base))
			}
		}
	}
	if !identified {
		p.problem(engine.MetadataMissing, filepath.Join(p.dir, checkpoint.PartitionMetadataName), -1, "no file", "")
	}
	if p.unknown && p.recoveryPoint >= 0 && len(bases) > 0 {
		p.problem(engine.UnknownLog, p.dir, -1, "a log without a recovery point", "")
	}
	return nil
}

// limit returns what the offsets of a segment lie below: where the next one starts, or where the log ended at an orderly stop.
func (p *partition) limit(base int64) int64 {
	i, _ := slices.BinarySearch(p.bases, base+1)
	switch {
	case i < len(p.bases):
		return p.bases[i]
	case p.clean && p.recoveryPoint > 0:
		return p.recoveryPoint
	}
	return math.MaxInt64
}

func (p *partition) name(base int64, suffix string) string {
	name := fmt.Sprintf("%020d%s", base, suffix)
	if p.swapped[name] {
		name += swapSuffix
	}
	return filepath.Join(p.dir, name)
}

// torn reports whether what is wrong at an offset may be what a crash left.
func (p *partition) torn(offset int64) bool {
	return !p.clean && p.recoveryPoint >= 0 && offset >= p.recoveryPoint
}

func (p *partition) readEpochs() {
	epochs, err := checkpoint.ReadLeaderEpochs(fs.OS(), p.dir)
	switch {
	case err == nil:
		p.Summary.Files++
		p.epochs = epochs
	case !errors.Is(err, os.ErrNotExist):
		p.problem(engine.EpochsDamaged, filepath.Join(p.dir, leaderEpochsName), -1, err.Error(), "")
	default:
		p.noEpochs = true
	}
}

// segment checks one segment with its indexes.
func (p *partition) segment(base int64, last bool) error {
	path := p.name(base, ".log")
	p.readGuard(base) // first: a broker that is at it guards only what is in the file
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p.base = base
	if p.next > base {
		p.overlap(path, base)
		return p.lone(path, base) // what it holds is not of this log's order
	}
	if err := p.follow(path, base); err != nil {
		return err
	}
	p.Summary.Files++
	p.sparse = false
	if size == 0 {
		p.problem(engine.EmptySegment, path, -1, "0 bytes", "")
	}
	indexes, err := p.openIndexes(base, last)
	if err != nil {
		return err
	}
	end := int64(0) // of the last good batch
	err = scanBelow(f, size, base, p.limit(base), func(s Span) error {
		if s.Batch == nil || s.Err != nil {
			p.badSpan(path, s, size, last)
		}
		if s.Batch != nil && s.Err == nil {
			p.proven(path, s)
			p.compareGuard(path, s)
			p.batch(path, s)
			indexes.batch(s)
			end = s.End
		} else if !s.Zeros {
			indexes.skip(s)
		}
		return p.count(s)
	})
	indexes.finish(end)
	p.endBelowGuard(path, size)
	p.before += size
	if p.goesOn = p.stagedAt(base, end); p.goesOn {
		p.problem(engine.Staged, path, end, "the end of the good batches", "")
	}
	return err
}

// records walks those of a batch.
func (p *partition) records(path string, s Span) {
	n, last := int32(0), int64(math.MinInt64)
	for r, err := range s.Batch.Records(0) {
		if err != nil {
			p.badRecords(path, s, err.Error(), "records that can be read")
			return
		}
		if r.Offset <= last || r.Offset > s.Batch.LastOffset() {
			p.badRecords(path, s, fmt.Sprintf("record with offset %d", r.Offset), fmt.Sprintf("more than %d, at most %d", last, s.Batch.LastOffset()))
		}
		last = r.Offset
		n++
	}
	if n != s.Batch.Count() {
		p.badRecords(path, s, fmt.Sprintf("%d records", n), fmt.Sprintf("%d, as the batch's header says", s.Batch.Count()))
	}
}
