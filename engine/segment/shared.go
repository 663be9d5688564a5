package segment

import (
	"slices"
	"sync"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
)

// Shared bounds what the segments of an engine keep open for readers that have gone: a consumer that went through ten
// thousand segments would leave as many descriptors and mappings. nil bounds nothing.
type Shared struct {
	mappings *index.Mappings
	max      int
	opened   func()             // is told of each log file that a segment opens; nil: nobody counts
	closed   func(evicted bool) // and of each that it closes

	mu   sync.Mutex
	open []*Segment // that opened a readers' descriptor, the oldest first; it may be closed since
}

// NewShared returns bounds for the readers' descriptors and for the indexes that are mapped or in memory.
func NewShared(descriptors, mappings int) *Shared {
	return &Shared{mappings: index.NewMappings(mappings), max: descriptors}
}

// Tell has functions called for each log file that is opened, for a writer or for readers, and for each that is closed: evicted where
// that makes room for others. It comes before there is a segment.
func (sh *Shared) Tell(opened func(), closed func(evicted bool)) {
	sh.opened, sh.closed = opened, closed
}

// openFile opens the log file, and tells who counts.
func (s *Segment) openFile(flag int) (fs.File, error) {
	f, err := s.fsys.Open(s.Path(), flag)
	if err == nil && s.shared != nil && s.shared.opened != nil {
		s.shared.opened()
	}
	return f, err
}

// closeFile closes what openFile has opened.
func (s *Segment) closeFile(f fs.File, evicted bool) error {
	if s.shared != nil && s.shared.closed != nil {
		s.shared.closed(evicted)
	}
	return f.Close()
}

// looks bounds how many descriptors are looked at when one is opened: where all are in use, more are open than wanted.
const looks = 8

// took takes in a segment that has opened its readers' descriptor, and closes some that nobody has used since the last
// look. No lock of a segment is held.
func (sh *Shared) took(s *Segment) {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.open = append(sh.open, s)
	for i := 0; i < looks && len(sh.open) > sh.max; i++ {
		oldest := sh.open[0]
		sh.open[0] = nil
		sh.open = sh.open[1:]
		if oldest.keepsReader() {
			sh.open = append(sh.open, oldest)
		}
	}
}

// keepsReader closes the readers' descriptor if nobody has used it since it was asked last, and reports whether it is
// still open. Whoever has the segment's files may be waiting for a descriptor, and for us: it keeps what it has.
func (s *Segment) keepsReader() bool {
	if !s.files.TryLock() {
		return true
	}
	defer s.files.Unlock()
	used := s.files.used || s.files.readers > 0
	s.files.used = false
	if s.files.read != nil && !used {
		_ = s.closeFile(s.files.read, true) // it was read
		s.files.read = nil
	}
	return s.files.read != nil
}

// CloseIdle closes the readers' descriptors that nobody holds. It may be called by who opens a file of a segment, and waits
// for no other that does.
func (sh *Shared) CloseIdle() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.open = slices.DeleteFunc(sh.open, func(s *Segment) bool { return !s.holdsReader() })
}

// holdsReader closes the readers' descriptor if nobody holds it, and reports whether it may still be open.
func (s *Segment) holdsReader() bool {
	if !s.files.TryLock() {
		return true
	}
	defer s.files.Unlock()
	if s.files.readers == 0 && s.files.read != nil {
		_ = s.closeFile(s.files.read, true) // it was read
		s.files.read = nil
	}
	return s.files.read != nil
}
