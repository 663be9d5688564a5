package engine

import "github.com/zurau/zurau/engine/segment"

// A page-cache append costs several times a direct one of a mebibyte, and from the dirty threshold on it waits for the
// device besides; a direct one of a few records costs a hundred times a page-cache one. So an async log is written as it
// is used: directly for as long as its staged runs are large. The segment stays the same file.
const (
	// hotRun is a large run in bytes, hotRuns how many in a row make a log hot.
	hotRun, hotRuns = 512 << 10, 2
	// coolRun is a small run in bytes, coolRuns how many in a row end it.
	coolRun, coolRuns = 64 << 10, 16
)

// chooseWriter looks at what was taken of an async log, in the pool, and changes how its segment is written.
func (l *Log) chooseWriter(taken []*run) error {
	d, cfg := &l.w.direct, l.config.Load()
	if d.cold {
		d.cold = false
		return l.coolDown(d.seg)
	}
	if cfg.Writer != WriterAuto || cfg.Sync() || len(taken) == 0 || l.e.noDirect.Load() || l.Err() != nil {
		return nil
	}
	for _, r := range taken {
		switch {
		case !r.staged || r.seg.Direct():
		case len(r.buf) >= hotRun:
			l.w.large++
		default:
			l.w.large = 0
		}
	}
	s := taken[0].seg
	if l.w.large < hotRuns || s.Direct() {
		return nil
	}
	l.w.large = 0
	l.w.hot.Store(true)
	if !s.Open() {
		s.SetDirect(true, false)
		return nil
	}
	return l.reopen(s, false, func() { s.SetDirect(true, false) })
}

// coolDown has the log's segment written through the page cache again.
func (l *Log) coolDown(s *segment.Segment) error {
	l.w.hot.Store(false)
	l.w.direct.runs = 0
	if s == nil || !s.Direct() || l.Err() != nil {
		return nil
	}
	return l.reopen(s, false, func() { s.SetDirect(false, false) })
}

// reopen flushes what a segment's descriptor wrote and closes it: the next write opens another, of the kind that change
// chooses. evicted says that it makes room for others.
func (l *Log) reopen(s *segment.Segment, evicted bool, change func()) error {
	if err := l.flushTo(l.written.Load()); err != nil {
		return err
	}
	return l.onceFlushing(func() error {
		if err := s.Trim(); err != nil {
			return err
		}
		if err := s.CloseWriter(evicted); err != nil {
			return err
		}
		l.dropZeros()
		l.w.direct.seg, l.w.direct.tail = nil, nil
		change()
		return nil
	})
}

// cools counts the small runs of a log that is direct because it was hot, and reports whether they are enough.
func (l *Log) cools(r *run) bool {
	d, cfg := &l.w.direct, l.config.Load()
	if cfg.Writer != WriterAuto || d.sync || !r.seg.Direct() || !r.seg.Open() || r.rolled {
		return false
	}
	if len(r.buf) >= coolRun {
		d.runs = 0
		return false
	}
	d.runs++
	d.cold = d.runs >= coolRuns
	return d.cold
}
