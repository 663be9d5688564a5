package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockName is the file that Apache Kafka locks in a log directory while it uses it.
const lockName = ".lock"

// lockAgainstKafka takes the lock that Apache Kafka takes, and keeps it until it is closed: neither of the two starts on a
// directory that the other one uses. Java's locks are those of fcntl(2), which the engine's flock(2) neither sees nor
// stops. An open file description's lock is used: it conflicts with them, ends with the process, and is not given up
// when somebody else in this process closes the file.
func lockAgainstKafka(dir string) (io.Closer, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	all := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart} // a length of 0 is all of the file, however long
	switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &all); {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		err = errors.New("in use: Apache Kafka or another process holds this lock; expected a directory that nobody else uses")
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP):
		return f, nil // a file system without such locks, where Kafka does not start either
	default:
		return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
}
