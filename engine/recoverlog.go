package engine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/segment"
)

// emptyLog returns a log without files.
func (e *Engine) emptyLog(n Name, id [16]byte, c Config) (*Log, error) {
	l := e.newLog(n, id, c)
	return l, l.startAt(0)
}

// newLog returns a log without an active segment: it needs one, or to be offline.
func (e *Engine) newLog(n Name, id [16]byte, c Config) *Log {
	l := &Log{e: e, name: n, dir: e.path(n), id: id}
	l.config.Store(c.filled())
	l.mu.idle = sync.NewCond(&l.mu.Mutex)
	l.mu.producers = producer.New()
	l.mu.epochs = new(checkpoint.LeaderEpochs)
	l.view.Store(new([]*segment.Segment))
	l.stored.Store(-1)
	l.w.syncFrom.Store(-1)
	l.settled.Store(new(pointAt(0)))
	l.high.Store(new(mark))
	l.written.Store(new(mark))
	l.flushed.Store(new(mark))
	return l
}

// startAt makes the log empty, with its next record at an offset.
func (l *Log) startAt(offset int64) error {
	s, err := segment.New(l.e.fs, l.dir, offset, l.limits())
	if err != nil {
		return err
	}
	l.mu.active, l.mu.created, l.mu.end = s, l.e.opt.Now(), offset
	l.start.Store(offset)
	l.setMarks(&mark{offset, s, 0})
	return nil
}

// recovering is the state of opening one log.
type recovering struct {
	*Log
	clean   bool
	unknown bool // no checkpoint names the log: after an orderly stop, too, it has to be looked at
	point   point
	staged  []stagedRun // ascending
	kept    []string    // file names of what an earlier start kept of the stage
	files   []int64
	sizes   map[int64]int64
	snaps   []int64  // offsets of producer snapshots
	indexes []string // file names of indexes of all kinds, and of guards
	txns    []int64  // base offsets of transaction indexes
	torn    bool     // there is a file that an earlier start took off the log
	marked  bool     // a control batch was scanned
	next    int64    // offset after the last good record so far
	from    int64    // offset at which the scan began; next where nothing was scanned
	changed bool     // names in the folder were made, replaced or removed
	done    Recovery
}

// openLog opens the log in a folder. A log that is corrupt, or whose files cannot be read, is returned offline; an error
// is a failed write or flush.
func (e *Engine) openLog(n Name, clean bool) (*Log, Recovery, error) {
	var c Config
	if e.opt.LogConfig != nil {
		c = e.opt.LogConfig(n)
	}
	if err := c.Check(); err != nil {
		return nil, Recovery{}, fmt.Errorf("Options.LogConfig of %s: %w", n, err)
	}
	l := e.newLog(n, [16]byte{}, c)
	l.w.made.Store(true)
	p, ok := e.checkpoints.points[n]
	if !ok {
		p = pointAt(0)
	}
	r := &recovering{Log: l, clean: clean, unknown: !ok, point: p}
	if l.resume(p, ok) {
		r.done.Known = 1
		return l, r.done, nil
	}
	r.sizes = map[int64]int64{}
	r.staged = r.stagedFor()
	err := r.open()
	kept, suffix := r.unplaced(), stagedSuffix
	if err == nil && !clean {
		l.noteDirty() // the first checkpoint makes names durable, and then the log is at rest
	}
	if err != nil {
		kept = slices.DeleteFunc(slices.Clone(r.staged), func(run stagedRun) bool { return run.kept != "" }) // those stay as they are
		if final(err) {
			return nil, r.done, errors.Join(err, l.closeFiles(ErrClosed))
		}
		suffix = redoSuffix
		if StateOf(err) == "" {
			state := Unreadable
			if errors.Is(err, segment.ErrOldMessage) {
				state = OldMessages
			}
			err = &corruption{state, err}
		}
		r.meet(StateOf(err), "error", err)
		l.corrupt.Store(&err)
		r.done.Offline = 1
	}
	r.keepUnknown()
	failed := r.keepStaged(kept, suffix)
	if err == nil && failed == nil {
		failed = r.dropKept()
	}
	if failed != nil {
		return nil, r.done, errors.Join(failed, l.closeFiles(ErrClosed))
	}
	return l, r.done, nil
}

// open reads the folder.
func (r *recovering) open() error {
	id, err := checkpoint.ReadTopicID(r.e.fs, r.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, checkpoint.ErrCorrupt) {
		return err
	}
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt):
		r.meet(MetadataDamaged, "error", err)
	case err != nil:
		r.meet(MetadataMissing)
	}
	r.id = id
	r.w.identified.Store(id != [16]byte{})
	r.staged = r.stagedFor()
	if err := errors.Join(r.list(), r.findKept()); err != nil {
		return err
	}
	if r.unknown && len(r.files) > 0 {
		r.meet(UnknownLog)
	}
	if err := r.lostNewest(); err != nil {
		return err
	}
	if err := r.removeOrphans(); err != nil {
		return err
	}
	if len(r.files) == 0 {
		// Offsets that were given are not given again, even where their records are gone.
		r.next = max(r.e.checkpoints.starts[r.name], r.point.offset)
		if r.point.offset > r.e.checkpoints.starts[r.name] {
			r.meet(FirstSegmentMissing, "from", r.e.checkpoints.starts[r.name], "to", r.point.offset)
		}
		err = errors.Join(r.startAt(r.next), r.removeStraySnapshots())
	} else {
		err = r.load()
	}
	if err != nil {
		return err
	}
	r.w.syncFrom.Store(r.point.syncFrom)
	if !r.clean || r.unknown {
		r.w.named.Add(1) // files that a killed process, or somebody, made may not have durable names yet
	}
	if r.changed || r.from < r.next {
		if err := r.syncNames(); err != nil {
			return err
		}
	}
	return r.writeGuards(r.mu.tally.Take()) // not before: see lostNewest
}

// load opens the segments, scanning those that lie beyond the recovery point unless the stop was orderly.
func (r *recovering) load() error {
	segs, err := r.openSegments()
	r.view.Store(&segs) // closeFiles closes them, whatever happens
	if err != nil {
		return err
	}
	last := segs[len(segs)-1]
	if !r.clean {
		last.Found()
	}
	r.mu.active, r.mu.created, r.mu.end = last, r.e.opt.Now(), r.next
	r.setMarks(&mark{r.next, last, last.Size()})
	at := point{offset: r.next, base: last.Base}
	at.maxTimestamp, at.maxOffset = last.MaxTimestamp()
	r.compareStart()
	r.start.Store(min(max(r.files[0], r.e.checkpoints.starts[r.name]), r.next))
	if err := r.loadEpochs(segs); err != nil {
		return err
	}
	if r.mu.epochsNew {
		// The point must not pass batches whose epoch is in no file: the next recovery would not look at them.
		at = r.point
		r.noteDirty()
	}
	r.settled.Store(&at)
	if err := r.loadTransactions(segs); err != nil {
		return err
	}
	return r.rest(segs)
}

// rest lets go of what opening the segments has left open or in memory.
func (r *recovering) rest(segs []*segment.Segment) error {
	for i, s := range segs {
		if i+1 < len(segs) {
			if err := s.SealIndexes(); err != nil {
				return err
			}
		}
		if err := s.CloseWriter(false); err != nil { // an append opens the last one again, directly where that is wanted
			return err
		}
		s.CloseReader()
	}
	return nil
}

// openSegments opens them in order, up to the first that does not go on where the one before it ends.
func (r *recovering) openSegments() (segs []*segment.Segment, err error) {
	r.next = r.files[0]
	r.from = math.MaxInt64
	defer func() { r.from = min(r.from, r.next) }()
	for i, base := range r.files {
		if base != r.next {
			if cut, err := r.hole(i); cut || err != nil {
				return segs, err
			}
			r.next = base
		}
		s, err := segment.New(r.e.fs, r.dir, base, r.limits())
		if err != nil {
			return segs, err
		}
		segs = append(segs, s)
		if err := r.openSegment(s, i); err != nil {
			return segs, err
		}
	}
	return segs, nil
}

// hole decides what it means that the segment number i does not start where the one before it ends:
//
//	starts earlier                          segment-overlap
//	starts at or below the log start        hole-retained
//	a cleaner was here                      hole-compacted
//	starts at or below the recovery point,  segment-lost: we do not clean, and everything there was flushed
//	in what was written in sync mode
//	starts at or below the recovery point   segment-missing: nobody can tell
//	the one before ends below that point    segment-lost: what is missing was flushed
//	in sync mode, further behind than       segment-lost: what is missing was flushed
//	could have been in flight
//	it, or one behind it, has a guard       segment-lost: what is missing was flushed
//	else                                    holed-segments: a crash lost the end of the segment before
func (r *recovering) hole(i int) (cut bool, err error) {
	base := r.files[i]
	name := segment.Name(r.dir, base, segment.LogSuffix)
	lost := fmt.Errorf("offsets %d to %d are missing before %s", r.next, base-1, name)
	flushed := r.clean || base <= r.point.offset
	compacted := false
	if base > r.next {
		if compacted, err = r.compacted(i, flushed || r.unknown); err != nil {
			return false, err
		}
	}
	state := HoledSegments
	switch {
	case base < r.next:
		return false, &corruption{SegmentOverlap, fmt.Errorf("%s starts before offset %d, where the segment before it ends", name, r.next)}
	case base <= r.e.checkpoints.starts[r.name]:
		state = HoleRetained
	case compacted:
		state = HoleCompacted
	case flushed && r.point.syncFrom >= 0 && r.next >= r.point.syncFrom:
		return false, &corruption{SegmentLost, fmt.Errorf("%w, and were flushed", lost)}
	case flushed:
		state = SegmentMissing
	case r.next < r.point.offset:
		return false, &corruption{SegmentLost, fmt.Errorf("%w, and everything below %d was flushed", lost, r.point.offset)}
	}
	if state != HoledSegments {
		r.meet(state, "file", name, "from", r.next, "to", base)
		return false, nil
	}
	proof, err := r.flushedBehind(i, 0)
	if err == nil && proof == "" {
		proof, err = r.guardedFrom(i)
	}
	if err != nil {
		return false, err
	}
	if proof != "" {
		return false, &corruption{SegmentLost, fmt.Errorf("%w, and %s was written after they were flushed", lost, proof)}
	}
	r.meet(state, "file", name, "from", r.next, "to", base)
	return true, r.setAside(r.files[i:])
}

// openSegment loads the segment number i, after a scan where something of it lies beyond the recovery point.
func (r *recovering) openSegment(s *segment.Segment, i int) (err error) {
	size, last := r.sizes[s.Base], i+1 == len(r.files)
	if size == 0 {
		r.meet(EmptySegment, "file", s.Path())
	}
	if (!r.clean || r.unknown) && (last || r.files[i+1] > r.point.offset || !r.sealed(i+1)) {
		return r.scan(s, i)
	}
	interval := r.config.Load().IndexInterval
	// The last segment of an orderly stop is checked in full, being the one that a mistaken mark would hurt.
	next, err := s.Load(size, interval, !r.clean || last, nil)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if r.clean && last {
			return r.scan(s, i) // the file changed after the mark was made
		}
		return &corruption{CorruptBatch, err}
	}
	r.tellIndexes(s)
	r.next = next
	return err
}

// tellIndexes says which indexes of a segment were made again.
func (r *recovering) tellIndexes(s *segment.Segment) {
	for _, suffix := range s.Damaged() {
		state := IndexDamaged
		if suffix == segment.TimeSuffix {
			state = TimeIndexDamaged
		}
		r.meet(state, "file", segment.Name(r.dir, s.Base, suffix))
	}
}
