package segment

import (
	"errors"
	"fmt"
	"os"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
)

// Kept is what is known of a segment without its files: what Load would find in them.
type Kept struct {
	Base, Size                                int64
	FirstTimestamp, MaxTimestamp, OffsetOfMax int64
	SinceIndex                                int64 // bytes since the last index entry
	Index, Times                              index.Rest
	Aborted                                   bool // it has a transaction index
}

// ErrChanged is wrapped by the error of who comes to read a segment that was made from what was Kept, and whose file is not what
// it was then.
var ErrChanged = errors.New("the file is not what it was when its log was closed")

// Kept returns what Resume can make the segment from again. It is not ok where the files do not have all that the segment has.
// The log's lock owns it.
func (s *Segment) Kept() (k Kept, ok bool) {
	k = Kept{Base: s.Base, Size: s.Size(), FirstTimestamp: s.stats.firstTimestamp, MaxTimestamp: s.stats.maxTimestamp,
		OffsetOfMax: s.stats.offsetOfMax, SinceIndex: s.stats.sinceIndex, Aborted: s.HasAborted()}
	var whole, timesWhole bool
	k.Index, whole = s.index.Rest()
	k.Times, timesWhole = s.times.Rest()
	return k, whole && timesWhole && k.Size > 0 && k.Size == s.stats.bytes
}

// Resume returns the segment that k was kept of, without touching a file. Whoever comes to read it finds out whether its file
// is as long as it was.
func Resume(fsys fs.FS, dir string, k Kept, l Limits) *Segment {
	s := &Segment{Base: k.Base, fsys: fsys, dir: dir, shared: l.Shared}
	s.size.Store(k.Size)
	s.files.unseen = true
	s.stats = stats{bytes: k.Size, sinceIndex: k.SinceIndex, firstTimestamp: k.FirstTimestamp, maxTimestamp: k.MaxTimestamp, offsetOfMax: k.OffsetOfMax}
	s.index = index.RestOffset(fsys, Name(dir, k.Base, IndexSuffix), k.Base, int(l.IndexBytes)/index.OffsetWidth, k.Index)
	s.times = index.RestTime(fsys, Name(dir, k.Base, TimeSuffix), k.Base, int(l.IndexBytes)/index.TimeWidth, k.Times)
	if l.Shared != nil {
		s.index.Bound(l.Shared.mappings)
		s.times.Bound(l.Shared.mappings)
	}
	return s
}

// look opens the log file for readers. The first time after Resume it looks whether that has all that is to be read.
func (s *Segment) look() (fs.File, error) {
	f, err := s.openFile(os.O_RDONLY)
	if !s.files.unseen {
		return f, err
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size < s.Size() {
		err = fmt.Errorf("%s has %d bytes, and had %d: %w", s.Path(), size, s.Size(), ErrChanged)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeFile(f, false))
	}
	s.files.unseen = false
	return f, nil
}
