package fs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Linker is an FS that can give the content of a file a second place without copying it. Not every FS is one.
type Linker interface {
	// Link gives a file a second name, which must not be there, on the same file system. Whoever writes to one of them changes
	// both: see Names.
	Link(from, to string) error
	// Names returns how many names a file has.
	Names(name string) (int, error)
	// Reflink makes a file, which must not be there, of the blocks of another one, as they are at one moment. Neither sees what
	// is written to the other from then on. It returns ErrUnsupported where the file system cannot, and leaves no file then.
	Reflink(from, to string) error
}

// A Way is how Duplicate has made a file.
type Way int

// The ways, the best first.
const (
	Reflinked Way = iota // shares blocks, until one of the two is written
	Linked               // a second name of the same file
	Copied
)

func (w Way) String() string { return [...]string{"reflink", "link", "copy"}[w] }

// Sharing is what Duplicate may have the two files share instead of copying.
type Sharing int

// The kinds of sharing.
const (
	Nothing Sharing = iota
	Blocks          // by a reflink: what the disk has, so all of it must have been flushed
	Names           // or by a second name, where nobody writes to the file any more
)

// duplicateBytes is how much is copied at a time.
const duplicateBytes = 1 << 20

// Duplicate makes the file to of the first size bytes of from, by a reflink where that may be and is possible, by a second name
// where that is and from has just these bytes, and else by a copy. What it has made is on stable storage when it returns, but for
// the name: see SyncDir. copied is called with the bytes of each piece that was copied; its error ends the work. After an error
// there may be a part of the file.
//
// A reflink has what is on the disk, a copy what is in the page cache. After a flush that failed these differ, and nobody is told: the
// kernel calls the pages clean that it could not write.
func Duplicate(fsys FS, from, to string, size int64, share Sharing, copied func(int64) error) (Way, error) {
	l, ok := fsys.(Linker)
	if ok && share >= Blocks {
		switch err := l.Reflink(from, to); {
		case err == nil:
			return Reflinked, cutTo(fsys, to, size)
		case !errors.Is(err, ErrUnsupported):
			return Reflinked, err
		}
	}
	if ok && share >= Names {
		info, err := fsys.Stat(from)
		if err != nil {
			return Linked, err
		}
		if info.Size() == size {
			switch err := l.Link(from, to); {
			case err == nil:
				return Linked, nil
			case !errors.Is(err, ErrUnsupported):
				return Linked, err
			}
		}
	}
	return Copied, copyFile(fsys, from, to, size, copied)
}

// cutTo ends a file that may be longer, durably.
func cutTo(fsys FS, name string, size int64) (err error) {
	f, err := fsys.Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	has, err := f.Size()
	switch {
	case err != nil:
		return err
	case has < size:
		return fmt.Errorf("%s has %d bytes, want %d: %w", name, has, size, io.ErrUnexpectedEOF)
	case has > size:
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	return f.Datasync()
}

func copyFile(fsys FS, from, to string, size int64, copied func(int64) error) (err error) {
	src, err := fsys.Open(from, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer src.Close() // nothing was written through it
	dst, err := fsys.Open(to, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	buf := make([]byte, min(size, duplicateBytes))
	for at := int64(0); at < size; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size-at)]
		if n, err := src.ReadAt(buf, at); n < len(buf) {
			return err
		}
		if err := dst.Write(buf, at, false); err != nil {
			return err
		}
		if err := copied(int64(len(buf))); err != nil {
			return err
		}
	}
	return dst.Datasync()
}

// Link implements Linker.
func (host) Link(from, to string) error {
	err := retryErr(func() error { return unix.Link(from, to) })
	return unsupported("link", from, to, err, unix.EXDEV, unix.EPERM, unix.EMLINK, unix.EOPNOTSUPP, unix.ENOSYS)
}

// Names implements Linker.
func (host) Names(name string) (int, error) {
	var st unix.Stat_t
	if err := retryErr(func() error { return unix.Stat(name, &st) }); err != nil {
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return int(st.Nlink), nil
}

// Reflink implements Linker by FICLONE (ioctl_ficlone(2)), of which XFS, Btrfs and others know.
func (host) Reflink(from, to string) (err error) {
	src, err := retry(func() (int, error) { return unix.Open(from, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return &os.PathError{Op: "open", Path: from, Err: err}
	}
	defer unix.Close(src)
	dst, err := retry(func() (int, error) {
		return unix.Open(to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	})
	if err != nil {
		return &os.PathError{Op: "open", Path: to, Err: err}
	}
	err = retryErr(func() error { return unix.IoctlFileClone(dst, src) })
	if closed := unix.Close(dst); err == nil {
		err = closed
	}
	if err == nil {
		return nil
	}
	err = unsupported("reflink", from, to, err, unix.EXDEV, unix.EOPNOTSUPP, unix.EINVAL, unix.ENOTTY, unix.EPERM, unix.ENOSYS)
	return errors.Join(err, os.Remove(to))
}

// unsupported wraps an error, in ErrUnsupported where it is one of those that say that the file system cannot.
func unsupported(op, from, to string, err error, cannot ...error) error {
	if err == nil {
		return nil
	}
	for _, c := range cannot {
		if err == c {
			err = fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
