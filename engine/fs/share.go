package fs

// Shared is a file that is mapped for writing: what Update has put there is in the page cache, and outlives the process as
// what write(2) has put there does. It is not durable. One process has it at a time.
type Shared interface {
	// Grow makes the first size bytes usable; those that are new are zeros. Where the disk has no room for them it returns
	// the error and changes nothing: a mapped page that has no block is a signal, not an error.
	Grow(size int64) error
	// Bytes is all of it. Only what Grow made usable may be touched, and it is read here and changed by Update.
	Bytes() []byte
	// Keep has the kernel bring n bytes from position at to where a store does not ask the file system, and waits for that itself. A store into
	// a page that was written back since its last one asks for a time and for blocks, which takes as long as the disk does nothing; and a
	// goroutine that waits so cannot be stopped, and holds up all others when memory is collected. It returns false where there is
	// no such call.
	Keep(at, n int64) bool
	// Update runs f with the n bytes from position at on. An error says that the kernel could not bring a page in, and that
	// f has stopped somewhere.
	Update(at, n int64, f func(b []byte)) error
	// Drop gives all blocks and all memory back: nothing is usable after it.
	Drop() error
	// Sync puts everything on stable storage.
	Sync() error
	// Close unmaps it: nobody may touch Bytes any more. The file stays.
	Close() error
}
