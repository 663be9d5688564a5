package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// How a log is copied while it is used. A moment is taken first: everything below an offset is flushed, and the small files of
// that moment are copied under the lock of checkpoints (still). Segments follow from the newest to the oldest, without a lock,
// since it may take hours; what is below the offset does not change but in three ways:
//
//	retention takes the oldest segments off    the copy begins behind them
//	a truncation cuts                          the copy is thrown away and made anew
//	the log is deleted                         the copy is thrown away
//
// The copy is then as a crash would leave it, with a recovery point close to its end, and the engine that opens it at last does
// the rest: index entries that lie beyond the end, producers between the snapshot and the end, and so on.

// still is a log at one moment.
type still struct {
	end   *mark
	segs  []*segment.Segment
	point point
	start int64
}

// errTruncated says that a log was cut while it was copied.
var errTruncated = errors.New("truncated while it was copied")

// engine copies what a running engine has.
func (b *backup) engine(e *Engine) error {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.ctx = ctx
	for _, name := range rootFiles {
		if err := b.root(name); err != nil {
			return err
		}
	}
	if folder := metadataTopic + "-0"; b.there(folder) { // Kafka's, which nobody changes here
		if err := b.folder(folder, false); err != nil {
			return err
		}
	}
	var internal, others []*Log
	for _, l := range e.Logs() {
		switch {
		case slices.Contains(b.done.Offline, l.name):
		case strings.HasPrefix(l.name.Topic, "__"):
			internal = append(internal, l)
		default:
			others = append(others, l)
		}
	}
	found := map[Name]still{}
	if err := b.logs(e, internal, found, cancel); err != nil {
		return err
	}
	if b.opt.AfterInternal != nil {
		if err := b.opt.AfterInternal(); err != nil {
			return err
		}
	}
	if err := b.logs(e, others, found, cancel); err != nil {
		return err
	}
	return b.checkpoints(found)
}

// logs copies some logs, several at a time, and adds to found how they were.
func (b *backup) logs(e *Engine, logs []*Log, found map[Name]still, cancel func()) (first error) {
	var mu sync.Mutex
	_ = e.each(logs, func(l *Log) error { // the first error is what matters: the others follow from it
		s, err := b.log(l)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if first == nil {
				first = fmt.Errorf("%s: %w", l.name, err)
			}
			cancel()
		} else if s != nil {
			found[l.name] = *s
		}
		return nil
	})
	return first
}

// checkpoints says of each log where a recovery begins.
func (b *backup) checkpoints(found map[Name]still) error {
	points := map[Name]point{}
	var offsets, starts []checkpoint.Offset
	for _, n := range sortedNames(found) {
		s := found[n]
		points[n] = s.point
		offsets = append(offsets, checkpoint.Offset{Topic: n.Topic, Partition: n.Partition, Offset: s.point.offset})
		starts = append(starts, checkpoint.Offset{Topic: n.Topic, Partition: n.Partition, Offset: s.start})
	}
	dir := b.to + Incomplete
	if err := checkpoint.Replace(b.fs, filepath.Join(dir, recoveryName), appendPoints(nil, points)); err != nil {
		return err
	}
	for name, entries := range map[string][]checkpoint.Offset{
		checkpoint.RecoveryPoints: offsets, checkpoint.HighWatermarks: offsets, checkpoint.LogStarts: starts,
	} {
		if err := checkpoint.WriteOffsets(b.fs, filepath.Join(dir, name), entries); err != nil {
			return err
		}
	}
	return nil
}

// log copies a log and returns it as it was, or nil where there is nothing of it.
func (b *backup) log(l *Log) (*still, error) {
	dir := filepath.Join(b.to+Incomplete, l.name.String())
	for tries := 0; ; tries++ {
		s, err := b.logOnce(l, dir)
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ErrDeleted):
			return nil, b.remove(dir)
		case !errors.Is(err, errTruncated) || tries > maxTries:
			return nil, err
		}
		if err := b.remove(dir); err != nil {
			return nil, err
		}
	}
}

func (b *backup) logOnce(l *Log, dir string) (*still, error) {
	cuts := l.cuts.Load()
	s, err := b.still(l, dir)
	if err != nil || s == nil {
		return nil, err
	}
	for i := len(s.segs) - 1; i >= 0 && err == nil; i-- {
		seg := s.segs[i]
		err = b.segment(seg, s.sizeOf(seg), dir, i < len(s.segs)-1)
		if err == nil || slices.Contains(*l.view.Load(), seg) {
			continue
		}
		if i == len(s.segs)-1 {
			err = errTruncated // retention has passed all of it: there is a new end
			break
		}
		err = b.removeSegment(seg, dir)
		s.start = max(s.start, s.segs[i+1].Base)
		break
	}
	switch p := l.w.closed.Load(); {
	case p != nil:
		return nil, *p
	case l.cuts.Load() != cuts || cuts%2 == 1:
		return nil, errTruncated
	case err != nil:
		return nil, err
	}
	return s, b.fs.SyncDir(dir)
}

// sizeOf returns the bytes of a segment below the end.
func (s *still) sizeOf(seg *segment.Segment) int64 {
	if seg == s.end.seg {
		return s.end.position
	}
	return seg.Size()
}

// still takes the moment and copies the small files that say what there is, or returns nil where there is none.
func (b *backup) still(l *Log, dir string) (*still, error) {
	if err := l.e.enter(); err != nil {
		return nil, err
	}
	defer l.e.life.RUnlock()
	if err := l.settle(); err != nil {
		return nil, err
	}
	if !l.w.made.Load() {
		return nil, nil
	}
	l.settling.Lock() // no checkpoint replaces a snapshot meanwhile
	defer l.settling.Unlock()
	if p := l.w.closed.Load(); p != nil {
		return nil, *p
	}
	s := &still{point: *l.settled.Load(), start: l.start.Load(), end: l.flushed.Load()}
	s.point.syncFrom = l.w.syncFrom.Load()
	for _, seg := range *l.view.Load() {
		if seg.Base <= s.end.seg.Base {
			s.segs = append(s.segs, seg)
		}
	}
	if err := b.fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	return s, b.small(l, s, dir)
}

// small copies the small files of a log.
func (b *backup) small(l *Log, s *still, dir string) error {
	if at := l.stored.Load(); at >= 0 {
		if err := b.beside(segment.Name(l.dir, at, segment.SnapshotSuffix), dir); err != nil {
			return err
		}
	}
	if n := len(s.segs); n > 0 { // later it may speak of what lies beyond the end
		if err := b.beside(guard.Name(l.dir, s.segs[n-1].Base), dir); err != nil {
			return err
		}
	}
	l.mu.Lock()
	entries := l.mu.epochs.Entries()
	l.mu.Unlock()
	epochs := new(checkpoint.LeaderEpochs)
	for _, e := range entries {
		if e.StartOffset < s.end.offset {
			epochs.Assign(e.Epoch, e.StartOffset)
		}
	}
	if err := epochs.Write(b.fs, dir); err != nil {
		return err
	}
	if l.id == [16]byte{} {
		return nil
	}
	return checkpoint.WriteTopicID(b.fs, dir, l.id)
}

// segmentFiles are the endings of what belongs to a segment beside its log file.
var segmentFiles = []string{segment.IndexSuffix, segment.TimeSuffix, segment.TxnSuffix, segment.SnapshotSuffix}

// segment copies a segment's files. Those beside the log file are small, and are changed in place where they are found wrong:
// they are never linked.
func (b *backup) segment(s *segment.Segment, size int64, dir string, sealed bool) error {
	from := filepath.Dir(s.Path())
	share := fs.Blocks
	if sealed {
		share = fs.Names
	}
	if err := b.duplicate(s.Path(), filepath.Join(dir, filepath.Base(s.Path())), size, share); err != nil {
		return err
	}
	for _, suffix := range segmentFiles {
		if err := b.beside(segment.Name(from, s.Base, suffix), dir); err != nil {
			return err
		}
	}
	if !sealed {
		return nil // see small
	}
	return b.beside(guard.Name(from, s.Base), dir)
}

// removeSegment takes back what was copied of a segment.
func (b *backup) removeSegment(s *segment.Segment, dir string) error {
	for _, suffix := range append([]string{segment.LogSuffix, guard.Suffix}, segmentFiles...) {
		if err := b.fs.Remove(segment.Name(dir, s.Base, suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// beside copies a small file that may not be there, unless it was copied before.
func (b *backup) beside(name, dir string) error {
	to := filepath.Join(dir, filepath.Base(name))
	if _, err := b.fs.Stat(to); err == nil {
		return nil
	}
	info, err := b.fs.Stat(name)
	if err == nil {
		err = b.duplicate(name, to, info.Size(), fs.Blocks)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil // nor need it be
	}
	return err
}
