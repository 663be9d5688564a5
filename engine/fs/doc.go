// Package fs is the engine's file-system seam: every call that the engine makes on a directory or a file goes
// through it, so that a test can put a twin in its place that fails, tears and forgets (Crash).
//
// It is not a general file-system abstraction: it has what an append-only log needs and no more. Names are host
// paths. Errors of the operating system are returned as *os.PathError or *os.LinkError around the errno, so that
// errors.Is(err, unix.ENOSPC) and errors.Is(err, os.ErrNotExist) work.
package fs
