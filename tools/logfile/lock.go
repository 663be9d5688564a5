package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// lockName is the file whose lock says that a broker, zurau's or Kafka's, has a log directory.
const lockName = ".lock"

// ErrInUse says that a broker has the directory.
var ErrInUse = errors.New("in use by a running broker")

// Lock keeps brokers, zurau's and Kafka's, from a log directory until it is closed. It returns an ErrInUse where one has it.
func Lock(root string) (io.Closer, error) {
	held, err := fs.OS().Lock(filepath.Join(root, lockName))
	if errors.Is(err, fs.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", root, ErrInUse)
	}
	return held, err
}

// A Reading keeps brokers from a log directory that is only read.
type Reading struct {
	root string
	held io.Closer // nil: there is no lock file, and none is made
}

// Read keeps brokers from a log directory, in which it writes nothing, until the Reading is closed. It returns an ErrInUse where a broker has it.
func Read(root string) (*Reading, error) {
	held, err := fs.Hold(filepath.Join(root, lockName))
	switch {
	case errors.Is(err, fs.ErrLocked):
		return nil, fmt.Errorf("%s: %w", root, ErrInUse)
	case errors.Is(err, os.ErrNotExist):
		return &Reading{root: root}, nil
	case err != nil:
		return nil, err
	}
	return &Reading{root, held}, nil
}

// Check returns an ErrInUse where a broker has had the directory since Read. Where nobody ever had it, there was nothing that could be locked; a
// broker makes the file, and leaves it.
func (r *Reading) Check() error {
	if r.held != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(r.root, lockName)); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s: %w, which was started meanwhile", r.root, ErrInUse), err)
	}
	return nil
}

// Close lets brokers have the directory.
func (r *Reading) Close() error {
	if r.held == nil {
		return nil
	}
	return r.held.Close()
}

// InUse reports whether a broker has the log directory that a path is, or lies in. It never makes a lock file.
func InUse(path string) (root string, yes bool) {
	for _, root := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if fs.Locked(filepath.Join(root, lockName)) {
			return root, true
		}
	}
	return "", false
}
