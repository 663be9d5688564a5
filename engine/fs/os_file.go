package fs

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// closing is the bit of file.users that Close sets; the bits below it count the calls that are using the descriptor.
const closing = 1 << 62

// maxAgain bounds how often a write is repeated on EAGAIN in a row. Regular files do not return it, FUSE servers can.
const maxAgain = 1000

// file is an open file of the host: a bare descriptor, without os.File's poller and finalizer.
//
// Lifetime. A descriptor number is used again as soon as it is closed, so a ReadAt that is late would read from another
// file. Each call therefore enters and leaves:
//
//	users = closing bit | number of calls inside
//	enter: refused with os.ErrClosed once the closing bit is there
//	leave: the last one out after Close closes the descriptor
//
// Close does not wait for the calls inside. A descriptor that was taken with Fd is outside of this count: its user keeps
// the File open meanwhile.
type file struct {
	fd     int
	name   string
	direct bool

	users   atomic.Int64
	noDsync atomic.Bool           // RWF_DSYNC was refused once: write and fdatasync instead
	lost    atomic.Pointer[error] // first failure of a flush: final
}

func (f *file) enter() error {
	for {
		n := f.users.Load()
		if n&closing != 0 {
			return os.ErrClosed
		}
		if f.users.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (f *file) leave() error {
	if f.users.Add(-1) == closing {
		return unix.Close(f.fd)
	}
	return nil
}

// Close lets the calls inside finish. The error of close(2) is returned when nobody is inside; an error of a write
// that only close(2) would tell is what Datasync is for.
func (f *file) Close() error {
	for {
		n := f.users.Load()
		if n&closing != 0 {
			return f.fail("close", os.ErrClosed)
		}
		if f.users.CompareAndSwap(n, n|closing) {
			if n > 0 {
				return nil
			}
			return f.fail("close", unix.Close(f.fd))
		}
	}
}

func (f *file) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: f.name, Err: err}
}

func (f *file) Name() string { return f.name }
func (f *file) Fd() int      { return f.fd }

func (f *file) ReadAt(p []byte, at int64) (int, error) {
	if err := f.enter(); err != nil {
		return 0, f.fail("read", err)
	}
	defer f.leave()
	read := 0
	for read < len(p) {
		n, err := unix.Pread(f.fd, p[read:], at+int64(read))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return read, f.fail("read", err)
		case n == 0:
			return read, io.EOF
		default:
			if read += n; f.direct && n%BlockSize != 0 {
				return read, io.EOF // within a block ends only the file
			}
		}
	}
	return read, nil
}

// ReadNoWait implements NoWaiter.
func (f *file) ReadNoWait(p []byte, at int64) error {
	if err := f.enter(); err != nil {
		return f.fail("read", err)
	}
	defer f.leave()
	if f.missing(at, int64(len(p))) {
		return ErrWouldBlock
	}
	n, err := unix.Preadv2(f.fd, [][]byte{p}, at, unix.RWF_NOWAIT)
	if err == nil && n == len(p) {
		return nil
	}
	if err == nil || err == unix.EAGAIN || err == unix.EOPNOTSUPP || err == unix.EINTR {
		return ErrWouldBlock
	}
	return f.fail("read", err)
}

func (f *file) Write(p []byte, at int64, durable bool) error {
	if err := f.enter(); err != nil {
		return f.fail("write", err)
	}
	defer f.leave()
	return f.writeAll(p, at, durable)
}

// writeAll is Write for a caller that is inside: the plain queue entered when it pushed.
func (f *file) writeAll(p []byte, at int64, durable bool) error {
	if at < 0 {
		return f.fail("write", unix.EINVAL) // pwritev2 takes -1 as the descriptor's own position
	}
	dsync := durable && !f.noDsync.Load()
	again := 0
	for len(p) > 0 {
		n, err := f.writeOnce(p, at, dsync)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && again < maxAgain:
			again++
			runtime.Gosched()
			continue
		case dsync && (err == unix.EOPNOTSUPP || err == unix.ENOSYS):
			// Kernel before 4.7, a FUSE-like file system or a seccomp filter: the same promise in two calls.
			f.noDsync.Store(true)
			dsync = false
			continue
		case err != nil:
			return f.fail("write", err)
		}
		again = 0
		if f.direct && n < len(p) {
			n &^= BlockSize - 1 // the rest has to start aligned: bytes of a part block are written again, identical
		}
		if n == 0 {
			return f.fail("write", io.ErrShortWrite)
		}
		p, at = p[n:], at+int64(n)
	}
	if durable && !dsync {
		return f.flush()
	}
	return nil
}

func (f *file) writeOnce(p []byte, at int64, dsync bool) (int, error) {
	if dsync {
		return unix.Pwritev2(f.fd, [][]byte{p}, at, unix.RWF_DSYNC)
	}
	return unix.Pwrite(f.fd, p, at)
}

func (f *file) Datasync() error {
	if err := f.enter(); err != nil {
		return f.fail("fdatasync", err)
	}
	defer f.leave()
	return f.flush()
}

// flush is fdatasync with a memory. Linux reports a failed writeback once per open file and then says that all is well
// although the pages are clean without being written, so the first failure is kept and told again.
func (f *file) flush() error {
	if lost := f.lost.Load(); lost != nil {
		return *lost
	}
	err := f.fail("fdatasync", retryErr(func() error { return unix.Fdatasync(f.fd) }))
	if err != nil {
		f.lose(err)
	}
	return err
}

// lose remembers the first failure of a flush.
func (f *file) lose(err error) { f.lost.CompareAndSwap(nil, &err) }

func (f *file) Truncate(size int64) error {
	if err := f.enter(); err != nil {
		return f.fail("truncate", err)
	}
	defer f.leave()
	return f.fail("truncate", retryErr(func() error { return unix.Ftruncate(f.fd, size) }))
}

func (f *file) Size() (int64, error) {
	if err := f.enter(); err != nil {
		return 0, f.fail("stat", err)
	}
	defer f.leave()
	var st unix.Stat_t
	if err := retryErr(func() error { return unix.Fstat(f.fd, &st) }); err != nil {
		return 0, f.fail("stat", err)
	}
	return st.Size, nil
}

func (f *file) Advise(random bool) error {
	if err := f.enter(); err != nil {
		return f.fail("fadvise", err)
	}
	defer f.leave()
	advice := unix.FADV_NORMAL
	if random {
		advice = unix.FADV_RANDOM
	}
	return f.fail("fadvise", unix.Fadvise(f.fd, 0, 0, advice))
}

// Cached asks cachestat(2), which there is since Linux 6.5.
func (f *file) Cached(at, n int64) bool {
	if n <= 0 || f.enter() != nil {
		return true
	}
	defer f.leave()
	pages, ok := f.pages(at, n)
	return !ok || pages > 0
}

// missing reports whether pages of the file are not in the page cache, as far as the kernel says. A read that is not to wait has the kernel
// ask the disk for such pages, and so may wait all the same: for the blocks that say where they are, or for its turn at the device.
func (f *file) missing(at, n int64) bool {
	if n <= 0 {
		return false
	}
	page := int64(os.Getpagesize())
	pages, ok := f.pages(at, n)
	return ok && pages < (at+n-1)/page-at/page+1
}

// pages returns how many pages of a range are in the page cache, whether they have been read or are about to be.
func (f *file) pages(at, n int64) (pages int64, ok bool) {
	var st unix.Cachestat_t
	err := unix.Cachestat(uint(f.fd), &unix.CachestatRange{Off: uint64(at), Len: uint64(n)}, &st, 0)
	return int64(st.Cache), err == nil
}
