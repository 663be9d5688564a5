package segment

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// CopySuffix is of a file that takes the place of another by a rename, before it does. Kafka, too, removes files with this
// ending at a start.
const CopySuffix = ".cleaned"

// CopyHead makes a copy of a file's first size bytes, durable but for its name, to take the place of the file, and returns its name.
func CopyHead(fsys fs.FS, name string, size int64) (to string, err error) {
	to = name + CopySuffix
	if err := fsys.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return to, err
	}
	_, err = fs.Duplicate(fsys, name, to, size, fs.Blocks, func(int64) error { return nil })
	return to, err
}

// own replaces a log file that has a second name, in a backup say, by a copy of its own: what has two names is never written
// or cut. Readers that hold the old file keep it. A writer's descriptor of the old one, which a sealed segment may still have, is
// flushed and closed.
func (s *Segment) own() error {
	l, ok := s.fsys.(fs.Linker)
	if !ok {
		return nil
	}
	switch n, err := l.Names(s.Path()); {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, fs.ErrUnsupported) || err == nil && n == 1:
		return nil
	case err != nil:
		return err
	}
	info, err := s.fsys.Stat(s.Path())
	if err != nil {
		return err
	}
	to, err := CopyHead(s.fsys, s.Path(), info.Size())
	if err != nil {
		return err
	}
	s.files.Lock()
	defer s.files.Unlock() // nobody opens the old one meanwhile
	if err := s.fsys.Rename(to, s.Path()); err != nil {
		return err
	}
	if f := s.files.write; f != nil {
		s.files.write = nil
		if err := errors.Join(f.Datasync(), s.closeFile(f, false)); err != nil {
			return err
		}
	}
	if f := s.files.read; f != nil {
		s.files.stale = append(s.files.stale, f)
		s.files.read = nil
	}
	if s.files.readers == 0 {
		s.closeStale()
	}
	return s.fsys.SyncDir(filepath.Dir(s.Path()))
}

// closeStale closes the files that own has replaced. The lock is held, and no reader is left.
func (s *Segment) closeStale() {
	for _, f := range s.files.stale {
		_ = s.closeFile(f, false) // nothing was written through it
	}
	s.files.stale = nil
}
