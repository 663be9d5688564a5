// Package uring is zurau's binding to Linux's io_uring, in liburing's words, on raw system calls. It is the only
// package of the project that uses unsafe, and it imports nothing of the project.
//
// It has what a log engine needs: reads, writes, fdatasync, polls, timeouts, cancellation, linked entries, registered
// files and buffers, a probe of what the kernel allows, and off-heap buffers. It has no network operations, no
// SQPOLL, no IOPOLL and no provided buffers. Kernel 5.11 or newer, little-endian machines.
//
// # Words
//
//   - entry, SQE: one request in the submission queue. [Ring.GetSQE] hands out a zeroed one, a Prep method fills it.
//   - completion, CQE: the answer to one entry: its user data and a result, which is a count of bytes or a negative errno.
//   - submit: hand all prepared entries to the kernel with one system call ([Ring.Submit]).
//   - reap: take completions out of the completion queue ([Ring.Reap], or [Ring.PeekCQE] and [Ring.Advance]).
//   - in flight: submitted, and its last completion not reaped yet.
//   - chain: entries joined by [IOLink]. The next one starts when the one before has fully succeeded.
//
// # One owner
//
// A Ring belongs to one goroutine, locked to its thread with runtime.LockOSThread. [New] may run anywhere; the thread that
// first submits or waits becomes the owner, and from then on nobody else may call any method, Close included. Where the
// kernel can check this (SINGLE_ISSUER, 6.0) a call from another thread panics. Other goroutines hand their requests
// to the owner through a queue, and wake it through an eventfd that it reads or polls with an entry.
//
// # Who owns a buffer
//
// From Submit until its completion is reaped the kernel owns an operation's buffer, whatever happens meanwhile: a
// timeout that fired, a cancellation that was sent. Memory must stay where it is for that time. [Alloc] gives memory off
// the Go heap that does. A slice on the heap works too as long as the caller keeps a reference until the completion; a
// slice on a goroutine's stack does not exist here, the Prep methods make it escape. Time values and vectors (but not the
// memory that they point to) are copied and are free when the Prep method returns.
//
// # States of an entry
//
//	GetSQE ──> prepared ──Submit──> in flight ──completion──> done, reaped by the owner
//	                │                   │
//	                └──Close: dropped   └──cancel, or failure of its chain: completes with -ECANCELED (or its own result)
//
// A completion with [CQE.More] set is followed by another one of the same entry.
//
// # What io_uring_enter's errors mean to us
//
//	EINTR     a signal (Go preempts with them) came before anything was done         called again, the timeout shortened
//	EAGAIN    no memory for requests                                                  completions saved, waited for one, again; in the end returned
//	EBUSY     completions wait in the kernel because the completion queue is full     completions saved in Go memory, again
//	ETIME     the timeout of SubmitAndWaitTimeout passed                              returned as it is
//	EBADR     the kernel had no memory for a completion and dropped it                ErrDropped: nothing in flight can be trusted
//	EEXIST    another thread than the owner called                                    panic
//	EBADF, EBADFD, EFAULT, EINVAL, ENXIO, EOPNOTSUPP: a bug in this package           panic
//	others                                                                            returned, wrapped
//
// # Caveats
//
//   - A short result of a read or write is a success for its completion, but breaks its chain: the entries after it
//     complete with -ECANCELED. After a short write the linked fsync did not happen.
//   - A chain ends with its submission. Submit panics when the last entry still has IOLink set, since the entry that
//     was meant to follow would run at any time. Check [Ring.SQSpaceLeft] before starting a chain.
//   - An fsync covers writes that had completed before it was submitted, and no others in flight beside it.
//   - With DEFER_TASKRUN (6.1) completions appear only when the owner enters the kernel. Peeking does so where needed.
//   - On kernels before 5.12, rings count against RLIMIT_MEMLOCK; registered buffers do on all kernels (unless CAP_IPC_LOCK).
//   - A child process made by fork alone would share the ring; os/exec is safe, since the descriptor is close-on-exec.
package uring
