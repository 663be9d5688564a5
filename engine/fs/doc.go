// Package fs is the engine's file-system seam: every call that the engine makes on a directory or a file goes
// through it, so that a test can put a twin in its place that fails, tears and forgets (Crash).
//
// It is not a general file-system abstraction: it has what an append-only log needs and no more. There is no seek, no
// append mode, no permissions, no links. Names are host paths. Errors of the operating system are returned as
// *os.PathError or *os.LinkError around the errno, so that errors.Is(err, unix.ENOSPC) and
// errors.Is(err, os.ErrNotExist) work.
//
// # Words
//
//   - written: the running process, and after its death the next one, read it back. A power cut may undo it.
//   - flushed, on stable storage: a power cut does not undo it.
//   - durable write: a write that is flushed when it returns or completes (RWF_DSYNC, pwritev2(2)).
//   - in flight: pushed to a Queue, and its completion not yet returned by Wait.
//
// # What is promised
//
//	call                 covers
//	Write, Push          nothing but its own bytes, and those only as written
//	durable write        its own bytes, and a size of the file that includes them
//	Datasync, PushSync   all writes and truncates of the file that had completed before it was called or pushed,
//	                     through any descriptor, with the size
//	SyncDir              creates, renames and removes in that directory; not the directory's own name in its parent
//
// A file that is flushed in a directory that is not synced may be gone after a power cut. What is assumed of the device:
// a sector of 512 bytes is written whole or not at all, and a flush that succeeded is true.
//
// # Failure
//
// A write that failed may have left any part of itself. A flush that failed is final: Linux reports it once per
// descriptor and then marks the pages clean, so a File of the host repeats its first failure forever, and another
// descriptor of the same file would succeed without having written anything. The twin lies as the kernel does.
//
// # Who may call
//
// An FS may be used by anybody at any time. A File may be read by anybody; one goroutine at a time writes or
// truncates. Close lets calls inside finish; a descriptor taken with Fd is the taker's care. A Queue belongs to one
// goroutine, locked to its thread with runtime.LockOSThread; only Wake may be called from elsewhere.
//
// # Files
//
//	fs.go           the interfaces
//	os*.go          the host
//	queue_ring.go   its Queue, on package uring
//	queue_plain.go  a Queue on pwritev2 for hosts that refuse rings
//	crash*.go       the twin: names, inodes (what is pending), files, queue, and the cut that Clone makes
package fs
