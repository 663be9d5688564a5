package logfile

import (
	"errors"
	"fmt"
	"io"
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

// InUse reports whether a broker has the log directory that a path is, or lies in. It never makes a lock file.
func InUse(path string) (root string, yes bool) {
	for _, root := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if fs.Locked(filepath.Join(root, lockName)) {
			return root, true
		}
	}
	return "", false
}
