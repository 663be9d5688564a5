package fs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes two locks, which do not see each other: that of flock(2), and that of fcntl(2), which is Java's and so Apache
// Kafka's. Both belong to the open file: they end with the process however that ends, a second Lock in the same process is
// refused too, and they are not given up when somebody else in this process closes the file, as Java's own are.
func (host) Lock(name string) (io.Closer, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	if err := tryLock(fd, unix.LOCK_EX, unix.F_WRLCK); err != nil {
		_ = unix.Close(fd) // nothing was written: the refusal is what the caller needs to know
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return &file{fd: fd, name: name}, nil
}

// Hold keeps others from taking the Lock of that name until it is closed, and changes nothing: it works where nobody can write. Several
// may hold one. It returns ErrLocked where somebody has the lock, and os.ErrNotExist where the file is not there: then nobody ever had it.
func Hold(name string) (io.Closer, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	if err := tryLock(fd, unix.LOCK_SH, unix.F_RDLCK); err != nil {
		_ = unix.Close(fd) // was only read
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return &file{fd: fd, name: name}, nil
}

// Locked reports whether somebody, this process included, holds the Lock of that name, or Apache Kafka does. It makes no file.
func Locked(name string) bool {
	held, err := Hold(name)
	if err != nil {
		return errors.Is(err, ErrLocked)
	}
	held.Close() // was only read
	return false
}

// tryLock takes both locks for as long as the file is open, or returns ErrLocked.
func tryLock(fd, how int, kind int16) error {
	all := unix.Flock_t{Type: kind, Whence: io.SeekStart} // a length of 0 is all of the file, however long
	err := retryErr(func() error { return unix.Flock(fd, how|unix.LOCK_NB) })
	if err == nil {
		err = retryErr(func() error { return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &all) })
		switch err {
		case unix.EINVAL, unix.ENOLCK, unix.ENOTSUP:
			return nil // a file system without such locks, where Kafka does not start either
		}
	}
	switch err {
	case unix.EWOULDBLOCK, unix.EACCES:
		return ErrLocked
	}
	return err
}
