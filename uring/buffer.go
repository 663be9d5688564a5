package uring

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Buffer is memory off the Go heap, page aligned and zeroed: fit for O_DIRECT and for being the kernel's while an
// operation is in flight. It has one owner, who frees it once; a copy of the struct would be a second one.
type Buffer struct {
	b     []byte // as long as asked for
	whole []byte // the mapping
	freed atomic.Bool
}

// Alloc returns a buffer of n bytes, n > 0. The memory is there: it does not fault when it is first written. It is not
// known to the garbage collector, so whoever drops a Buffer without Free has leaked it. Errors are mmap's (ENOMEM).
func Alloc(n int) (*Buffer, error) {
	if n <= 0 {
		return nil, fmt.Errorf("uring: allocate %d bytes: %w", n, unix.EINVAL)
	}
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	whole, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("uring: allocate %d bytes: %w", size, err)
	}
	return &Buffer{b: whole[:n:n], whole: whole}, nil
}

// Bytes returns the memory. It panics after Free; slices taken before must not be touched then either.
func (b *Buffer) Bytes() []byte {
	if b.freed.Load() {
		panic("uring: use of a freed buffer")
	}
	return b.b
}

// Free gives the memory back. Nothing in flight may use it. A second call panics.
func (b *Buffer) Free() {
	if b.freed.Swap(true) {
		panic("uring: buffer freed twice")
	}
	if err := unix.Munmap(b.whole); err != nil {
		panic(fmt.Sprintf("uring: unmap of %d bytes: %v", len(b.whole), err)) // the address is ours: a bug
	}
	b.b, b.whole = nil, nil
}
