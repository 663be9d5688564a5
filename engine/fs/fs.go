package fs

import (
	"errors"
	"io"
	"os"
)

// ErrUnsupported is returned by NewQueue where the kernel has no usable io_uring (NewPlainQueue does the same work
// then), by Map where a file has no mapping, and by Open with Direct where the file system has no O_DIRECT. The engine
// then takes its plain path, which writes the same bytes.
var ErrUnsupported = errors.New("not supported here")

// ErrLocked is returned by Lock where somebody else holds the lock, this process included.
var ErrLocked = errors.New("in use: Apache Kafka or another process holds this lock")

// ErrWouldBlock is returned by ReadNoWait for bytes that would have to come from a disk.
var ErrWouldBlock = errors.New("the bytes are not in memory")

// Open flags that have no portable name in package os. They are combined with os.O_RDWR, os.O_CREATE, os.O_EXCL.
const (
	// Direct asks for O_DIRECT: buffers, positions and lengths are multiples of BlockSize.
	Direct = 1 << 30
)

// BlockSize is the alignment of direct writes in bytes: the page size, and at least the logical block size of every
// device that is supported.
const BlockSize = 4096

// FS is a file system.
type FS interface {
	// Open opens name with os flags and Direct; perm is 0644.
	Open(name string, flag int) (File, error)
	// MkdirAll makes a directory and its parents. The caller syncs the parents.
	MkdirAll(dir string) error
	// ReadDir lists a directory in name order.
	ReadDir(dir string) ([]os.DirEntry, error)
	Stat(name string) (os.FileInfo, error)
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// SyncDir makes creates, renames and removes in dir durable: they are not before.
	SyncDir(dir string) error
	// Lock takes an exclusive advisory lock on name, creating it, against other engines and against Apache Kafka. It fails at once,
	// with ErrLocked, where somebody else has it.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that an unprivileged writer can still allocate on the file system that holds dir.
	Free(dir string) (int64, error)
	// Share empties name, creating it, and maps up to limit bytes of it for writing; or it returns ErrUnsupported.
	Share(name string, limit int64) (Shared, error)
	// Boot names this run of the machine: what was in the page cache is there under the same name alone. "" is not known.
	Boot() string
	// NewQueue returns a queue of asynchronous writes for one owner, or ErrUnsupported.
	NewQueue(depth int) (Queue, error)
}

// File is an open file. ReadAt may be called from anywhere; writes and Truncate have one owner at a time.
type File interface {
	io.ReaderAt
	Name() string
	// Fd returns the descriptor for sendfile, or -1 where there is none.
	Fd() int
	// Write writes all of p at position at: a short write is continued, and an error means that any part of p may be
	// in the file. With durable it returns once p is on stable storage (RWF_DSYNC).
	Write(p []byte, at int64, durable bool) error
	// Datasync returns once everything written is on stable storage, with the size if that changed. Its error is
	// final: the kernel may have dropped the dirty pages, and a second call would lie.
	Datasync() error
	Truncate(size int64) error
	Size() (int64, error)
	// Advise tells the kernel how this descriptor reads. With random it does not read ahead: for readers of a segment
	// that is still written, where read-ahead would fill the page cache in front of a direct writer.
	Advise(random bool) error
	// Map maps the first size bytes read-only, or returns ErrUnsupported.
	Map(size int) (Mapping, error)
	// Close closes the descriptor. Unflushed write errors may be lost with it: Datasync first.
	Close() error
}

// NoWaiter is a File that can be read without waiting for a disk. Not every File is one.
type NoWaiter interface {
	// ReadNoWait is ReadAt for bytes that are in memory, and ErrWouldBlock where they are not all.
	ReadNoWait(p []byte, at int64) error
}

// Cacher is a File of which the kernel tells what it has in its page cache. Not every File is one.
type Cacher interface {
	// Cached reports whether any of n bytes from position at is in the page cache, or may be: where it is not known it is true.
	Cached(at, n int64) bool
}

// Mapping is a read-only memory mapping of a file.
type Mapping interface {
	// Bytes is valid until Close. Reading beyond a file that was cut meanwhile is a fault: see engine/index.
	Bytes() []byte
	// Load brings all of it into memory. A goroutine that waits for a disk in a call holds up nobody; one that waits in a load from a page
	// that is not there holds up all others when memory is collected.
	Load()
	Close() error
}

// Queue submits writes that complete in any order. All but Wake is called by one goroutine, locked to its thread.
// From Push to its completion the queue owns the buffer, whatever happens meanwhile, and the file is not closed
// under it. Two operations in flight never cover the same block: a device may land them in either order. A file
// belongs to the FS that its queue came from.
type Queue interface {
	// Push adds a write of p at position at to the next submission; durable is RWF_DSYNC. It reports false when the
	// queue is full: Wait first. tag comes back in the completion.
	Push(f File, p []byte, at int64, durable bool, tag uint64) bool
	// PushSync adds an fdatasync that covers only writes that had completed before it was pushed.
	PushSync(f File, tag uint64) bool
	// Wait submits what was pushed, waits until at least one completion is there (or Wake was called) and appends all
	// that are there to dst. An error of its own is final: what is in flight will never be known, and its buffers must
	// not be used again.
	Wait(dst []Completion) ([]Completion, error)
	// Wake makes a Wait that is blocked, or the next one, return. It may be called from anywhere.
	Wake()
	// Close waits for what is in flight and frees the queue. It returns the first error of operations whose completion
	// Wait had not returned.
	Close() error
}

// Completion is the end of one pushed operation. A short write is an error here (io.ErrShortWrite): it was not written.
type Completion struct {
	Tag uint64
	Err error
}
