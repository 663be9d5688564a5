package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// ErrCorrupt is wrapped by every error about what stands in a file, as opposed to errors of reading it. The message
// names file and line.
var ErrCorrupt = errors.New("corrupt")

// maxFile limits what is read of one file, in bytes: an offset checkpoint of 100,000 partitions with the longest
// topic names (249 characters) has 28 MB.
const maxFile = 64 << 20

// corrupt returns an ErrCorrupt for line (from 1) of the file name.
func corrupt(name string, line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w: %s", name, line, ErrCorrupt, fmt.Sprintf(format, args...))
}

// readFile returns the content of name. The error of a missing file is os.ErrNotExist.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of checkpoint %s: %w", name, err)
	}
	if size > maxFile {
		return nil, corrupt(name, 1, "%d bytes, more than the limit of %d", size, maxFile)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if n == len(b) && (err == nil || errors.Is(err, io.EOF)) {
		return b, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("read %d bytes of checkpoint %s: %w", size, name, err)
}

// Replace makes content the whole content of the file name, durably: after a crash it holds the old bytes or the new
// ones. It writes name.tmp, flushes it, renames it and flushes the directory. An error leaves the old file in place,
// unless it is the directory's flush that failed: then either may be there after a crash.
func Replace(fsys fs.FS, name string, content []byte) error {
	if err := put(fsys, name, content); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("flush directory of checkpoint %s: %w", name, err)
	}
	return nil
}

// put is Replace without the flush of the directory, which is the caller's: before that a crash may leave either content.
func put(fsys fs.FS, name string, content []byte) error {
	tmp := name + ".tmp"
	if err := write(fsys, tmp, content); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return fmt.Errorf("replace checkpoint: %w", err)
	}
	return nil
}

// write makes a flushed file name of content. A longer file that an earlier crash left under the name is cut.
func write(fsys fs.FS, name string, content []byte) error {
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if err = f.Truncate(0); err == nil && len(content) > 0 {
		err = f.Write(content, 0, false)
	}
	if err == nil {
		err = f.Datasync()
	}
	return errors.Join(err, f.Close())
}
