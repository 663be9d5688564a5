package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// loadEpochs reads the history of leader epochs and brings it up to the end of the log: from the file up to the
// recovery point, from the batches beyond it, and from all batches where the file is missing or garbage.
func (r *recovering) loadEpochs(segs []*segment.Segment) error {
	epochs, err := checkpoint.ReadLeaderEpochs(r.e.fs, r.dir)
	from := min(r.from, r.point.offset)
	damaged := err
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, checkpoint.ErrCorrupt):
		epochs, from = new(checkpoint.LeaderEpochs), 0
		r.mu.epochsNew = true
	case err != nil:
		return err
	case len(epochs.Entries()) == 0:
		from = 0 // a file that lost its content looks like one without entries; a log with records has some
		damaged = errNoEpochs
	case r.clean:
		from = r.next
	}
	// An epoch that starts at the end stays: a leader that has not appended yet begins one there, and Kafka writes that down. The
	// next one's must be greater.
	if epochs.TruncateFromEnd(r.next + 1) {
		r.meet(EpochsAhead, "end", r.next)
	}
	was := epochs.Entries()
	epochs.TruncateFromEnd(from) // the file may be older than a truncation: from here on the batches say it
	r.mu.epochs = epochs
	// Before the first checkpoint there is no file yet.
	if damaged != nil && (errors.Is(damaged, checkpoint.ErrCorrupt) || r.point.offset > r.files[0] && r.next > r.files[0]) {
		defer func() { r.meet(EpochsDamaged, "error", damaged, "epochs", len(epochs.Entries())) }()
	}
	err = r.eachHeader(segs, from, func(_ fs.File, p segment.Place, b record.Batch) error {
		if e := b.PartitionLeaderEpoch(); e >= 0 {
			if last, ok := epochs.Latest(); !ok || last.Epoch < e {
				epochs.Assign(e, p.BaseOffset)
			}
		}
		return nil
	})
	if n := len(was); n > 0 && was[n-1].StartOffset == r.next && epochs.EpochAt(r.next) < was[n-1].Epoch {
		epochs.Assign(was[n-1].Epoch, r.next)
	}
	r.mu.epochsNew = r.mu.epochsNew || !slices.Equal(was, epochs.Entries())
	return err
}

var errNoEpochs = errors.New("no entries")

// loadProducers reads the newest snapshot that is sound and not beyond the end, and replays the batches behind it.
func (r *recovering) loadProducers(segs []*segment.Segment) error {
	from := int64(0) // records below the log start count, too, as long as they are there
	first := r.next
	if len(segs) > 0 {
		first = segs[0].Base
	}
	for i := len(r.snaps) - 1; i >= 0; i-- {
		offset := r.snaps[i]
		if offset > r.next || offset < first { // what came between it and the first record is not known any more
			continue
		}
		sound, err := r.loadSnapshot(offset)
		if err != nil {
			return err
		}
		if !sound {
			continue
		}
		from = offset
		r.stored.Store(offset)
		break
	}
	if len(r.files) > 0 && r.stored.Load() < 0 && min(r.point.offset, r.next) > r.files[0] {
		r.meet(SnapshotMissing, "recovery point", r.point.offset)
	}
	if err := r.removeStraySnapshots(); err != nil {
		return err
	}
	r.mu.producers.Expire(r.e.opt.Now().UnixMilli(), r.e.opt.ProducerIDExpiration.Milliseconds())
	err := r.eachHeader(segs, from, func(f fs.File, p segment.Place, b record.Batch) error {
		return replayProducer(r.mu.producers, f, p, b, func(producer.Ended) {})
	})
	if err != nil || r.clean || r.mu.producers.Len() == 0 {
		return err
	}
	return r.recall(segs, from)
}

// loadSnapshot reads the snapshot at an offset. One that is garbage is removed: nobody will ever use it.
func (r *recovering) loadSnapshot(offset int64) (sound bool, err error) {
	name := segment.Name(r.dir, offset, segment.SnapshotSuffix)
	b, err := r.e.readFile(name)
	unread := err != nil
	if err == nil {
		err = r.mu.producers.Unmarshal(b)
	}
	if err == nil {
		return true, nil
	}
	r.meet(SnapshotDamaged, "file", name, "error", err)
	r.mu.producers.Reset()
	if unread {
		return false, nil
	}
	r.changed = true
	return false, r.e.removeIfThere(name)
}

// recall finds what a snapshot at an offset leaves out: it has the last batch of each producer, as Kafka's, and what was in
// flight when the broker was killed may be any of the last five, sent again now. A roll writes a snapshot in the midst of
// them. They lie not further before it than what may be in flight; what lies below the recovery point is not looked at.
func (r *recovering) recall(segs []*segment.Segment, from int64) error {
	start := max(before(segs, from), r.point.offset)
	if start >= from {
		return nil
	}
	behind := producer.New()
	err := r.eachHeader(segs, start, func(_ fs.File, p segment.Place, b record.Batch) error {
		if b.ProducerID() >= 0 && !b.IsControl() {
			behind.Update(infoOf(b), p.BaseOffset, p.LastOffset, p.MaxTimestamp)
		}
		return nil
	})
	r.mu.producers.Recall(behind)
	return err
}

// before returns an offset that lies about flightBytes before another one, as records are spread evenly over a segment.
func before(segs []*segment.Segment, from int64) int64 {
	left := int64(flightBytes)
	for i := len(segs) - 1; i >= 0; i-- {
		s := segs[i]
		if s.Base >= from || s.Size() == 0 {
			continue
		}
		end := from
		if i+1 < len(segs) {
			end = min(end, segs[i+1].Base)
		}
		if s.Size() > left {
			return end - max(1, int64(float64(end-s.Base)*float64(left)/float64(s.Size())))
		}
		left -= s.Size()
		from = s.Base
	}
	return from
}

// removeStraySnapshots removes snapshots beyond the end, and those inside a segment but the one that was read.
func (r *recovering) removeStraySnapshots() error {
	for _, offset := range r.snaps {
		if offset <= r.next && (offset == r.stored.Load() || r.startsSegment(offset)) {
			continue
		}
		name := segment.Name(r.dir, offset, segment.SnapshotSuffix)
		r.meet(SnapshotStray, "file", name)
		if err := r.e.removeIfThere(name); err != nil {
			return err
		}
		r.changed = true
	}
	return nil
}

// replayProducer takes one stored batch into the producer state, and tells of a transaction that it ends.
func replayProducer(s *producer.State, f fs.File, p segment.Place, b record.Batch, ended func(producer.Ended)) error {
	if b.ProducerID() < 0 {
		return nil
	}
	info := infoOf(b)
	if !b.IsControl() {
		s.Update(info, p.BaseOffset, p.LastOffset, p.MaxTimestamp)
		return nil
	}
	whole := make(record.Batch, p.Size)
	if _, err := f.ReadAt(whole, p.Position); err != nil {
		return err
	}
	for rec, err := range whole.Records(maxMarker) {
		if err != nil {
			return fmt.Errorf("control batch at offset %d: %w", p.BaseOffset, err)
		}
		if m, ok := producer.ParseMarker(rec.Key, rec.Value); ok {
			if t, ok := s.EndTransaction(info, m, rec.Offset, p.MaxTimestamp); ok {
				ended(t)
			}
		}
	}
	return nil
}

// maxMarker bounds what the records of a control batch may unpack to: they are a few bytes and never compressed.
const maxMarker = 64 << 10

// infoOf returns what a stored batch's header tells.
func infoOf(b record.Batch) record.Info {
	return record.Info{Size: b.Size(), LastOffsetDelta: b.LastOffsetDelta(), Count: b.Count(), MaxTimestamp: b.MaxTimestamp(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		Transactional: b.IsTransactional(), Control: b.IsControl(), Codec: b.Codec()}
}

// eachHeader visits the batches that start at or after an offset.
func (l *Log) eachHeader(segs []*segment.Segment, from int64, visit func(fs.File, segment.Place, record.Batch) error) error {
	for i, s := range segs {
		if i+1 < len(segs) && segs[i+1].Base <= from || s.Size() == 0 || l.high.Load().offset <= from {
			continue
		}
		if err := headersFrom(s, from, visit); err != nil {
			return err
		}
	}
	return nil
}

func headersFrom(s *segment.Segment, from int64, visit func(fs.File, segment.Place, record.Batch) error) error {
	f, err := s.Acquire()
	if err != nil {
		return err
	}
	defer s.Release()
	at := int64(0)
	if from > s.Base {
		p, err := s.Find(f, from, s.Size())
		if errors.Is(err, index.ErrCorrupt) {
			p, err = segment.FindFrom(f, 0, from, s.Size())
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		at = p.Position
	}
	var stop error
	err = segment.Headers(f, at, s.Size(), func(p segment.Place, b record.Batch) bool {
		if p.BaseOffset >= from {
			stop = visit(f, p, b)
		}
		return stop == nil
	})
	return errors.Join(stop, err)
}

func (e *Engine) removeIfThere(name string) error {
	if err := e.fs.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// readFile returns the content of a small file.
func (e *Engine) readFile(name string) ([]byte, error) {
	f, err := e.fs.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if err := segment.ReadFull(f, b, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}
