package suite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// settle leaves nothing dirty, so that no run pays for what was written before it: sync(2).
func settle() { unix.Sync() }

// chill takes the files below a folder whose names have a suffix out of the page cache, as far as they are clean.
func chill(dir, suffix string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was replaced meanwhile
		case err != nil || d.IsDir() || !strings.HasSuffix(name, suffix):
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}
