package logfile

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/segment"
)

// compareStart holds the first segment against the log start offset. A log of zurau's without an entry starts at 0.
func (p *partition) compareStart(bases []int64) {
	start := max(p.logStart, 0)
	known := p.logStart >= 0 || p.ours
	switch {
	case len(bases) == 0 && p.lost: // which was told
	case len(bases) == 0 && p.recoveryPoint > start:
		p.problem(engine.FirstSegmentMissing, p.dir, -1, "no segment", fmt.Sprintf("offsets %d to %d", start, p.recoveryPoint-1))
	case len(bases) > 0 && known && bases[0] > start:
		p.problem(engine.FirstSegmentMissing, p.name(bases[0], ".log"), -1, fmt.Sprintf("the first segment from offset %d", bases[0]),
			fmt.Sprintf("%d, where the log starts", start))
	}
}

// follow holds a segment's base offset against the end of the one before it, as the next start does.
func (p *partition) follow(path string, base int64) error {
	from := p.next
	hole := p.hole
	switch {
	case from < 0:
		p.first, p.next = base, base
		return nil
	case base == from:
		return nil
	}
	p.next, p.hole = base, false
	if hole || p.goesOn {
		return nil // what is missing was told where it was
	}
	state, err := p.holeBefore(path, base, from)
	if err != nil {
		return err
	}
	p.report(Problem{State: state, File: path, Position: -1, Found: fmt.Sprintf("a segment from offset %d", base),
		Expected: fmt.Sprintf("%d, where the segment before it ends", from), Torn: state == engine.HoledSegments && p.recoveryPoint >= 0, folder: p.dir})
	return nil
}

// overlap tells of a segment that starts before the one before it ends.
func (p *partition) overlap(path string, base int64) {
	p.report(Problem{State: engine.SegmentOverlap, File: path, Position: -1, Found: fmt.Sprintf("a segment from offset %d", base),
		Expected: fmt.Sprintf("%d or more, where the segment before it ends", p.next), folder: p.dir})
}

// holeBefore says what it means that offsets from from to base are missing, by the rules of package engine.
func (p *partition) holeBefore(path string, base, from int64) (engine.State, error) {
	flushed := p.clean || base <= p.recoveryPoint
	compacted := p.cleaned >= base
	if !compacted && (flushed || p.unknown) {
		behind, err := sparse(path, base)
		if err != nil {
			return "", err
		}
		compacted = behind || p.sparse
	}
	switch {
	case base <= p.logStart:
		return engine.HoleRetained, nil
	case compacted:
		return engine.HoleCompacted, nil
	case flushed && p.syncFrom >= 0 && from >= p.syncFrom:
		return engine.SegmentLost, nil
	case flushed:
		return engine.SegmentMissing, nil
	case from < p.recoveryPoint, p.guardedFrom(base):
		return engine.SegmentLost, nil
	}
	return engine.HoledSegments, nil
}

// sparse reports whether a segment has lost records to a cleaner.
func sparse(path string, base int64) (yes bool, err error) {
	f, size, err := open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	next := int64(math.MaxInt64)
	err = Scan(f, size, base, func(s Span) error {
		if b := s.Batch; b != nil && s.Err == nil {
			yes = yes || b.BaseOffset() > next || int64(b.Count()) != int64(b.LastOffsetDelta())+1
			next = b.LastOffset() + 1
		}
		return nil
	})
	return yes, err
}

// badSpan reports bytes that are no good batch.
func (p *partition) badSpan(path string, s Span, size int64, last bool) {
	found := s.Err.Error()
	torn := p.torn(p.next)
	p.producers.unsure = true
	if p.stagedAt(p.base, s.Position) {
		p.hole = true // a write was under way, and all of it is staged
		return
	}
	switch {
	case s.Zeros && (torn || last && p.clean):
		p.problem(engine.ZeroTail, path, s.Position, fmt.Sprintf("%d bytes of zeros to the end", s.End-s.Position), "")
		return // laid ahead, and not cut off by a stop
	case s.Zeros:
		found = fmt.Sprintf("%d bytes of zeros to the end", s.End-s.Position)
	case s.Batch == nil && s.End < size:
		found += fmt.Sprintf(", and no good batch before position %d", s.End)
	case s.Batch == nil:
		found += fmt.Sprintf(", and no good batch in the %d bytes to the end", s.End-s.Position)
	}
	p.hole = true
	p.guards.Pass()
	state := p.badState(s, size, last)
	torn = torn && state != engine.OldMessages
	if p.guarded(state, s) {
		if state, torn = engine.CorruptGuarded, false; size < p.guard.End() {
			return // endBelowGuard tells
		}
	}
	if torn && !p.bad.set {
		p.bad = bad{path, s.Position, p.before + s.Position, p.next, true}
	}
	p.report(Problem{State: state, File: path, Position: s.Position, Found: found,
		Expected: fmt.Sprintf("a batch from offset %d", p.next), Torn: torn, folder: p.dir})
}

// badState says what a bad place is, by the rules of package engine.
func (p *partition) badState(s Span, size int64, last bool) engine.State {
	if errors.Is(s.Err, segment.ErrOldMessage) {
		return engine.OldMessages
	}
	more := s.End < size || !last // behind it
	short := s.Batch == nil && strings.Contains(s.Err.Error(), " left in the file") || size-s.Position < headerBytes
	switch {
	case p.clean && !more && (s.Batch == nil || p.unknown): // else a start, which follows lengths, does not see it
		return engine.DirtyAfterClean
	case p.clean && p.unknown:
		return engine.CorruptBatch
	case !p.clean && p.recoveryPoint >= 0 && p.next >= p.recoveryPoint, p.recoveryPoint < 0 && p.unknown:
		if s.End < size {
			return engine.HoledTail
		}
		return engine.TornTail
	case !p.clean && !more && short && !s.Zeros:
		return engine.EndBelowPoint
	case s.Batch != nil && (more || p.clean):
		return engine.RottenBatch
	}
	return engine.CorruptBatch
}

// batch checks a batch that is good by itself.
func (p *partition) batch(path string, s Span) {
	b := s.Batch
	if int64(b.Count()) != int64(b.LastOffsetDelta())+1 {
		p.compacted, p.sparse = true, true // only the cleaner takes records out of a batch
	}
	switch base := b.BaseOffset(); {
	case base < p.next:
		state := engine.RottenBatch
		if p.torn(p.next) {
			state = engine.HoledTail
		}
		p.report(Problem{State: state, File: path, Position: s.Position, Found: fmt.Sprintf("base offset %d", base),
			Expected: fmt.Sprintf("%d or more", p.next), Torn: p.torn(p.next), folder: p.dir})
		p.hole = true
	case base > p.next && !p.hole && p.compacted:
		p.sparse = true
	case base > p.next && !p.hole:
		p.sparse = true
		p.problem(engine.OffsetGap, path, s.Position, fmt.Sprintf("base offset %d", base), fmt.Sprintf("%d: %s missing", p.next,
			count(base-p.next, "record is", "records are")))
	}
	if at := p.recoveryPoint; !p.clean && b.BaseOffset() < at && b.LastOffset() >= at {
		p.problem(engine.PointWithinBatch, path, s.Position, fmt.Sprintf("a batch of offsets %d to %d", b.BaseOffset(), b.LastOffset()),
			fmt.Sprintf("one that starts at the recovery point %d", at))
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
		p.problem(engine.EpochFalls, path, s.Position, fmt.Sprintf("leader epoch %d", epoch), fmt.Sprintf("%d or more, as in the batch before it", p.lastEpoch))
	}
	p.lastEpoch = epoch // told once
	if epoch < 0 {
		return
	}
	base := s.Batch.BaseOffset()
	if p.noEpochs && base < p.recoveryPoint {
		p.noEpochs = false
		p.problem(engine.EpochsDamaged, filepath.Join(p.dir, leaderEpochsName), -1, "no file", fmt.Sprintf("leader epoch %d from offset %d", epoch, base))
	}
	if p.epochs == nil {
		return
	}
	if known := p.epochs.EpochAt(base); known >= 0 && known != epoch {
		p.report(Problem{State: engine.EpochsDisagree, File: path, Position: s.Position, Found: fmt.Sprintf("leader epoch %d at offset %d", epoch, base),
			Expected: fmt.Sprintf("%d, as %s says", known, leaderEpochsName), Torn: p.torn(base)})
	}
}

func (p *partition) badRecords(path string, s Span, found, expected string) {
	p.report(Problem{State: engine.BadRecords, File: path, Position: s.Position, Found: found, Expected: expected, folder: p.dir})
}
