package fs

import (
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared is a shared mapping of a file of the host.
type shared struct {
	fd     int
	name   string
	bytes  []byte
	size   atomic.Int64 // usable
	closed atomic.Bool
}

// Share opens name, empties it and maps it.
func (host) Share(name string, limit int64) (Shared, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	b, err := unix.Mmap(fd, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd) // nothing was written
		return nil, &os.PathError{Op: "mmap", Path: name, Err: err}
	}
	return &shared{fd: fd, name: name, bytes: b}, nil
}

// Grow allocates the blocks, so that no page of the mapping can be short of one.
func (s *shared) Grow(size int64) error {
	if err := retryErr(func() error { return unix.Fallocate(s.fd, 0, 0, size) }); err != nil {
		return &os.PathError{Op: "fallocate", Path: s.name, Err: err}
	}
	s.size.Store(max(size, s.size.Load()))
	return nil
}

func (s *shared) Bytes() []byte { return s.bytes }

// Keep is madvise(2), MADV_POPULATE_WRITE, since Linux 5.14. What it cannot do a store will meet.
func (s *shared) Keep(at, n int64) bool {
	err := retryErr(func() error { return unix.Madvise(s.bytes[at:at+n], unix.MADV_POPULATE_WRITE) })
	return err != unix.EINVAL
}

// Update turns the fault of a page that cannot be read in into an error: a disk that dies must not take the process along.
func (s *shared) Update(at, n int64, f func([]byte)) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			fault, ok := v.(interface{ Addr() uintptr })
			start := uintptr(unsafe.Pointer(unsafe.SliceData(s.bytes)))
			if !ok || fault.Addr() < start || fault.Addr() >= start+uintptr(len(s.bytes)) {
				panic(v)
			}
			err = &os.PathError{Op: "write to the mapping of", Path: s.name, Err: unix.EIO}
		}
	}()
	f(s.bytes[at : at+n])
	return nil
}

func (s *shared) Drop() error {
	s.size.Store(0)
	if err := unix.Ftruncate(s.fd, 0); err != nil {
		return &os.PathError{Op: "truncate", Path: s.name, Err: err}
	}
	return nil
}

// Sync is fdatasync: it covers the pages that were changed by way of the mapping (msync(2), NOTES).
func (s *shared) Sync() error {
	if err := retryErr(func() error { return unix.Fdatasync(s.fd) }); err != nil {
		return &os.PathError{Op: "fdatasync", Path: s.name, Err: err}
	}
	return nil
}

func (s *shared) Close() error {
	if s.closed.Swap(true) {
		return os.ErrClosed
	}
	err := unix.Munmap(s.bytes)
	if cerr := unix.Close(s.fd); err == nil {
		err = cerr
	}
	if err != nil {
		return &os.PathError{Op: "close", Path: s.name, Err: err}
	}
	return nil
}

// Boot returns the kernel's random name of this run of the machine (random(4), boot_id).
func (host) Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
