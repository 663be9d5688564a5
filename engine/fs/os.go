package fs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OS returns the file system of this host. It has no state: every value of it is the same.
func OS() FS { return host{} }

// host is the kernel's file system. Paths are handed on as they are.
type host struct{}

func (host) Open(name string, flag int) (File, error) {
	mode := flag&^Direct | unix.O_CLOEXEC
	direct := flag&Direct != 0
	if direct {
		mode |= unix.O_DIRECT
	}
	fd, err := openQuietly(name, mode)
	if err != nil {
		if direct && err == unix.EINVAL {
			// open(2): the file system has no O_DIRECT. Both answers hold: what we call it, and the errno.
			err = fmt.Errorf("O_DIRECT is %w: %w", ErrUnsupported, err)
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{fd: fd, name: name, direct: direct}, nil
}

// openQuietly opens a file whose reads are not noted: a time of access is a change of metadata, for which even a read that is not to wait
// waits where the journal does. Who does not own the file may not ask for that.
func openQuietly(name string, mode int) (fd int, err error) {
	fd, err = retry(func() (int, error) { return unix.Open(name, mode|unix.O_NOATIME, 0o644) })
	if err == unix.EPERM {
		fd, err = retry(func() (int, error) { return unix.Open(name, mode, 0o644) })
	}
	return fd, err
}

func (host) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o755) }
func (host) ReadDir(dir string) ([]os.DirEntry, error) { return os.ReadDir(dir) }
func (host) Stat(name string) (os.FileInfo, error)     { return os.Stat(name) }
func (host) Rename(from, to string) error              { return os.Rename(from, to) }
func (host) Remove(name string) error                  { return os.Remove(name) }

// SyncDir is fsync on the directory, the only call that makes a name durable (fsync(2), NOTES: an fsync of the file
// does not).
func (host) SyncDir(dir string) error {
	fd, err := retry(func() (int, error) { return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	err = retryErr(func() error { return unix.Fsync(fd) })
	if closeErr := unix.Close(fd); err == nil {
		err = closeErr
	}
	if err != nil {
		return &os.PathError{Op: "fsync", Path: dir, Err: err}
	}
	return nil
}

func (host) Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := retryErr(func() error { return unix.Statfs(dir, &st) }); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	unit := st.Frsize // f_bavail counts fragments; file systems without them leave it 0
	if unit == 0 {
		unit = st.Bsize
	}
	return int64(st.Bavail) * unit, nil
}

// retry repeats a call for as long as a signal interrupts it. The Go runtime preempts by signal, so EINTR is ordinary
// on file systems that may sleep interruptibly (FUSE, NFS).
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// retryErr is retry for calls that return nothing else.
func retryErr(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
