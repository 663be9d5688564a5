package logfile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
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

	// syncFrom is the offset from which on the log was in sync, by zurau's own checkpoint; -1: it says nothing.
	syncFrom int64
	bad      bad
	before   int64 // bytes of the segments before this one

	first     int64 // offset that this pass began at: of transactions that are older it knows nothing
	next      int64 // the least offset that the next batch can have; -1 before the first
	hole      bool  // something bad was told of what is before the next batch: offsets are missing for that reason
	lastEpoch int32
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
	p.readEpochs()
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
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(p.dir, e.Name())
		kind, base := KindOf(path)
		if e.IsDir() || isPassing(path) {
			continue
		}
		switch {
		case kind == Batches && filepath.Ext(path) == ".log" && (only < 0 || base == only):
			bases = append(bases, base)
		case kind == ProducerSnapshot && only < 0:
			p.Summary.Files++
			if s, ok := p.loadSnapshot(path, base); ok {
				p.producers.snapshots = append(p.producers.snapshots, s)
			}
		case kind == PartitionMetadata && only < 0:
			if err := p.small(kind, path); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(bases)
	if only >= 0 && len(bases) == 0 {
		return nil, fmt.Errorf("%s: the log that an index belongs to: %w", p.name(only, ".log"), os.ErrNotExist)
	}
	return bases, nil
}

func (p *partition) name(base int64, suffix string) string {
	return filepath.Join(p.dir, fmt.Sprintf("%020d%s", base, suffix))
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
		p.problem(filepath.Join(p.dir, leaderEpochsName), -1, err.Error(), "")
	}
}

// segment checks one segment with its indexes.
func (p *partition) segment(base int64, last bool) error {
	path := p.name(base, ".log")
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p.Summary.Files++
	if p.next > base {
		p.problem(path, -1, fmt.Sprintf("a segment from offset %d", base), fmt.Sprintf("%d or more, where the segment before it ends", p.next))
	}
	if p.next < 0 {
		p.first, p.next = base, base
	}
	indexes, err := p.openIndexes(base, last)
	if err != nil {
		return err
	}
	end := int64(0) // of the last good batch
	err = Scan(f, size, base, func(s Span) error {
		if s.Batch == nil || s.Err != nil {
			p.badSpan(path, s, size)
		}
		if s.Batch != nil && s.Err == nil {
			p.proven(path, s)
			p.batch(path, s)
			indexes.batch(s)
			end = s.End
		} else if !s.Zeros {
			indexes.skip(s)
		}
		return p.count(s)
	})
	indexes.finish(end)
	p.before += size
	return err
}

// badSpan reports bytes that are no good batch.
func (p *partition) badSpan(path string, s Span, size int64) {
	found := s.Err.Error()
	p.hole = p.hole || !s.Zeros
	p.producers.unsure = true
	switch {
	case s.Zeros:
		if p.torn(p.next) {
			return // laid ahead, and not cut off by a stop
		}
		found = fmt.Sprintf("%d bytes of zeros to the end", s.End-s.Position)
	case s.Batch == nil && s.End < size:
		found += fmt.Sprintf(", and no good batch before position %d", s.End)
	case s.Batch == nil:
		found += fmt.Sprintf(", and no good batch in the %d bytes to the end", s.End-s.Position)
	}
	if p.torn(p.next) && !p.bad.set {
		p.bad = bad{path, s.Position, p.before + s.Position, p.next, true}
	}
	p.report(Problem{File: path, Position: s.Position, Found: found, Expected: fmt.Sprintf("a batch from offset %d", p.next), Torn: p.torn(p.next)})
}

// batch checks a batch that is good by itself.
func (p *partition) batch(path string, s Span) {
	b := s.Batch
	if int64(b.Count()) != int64(b.LastOffsetDelta())+1 {
		p.compacted = true // only the cleaner takes records out of a batch
	}
	switch base := b.BaseOffset(); {
	case base < p.next:
		p.problem(path, s.Position, fmt.Sprintf("base offset %d", base), fmt.Sprintf("%d or more", p.next))
		p.hole = true
	case base > p.next && !p.compacted && !p.hole:
		p.problem(path, s.Position, fmt.Sprintf("base offset %d", base), fmt.Sprintf("%d: %d records are missing", p.next, base-p.next))
	}
	p.hole = p.hole && b.BaseOffset() < p.next
	p.producers.before(p, b.BaseOffset())
	p.producers.take(p, path, s)
	p.epochOf(path, s)
	p.next = max(p.next, b.LastOffset()+1)
	if p.Records {
		p.records(path, s)
	}
}

// epochOf holds the leader epoch of a batch against the one before it and against the checkpoint.
func (p *partition) epochOf(path string, s Span) {
	epoch := s.Batch.PartitionLeaderEpoch()
	if epoch < p.lastEpoch {
		p.problem(path, s.Position, fmt.Sprintf("leader epoch %d", epoch), fmt.Sprintf("%d or more, as in the batch before it", p.lastEpoch))
	}
	p.lastEpoch = max(p.lastEpoch, epoch)
	if p.epochs == nil || epoch < 0 {
		return
	}
	base := s.Batch.BaseOffset()
	if known := p.epochs.EpochAt(base); known >= 0 && known != epoch {
		p.report(Problem{File: path, Position: s.Position, Found: fmt.Sprintf("leader epoch %d at offset %d", epoch, base),
			Expected: fmt.Sprintf("%d, as %s says", known, leaderEpochsName), Torn: p.torn(base)})
	}
}

// records walks those of a batch.
func (p *partition) records(path string, s Span) {
	n, last := int32(0), int64(math.MinInt64)
	for r, err := range s.Batch.Records(0) {
		if err != nil {
			p.problem(path, s.Position, err.Error(), "records that can be read")
			return
		}
		if r.Offset <= last || r.Offset > s.Batch.LastOffset() {
			p.problem(path, s.Position, fmt.Sprintf("record with offset %d", r.Offset), fmt.Sprintf("more than %d, at most %d", last, s.Batch.LastOffset()))
		}
		last = r.Offset
		n++
	}
	if n != s.Batch.Count() {
		p.problem(path, s.Position, fmt.Sprintf("%d records", n), fmt.Sprintf("%d, as the batch's header says", s.Batch.Count()))
	}
}
