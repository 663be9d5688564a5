// Package giouringcheck compares package uring with github.com/pawelgaczynski/giouring, the binding that it stands in
// for: the same constants, the same layout of entries and completions, the same bytes in entries for the same
// operations, and the same results from the kernel. It has nothing but tests, and is a module of its own, so that
// nobody who embeds zurau depends on giouring. Run it in this directory:
//
//	go test -ldflags=-checklinkname=0 ./...
//
// The flag is needed because giouring reaches syscall.mmap and syscall.munmap through go:linkname, which Go's linker
// refuses since 1.23 ("invalid reference to syscall.munmap"). The version compared with, of August 2023, is its last.
//
// Known defects of giouring, which the comparison goes around; the first three have a test that shows them:
//
//   - A Prepare method leaves the op flags of the slot's last use in place: a write after an fdatasync fails with
//     EINVAL, and one after a durable write is silently durable, or the other way round.
//   - RegisterFiles and RegisterFilesUpdate hand the kernel 8-byte integers where it reads 4-byte ones, so that only
//     index 0 is right; and their errors are swallowed.
//   - PrepareTimeout hands over the address of a pointer, PrepareLinkTimeout and PrepareTimeoutRemove that of a
//     variable that is gone: the time is whatever lies there.
//   - RegisterIOWQMaxWorkers has the same width mistake: the second limit is lost.
//   - Operations that take a path, Sendto and SendZC hand over the address of the slice header.
//   - UnregisterRingFd always fails; CQ size and other parameters cannot be set.
package giouringcheck
