package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// emptyLog returns a log without files.
func (e *Engine) emptyLog(n Name, id [16]byte, c Config) (*Log, error) {
	l := &Log{e: e, name: n, dir: e.path(n), id: id}
	l.config.Store(c.filled())
	l.mu.idle = sync.NewCond(&l.mu.Mutex)
	l.mu.producers = producer.New()
	l.mu.epochs = new(checkpoint.LeaderEpochs)
	l.view.Store(new([]*segment.Segment))
	l.stored.Store(-1)
	return l, l.startAt(0)
}

// startAt makes the log empty, with its next record at an offset.
func (l *Log) startAt(offset int64) error {
	s, err := segment.New(l.e.fs, l.dir, offset, l.limits())
	if err != nil {
		return err
	}
	l.mu.active, l.mu.created, l.mu.end = s, l.e.opt.Now(), offset
	l.start.Store(offset)
	m := &mark{offset, s, 0}
	l.high.Store(m)
	l.flushed.Store(m)
	return nil
}

// recovering is the state of opening one log.
type recovering struct {
	*Log
	clean bool
	point int64 // recovery point: everything below was flushed
	files []int64
	sizes map[int64]int64
	snaps []int64 // offsets of producer snapshots
	next  int64   // offset after the last good record so far
	done  Recovery
}

// openLog opens the log in a folder. An error is one of the file system; a log that is corrupt is returned offline.
func (e *Engine) openLog(n Name, clean bool) (*Log, Recovery, error) {
	l, err := e.emptyLog(n, [16]byte{}, Config{})
	if err != nil {
		return nil, Recovery{}, err
	}
	l.w.made.Store(true)
	r := &recovering{Log: l, clean: clean, point: e.checkpoints.points[n], sizes: map[int64]int64{}}
	if err := r.list(); err != nil {
		return nil, r.done, err
	}
	id, err := checkpoint.ReadTopicID(e.fs, l.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, checkpoint.ErrCorrupt) {
		return nil, r.done, err
	}
	l.id = id
	if len(r.files) == 0 {
		return l, r.done, l.startAt(max(e.checkpoints.starts[n], 0))
	}
	if err := r.load(); err != nil {
		var bad *corruption
		if !errors.As(err, &bad) {
			return nil, r.done, err
		}
		e.log.Error("log is corrupt and goes offline", "log", n, "error", err)
		l.corrupt.Store(&err)
		r.done.Offline = 1
	}
	return l, r.done, nil
}

// corruption is damage below the recovery point: it is neither cut nor served.
type corruption struct{ err error }

func (c *corruption) Error() string { return "corrupt: " + c.err.Error() }
func (c *corruption) Unwrap() error { return c.err }

// list finds the segments and snapshots, and removes what a deletion left.
func (r *recovering) list() error {
	entries, err := r.e.fs.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, segment.DeletedSuffix) {
			if err := r.e.fs.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			continue
		}
		base, kind, ok := splitName(name)
		switch {
		case ok && kind == segment.LogSuffix:
			info, err := r.e.fs.Stat(filepath.Join(r.dir, name))
			if err != nil {
				return err
			}
			r.files = append(r.files, base)
			r.sizes[base] = info.Size()
		case ok && kind == segment.SnapshotSuffix:
			r.snaps = append(r.snaps, base)
		}
	}
	sort.Slice(r.files, func(i, j int) bool { return r.files[i] < r.files[j] })
	sort.Slice(r.snaps, func(i, j int) bool { return r.snaps[i] < r.snaps[j] })
	return nil
}

// splitName takes a file name of a segment apart.
func splitName(name string) (base int64, kind string, ok bool) {
	const digits = 20
	if len(name) <= digits {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	return base, name[digits:], err == nil && base >= 0
}

// load opens the segments, scanning those that lie beyond the recovery point unless the stop was orderly.
func (r *recovering) load() error {
	var segs []*segment.Segment
	r.next = r.files[0]
	for i, base := range r.files {
		s, err := segment.New(r.e.fs, r.dir, base, r.limits())
		if err != nil {
			return err
		}
		whole, err := r.open(s, i)
		if err != nil {
			return err
		}
		segs = append(segs, s)
		if !whole {
			if err := r.setAside(r.files[i+1:]); err != nil {
				return err
			}
			break
		}
	}
	last := segs[len(segs)-1]
	r.view.Store(&segs)
	r.mu.active, r.mu.created, r.mu.end = last, r.e.opt.Now(), r.next
	m := &mark{r.next, last, last.Size()}
	r.high.Store(m)
	r.flushed.Store(m)
	r.settled.Store(r.next)
	r.start.Store(min(max(r.files[0], r.e.checkpoints.starts[r.name]), r.next))
	if err := r.loadEpochs(segs); err != nil {
		return err
	}
	if err := r.loadProducers(segs); err != nil {
		return err
	}
	for _, s := range segs {
		if s != last {
			if err := s.CloseWriter(); err != nil {
				return err
			}
		}
		s.CloseReader()
	}
	return nil
}

// open loads the segment number i. It reports false where the log ends in it, because what follows was cut.
func (r *recovering) open(s *segment.Segment, i int) (whole bool, err error) {
	base, size := r.files[i], r.sizes[r.files[i]]
	following := int64(-1)
	if i+1 < len(r.files) {
		following = r.files[i+1]
	}
	if base < r.next {
		return false, &corruption{fmt.Errorf("%s starts before offset %d, where the segment before it ends", s.Path(), r.next)}
	}
	below := r.clean || following >= 0 && following <= r.point
	if below {
		r.next, err = s.Load(size, r.config.Load().IndexInterval, !r.clean || following < 0)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			if r.clean && following < 0 {
				// The mark of an orderly stop was wrong: the file changed after it. Look at it as after a crash.
				return r.scan(s, size)
			}
			return false, &corruption{err}
		}
		return true, err
	}
	return r.scan(s, size)
}

// scan checks the batches of a segment from the recovery point on, cuts it behind the last good one, and flushes what
// is left: after kill -9 the page cache holds what the disk does not have yet.
func (r *recovering) scan(s *segment.Segment, size int64) (whole bool, err error) {
	f, err := s.Acquire()
	if err != nil {
		return false, err
	}
	defer s.Release()
	at, err := r.pointIn(s, f, size)
	if err != nil {
		return false, err
	}
	if at == 0 {
		r.next = s.Base
	} else {
		r.next = r.point
	}
	from, start := at, r.next
	at, bad := segment.Batches(f, at, size, func(_ int64, b record.Batch) error {
		if b.BaseOffset() < r.next || b.LastOffset() < b.BaseOffset() {
			return fmt.Errorf("batch with base offset %d where %d or more belongs", b.BaseOffset(), r.next)
		}
		r.next = b.LastOffset() + 1
		return nil
	})
	r.done.Scanned += at - from
	if at < size {
		if err := r.cut(s, f, at, size, bad); err != nil {
			return false, err
		}
	}
	if err := s.TrimIndexes(r.next); err != nil {
		return false, err
	}
	if err := r.flushScanned(s, start); err != nil {
		return false, err
	}
	next := r.next
	if r.next, err = s.Load(at, r.config.Load().IndexInterval, true); err != nil {
		return false, err
	}
	if at > 0 && r.next != next {
		return false, fmt.Errorf("%s ends at offset %d by its indexes and at %d by its batches", s.Path(), r.next, next)
	}
	return at == size, nil
}

// pointIn returns the position of the recovery point in the segment: 0 where it starts beyond it, or where the point is
// no batch's start, as in a checkpoint that belongs to other files.
func (r *recovering) pointIn(s *segment.Segment, f fs.File, size int64) (int64, error) {
	if r.point <= s.Base {
		return 0, nil
	}
	p, err := s.Find(f, r.point, size)
	switch {
	case err == nil && p.BaseOffset == r.point:
		return p.Position, nil
	case err == io.EOF:
		// The log ends at or before the point. If it ends right there it was flushed as a whole.
		if p.LastOffset+1 == r.point {
			return p.Position + int64(p.Size), nil
		}
		return 0, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		if p.Size > 0 && p.LastOffset+1 == r.point {
			return p.Position + int64(p.Size), nil // what follows is zeros laid ahead, or was torn
		}
		return 0, nil
	}
	return 0, err
}

// flushScanned makes what was found beyond the recovery point durable before it is served.
func (r *recovering) flushScanned(s *segment.Segment, start int64) error {
	if r.next == start {
		return nil
	}
	if _, err := s.Writer(0); err != nil {
		return err
	}
	return s.Flush()
}
