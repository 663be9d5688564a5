package uring

import "golang.org/x/sys/unix"

// Entry is the kernel's struct io_uring_sqe, in memory shared with it. Host byte order, 64 bytes:
//
//	 0       1       2       4               8
//	+-------+-------+-------+---------------+-------------------------------+
//	|opcode |flags  |ioprio |fd             |off: position, or second addr  |
//	+-------+-------+-------+---------------+-------------------------------+ 16
//	|addr: buffer, vector, user data        |len            |op flags       |
//	+---------------------------------------+---------------+---------------+ 32
//	|user data                      |buf idx|persona|file index             |
//	+-------------------------------+-------+-------+-----------------------+ 48
//	|addr3                          |pad                                    |
//	+-------------------------------+---------------------------------------+ 64
//
// SQE's methods fill it; SQE.Entry gives it to those who need an operation that has no Prep method.
type Entry struct {
	OpCode      Op
	Flags       Flags
	IoPrio      uint16 // the flags of PollRemove, AsyncCancel and network operations in some kernels
	Fd          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32 // RWF_*, fsync, timeout, cancel flags, poll events: whatever the operation reads there
	UserData    uint64
	BufIndex    uint16
	Personality uint16
	FileIndex   uint32
	Addr3       uint64
	_           uint64
}

// CQE is one completion, a copy of the kernel's struct io_uring_cqe.
type CQE struct {
	UserData uint64 // of the entry
	Res      int32  // what the system call would have returned, or a negative errno
	Flags    uint32
}

// Err returns the errno of a failed operation, or nil. A short read or write is no error here.
func (c CQE) Err() error {
	if c.Res < 0 {
		return unix.Errno(-c.Res)
	}
	return nil
}

// More reports whether the same entry will complete again.
func (c CQE) More() bool { return c.Flags&CQEFMore != 0 }

// params is struct io_uring_params.
type params struct {
	sqEntries    uint32
	cqEntries    uint32
	flags        SetupFlags
	sqThreadCPU  uint32
	sqThreadIdle uint32
	features     Features
	wqFd         uint32
	resv         [3]uint32
	sqOff        sqOffsets
	cqOff        cqOffsets
}

// sqOffsets says where the words of the submission queue lie in its mapping, in bytes.
type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, resv1 uint32
	userAddr                                                        uint64
}

// cqOffsets says where the words of the completion queue lie in its mapping, in bytes.
type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, resv1 uint32
	userAddr                                                        uint64
}

// getEventsArg is struct io_uring_getevents_arg: how io_uring_enter takes a timeout.
type getEventsArg struct {
	sigmask   uint64
	sigmaskSz uint32
	minWait   uint32
	ts        uint64 // address of a timespec
}

// timespec is struct __kernel_timespec: 64 bits wide on all machines.
type timespec struct {
	sec  int64
	nsec int64
}
