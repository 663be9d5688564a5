package logfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockName is the file whose lock says that a broker has a log directory: zurau's is of flock(2), Kafka's of fcntl(2).
const lockName = ".lock"

// ErrInUse says that a broker has the directory.
var ErrInUse = errors.New("in use by a running broker")

// Lock keeps brokers, zurau's and Kafka's, from a log directory until it is closed. It returns an ErrInUse where one has it.
func Lock(root string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(root, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, unix.LOCK_EX, unix.F_WRLCK); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", root, err), f.Close())
	}
	return f, nil
}

// InUse reports whether a broker has the log directory that a path is, or lies in. It never makes a lock file.
func InUse(path string) (root string, yes bool) {
	for _, root := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		f, err := os.Open(filepath.Join(root, lockName))
		if err != nil {
			continue
		}
		err = tryLock(f, unix.LOCK_SH, unix.F_RDLCK)
		f.Close()
		return root, errors.Is(err, ErrInUse)
	}
	return "", false
}

// tryLock takes both kinds of lock, for as long as the file is open.
func tryLock(f *os.File, how int, kind int16) error {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind})
	}
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EACCES) {
		return ErrInUse
	}
	return err
}
