package fs

import (
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mapping is a shared read-only mmap. It holds its own reference to the file: it outlives the File's Close.
type mapping struct {
	bytes  []byte
	closed atomic.Bool
}

// Map refuses to map more than the file has (io.ErrUnexpectedEOF): a page that begins beyond the end is SIGBUS.
func (f *file) Map(size int) (Mapping, error) {
	has, err := f.Size()
	if err != nil {
		return nil, err
	}
	if int64(size) > has {
		return nil, f.fail("mmap", io.ErrUnexpectedEOF)
	}
	if size == 0 {
		return &mapping{}, nil // mmap(2) has no empty mappings
	}
	if err := f.enter(); err != nil {
		return nil, f.fail("mmap", err)
	}
	defer f.leave()
	b, err := unix.Mmap(f.fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, f.fail("mmap", err)
	}
	return &mapping{bytes: b}, nil
}

func (m *mapping) Bytes() []byte { return m.bytes }

// Load is madvise(2), MADV_POPULATE_READ, since Linux 5.14. What it cannot do a load will meet.
func (m *mapping) Load() {
	if len(m.bytes) > 0 {
		_ = unix.Madvise(m.bytes, unix.MADV_POPULATE_READ)
	}
}

// Close unmaps once; a second call does nothing. Whoever still reads Bytes then faults.
func (m *mapping) Close() error {
	if m.bytes == nil || m.closed.Swap(true) {
		return nil
	}
	return unix.Munmap(m.bytes)
}
