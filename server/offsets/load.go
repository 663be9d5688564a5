package offsets

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server/group"
)

// loadersAtOnce is how many partitions are read at a time: enough to keep a disk busy, few enough that produce and
// fetch, which are served meanwhile, have processors left.
const loadersAtOnce = 4

// readBytes is how much of a log is read at a time. One batch may be larger.
const readBytes = 1 << 20

// errGone ends a load whose topic was deleted, or whose broker stops.
var errGone = errors.New("the partition was given up")

// load loads partitions that have something to read.
func (s *Store) load(in *incarnation, partitions []int32) {
	start := time.Now()
	var next atomic.Int32
	var loaders sync.WaitGroup
	for range min(loadersAtOnce, len(partitions)) {
		loaders.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(partitions); i = int(next.Add(1)) - 1 {
				s.loadPartition(in, partitions[i])
			}
		})
	}
	loaders.Wait()
	s.log.Info("groups and offsets were loaded", "topic", Topic, "partitions", len(partitions), "took", time.Since(start))
}

func (s *Store) loadPartition(in *incarnation, p int32) {
	if s.ended(in) {
		return
	}
	err := s.groups.Load(p, group.LogRecords(s.batches(in, p)))
	switch {
	case s.ended(in) || s.offline(in, p):
		s.groups.Resigned(p) // Load may have made it loading after it had been given up, with its topic or its directory
	case err != nil:
		s.log.Error("groups and offsets of a partition cannot be served", "topic", Topic, "partition", p, "error", err)
	}
}

func (s *Store) ended(in *incarnation) bool { return in.gone.Load() || s.closed.Load() }

// batches reads a partition's log. Nobody appends meanwhile: only the coordinator does, when it has loaded.
func (s *Store) batches(in *incarnation, p int32) iter.Seq2[record.Batch, error] {
	return func(yield func(record.Batch, error) bool) {
		l, err := s.logOf(in, p)
		if err != nil {
			yield(nil, err)
			return
		}
		ended := func() error {
			if s.ended(in) {
				return errGone
			}
			return nil
		}
		for b, err := range Batches(l, ended) {
			if !yield(b, err) {
				return
			}
		}
	}
}

// Batches reads a log of the broker's own from its start to its high watermark. A batch is valid until the next one is
// asked for. Before each read ended is asked for an error to end with.
func Batches(l *engine.Log, ended func() error) iter.Seq2[record.Batch, error] {
	return func(yield func(record.Batch, error) bool) {
		var buf []byte
		for offset := l.LogStartOffset(); ; {
			err := ended()
			if err == nil {
				buf, err = read(l, offset, buf)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(buf) == 0 {
				return
			}
			next, ok := eachBatch(buf, offset, yield)
			if !ok {
				return
			}
			offset = next
		}
	}
}

func (s *Store) logOf(in *incarnation, p int32) (*engine.Log, error) {
	t := s.table.ByID(in.id)
	if t == nil {
		return nil, errGone
	}
	at := t.Partition(p)
	if at == nil || at.Log == nil {
		return nil, fmt.Errorf("partition %d has no log", p)
	}
	return at.Log, nil
}

// read reads the batches from offset on into buf, or memory of its own where that is too small. The last one may be
// cut off; the first is whole.
func read(l *engine.Log, offset int64, buf []byte) ([]byte, error) {
	r, err := l.Read(offset, readBytes, true)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	if cap(buf) < r.Size {
		buf = make([]byte, max(r.Size, readBytes))
	}
	buf = buf[:r.Size]
	if r.Mem != nil || r.Size == 0 {
		copy(buf, r.Mem) // then there is no file
		return buf, nil
	}
	if _, err := r.File.ReadAt(buf, r.Position); err != nil {
		return nil, fmt.Errorf("read %d bytes at position %d of %s: %w", r.Size, r.Position, r.File.Name(), err)
	}
	return buf, nil
}

// eachBatch yields the whole batches of b, and returns the offset behind them; false where there is no more to do.
func eachBatch(b []byte, offset int64, yield func(record.Batch, error) bool) (next int64, ok bool) {
	for next = offset; len(b) > 0; {
		batch, rest, err := record.Next(b)
		if errors.Is(err, io.ErrUnexpectedEOF) && next > offset {
			break // cut off by readBytes: it comes first the next time
		}
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			yield(nil, fmt.Errorf("batch at offset %d: %w", next, err))
			return next, false
		}
		if !yield(batch, nil) {
			return next, false
		}
		next, b = batch.LastOffset()+1, rest
	}
	return next, true
}
