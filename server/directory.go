package server

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// makeDir makes a directory and those above it that are missing, durably: a directory whose name is not flushed is gone
// after a power cut, with everything in it.
func makeDir(fsys fs.FS, dir string) error {
	dir = filepath.Clean(dir)
	if _, err := fsys.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeDir(fsys, above); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return fsys.SyncDir(above)
}
