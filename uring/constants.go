package uring

import "golang.org/x/sys/unix"

// Op is an operation code of an entry (include/uapi/linux/io_uring.h, enum io_uring_op).
type Op uint8

// The operations that this package prepares, and a few that its users ask the probe for.
const (
	OpNop           Op = 0
	OpReadv         Op = 1
	OpWritev        Op = 2
	OpFsync         Op = 3
	OpReadFixed     Op = 4
	OpWriteFixed    Op = 5
	OpPollAdd       Op = 6
	OpPollRemove    Op = 7
	OpSyncFileRange Op = 8
	OpTimeout       Op = 11
	OpTimeoutRemove Op = 12
	OpAsyncCancel   Op = 14
	OpLinkTimeout   Op = 15
	OpFallocate     Op = 17
	OpClose         Op = 19
	OpRead          Op = 22
	OpWrite         Op = 23
	OpFadvise       Op = 24
	OpMsgRing       Op = 40
	OpFtruncate     Op = 55

	// opInvalid is no operation of any kernel: such an entry completes with -EINVAL.
	opInvalid Op = 0xff
)

// Flags are the flags of an entry (IOSQE_*).
type Flags uint8

const (
	// FixedFile says that the descriptor is an index into the registered files.
	FixedFile Flags = 1 << 0
	// IODrain starts the entry after everything submitted before it has completed, and holds back all after it.
	IODrain Flags = 1 << 1
	// IOLink makes the next entry start when this one has succeeded in full; otherwise it completes with -ECANCELED.
	IOLink Flags = 1 << 2
	// IOHardlink is IOLink that a failure does not break.
	IOHardlink Flags = 1 << 3
	// Async hands the entry to a kernel worker at once, without an attempt in the submitting call.
	Async Flags = 1 << 4
	// CQESkipSuccess suppresses the completion of a success (5.17). A chain uses it on all of its entries but the last
	// or on none: then each chain ends with exactly one completion, that of the first failure (those after it are
	// silent) or that of the last entry. Submit panics on any other use, with hard links and with link timeouts, because
	// nobody could count what is in flight.
	CQESkipSuccess Flags = 1 << 6
)

// Flags of reads and writes, for SQE.SetRWFlags (preadv2(2)).
const (
	RWFHipri  = unix.RWF_HIPRI
	RWFDsync  = unix.RWF_DSYNC  // the write is complete when it is on stable storage, with the metadata to find it
	RWFSync   = unix.RWF_SYNC   // as RWFDsync, with all metadata
	RWFNowait = unix.RWF_NOWAIT // -EAGAIN where the operation would wait
	RWFAppend = unix.RWF_APPEND // write at the end of the file, whatever the position says
)

// FsyncDatasync is the flag of Fsync that makes it fdatasync(2).
const FsyncDatasync = 1 << 0

// Flags of Timeout and LinkTimeout.
const (
	TimeoutAbs          = 1 << 0 // the time is a point on CLOCK_MONOTONIC
	TimeoutBoottime     = 1 << 2 // the clock counts suspended time (5.15)
	TimeoutRealtime     = 1 << 3 // wall clock (5.15)
	TimeoutETimeSuccess = 1 << 5 // an expiry is no failure for a chain (5.16)
)

// Flags of PollAdd.
const PollAddMulti = 1 << 0 // stays armed after an event: completions with More until cancelled (5.13)

// Flags of AsyncCancel (5.19).
const (
	CancelAll      = 1 << 0 // all matches; the result is their number
	CancelFd       = 1 << 1 // match by descriptor instead of user data
	CancelAny      = 1 << 2 // match everything in flight
	CancelFdFixed  = 1 << 3 // with CancelFd: the descriptor is a registered index
	CancelUserData = 1 << 4 // match by user data too (6.6)
)

// Flags of a completion.
const (
	CQEFBuffer = 1 << 0
	CQEFMore   = 1 << 1 // the entry will complete again
)

// SetupFlags are the flags of io_uring_setup(2).
type SetupFlags uint32

const (
	SetupIOPoll       SetupFlags = 1 << 0
	SetupSQPoll       SetupFlags = 1 << 1
	SetupCQSize       SetupFlags = 1 << 3
	SetupClamp        SetupFlags = 1 << 4
	SetupRDisabled    SetupFlags = 1 << 6
	SetupSubmitAll    SetupFlags = 1 << 7  // 5.18: an entry that fails at once does not stop the submission
	SetupCoopTaskrun  SetupFlags = 1 << 8  // 5.19: no interrupt to the owner for a completion
	SetupTaskrunFlag  SetupFlags = 1 << 9  // 5.19: a bit says when entering the kernel would give completions
	SetupSingleIssuer SetupFlags = 1 << 12 // 6.0: one thread submits; the kernel checks it
	SetupDeferTaskrun SetupFlags = 1 << 13 // 6.1: completion work runs when the owner waits, and at no other time
	SetupNoSQArray    SetupFlags = 1 << 16 // 6.6: entries are submitted in their order, without an array of indexes
)

// Features are what a kernel says about itself in io_uring_setup(2).
type Features uint32

const (
	FeatSingleMmap    Features = 1 << 0  // 5.4: both rings in one mapping
	FeatNoDrop        Features = 1 << 1  // 5.5: completions that do not fit wait in the kernel
	FeatSubmitStable  Features = 1 << 2  // 5.5: times and vectors may go when submit returns
	FeatRWCurPos      Features = 1 << 3  // 5.6
	FeatFastPoll      Features = 1 << 5  // 5.7
	FeatPoll32        Features = 1 << 6  // 5.9
	FeatExtArg        Features = 1 << 8  // 5.11: waiting with a timeout without an entry
	FeatNativeWorkers Features = 1 << 9  // 5.12
	FeatRsrcTags      Features = 1 << 10 // 5.13
	FeatCQESkip       Features = 1 << 11 // 5.17
	FeatLinkedFile    Features = 1 << 12 // 5.17
	FeatRegRegRing    Features = 1 << 13 // 6.3
	FeatMinTimeout    Features = 1 << 15 // 6.12

	// featRequired is what this package is built on: all of it is in 5.11.
	featRequired = FeatSingleMmap | FeatNoDrop | FeatSubmitStable | FeatExtArg
)

// Offsets for mapping a ring, flags of io_uring_enter(2), bits in the queues' flag words, and register codes.
const (
	offSQRing = 0
	offSQEs   = 0x10000000

	enterGetEvents      = 1 << 0
	enterExtArg         = 1 << 3
	enterRegisteredRing = 1 << 4

	sqCQOverflow = 1 << 1
	sqTaskrun    = 1 << 2

	registerBuffers       = 0
	unregisterBuffers     = 1
	registerFiles         = 2
	unregisterFiles       = 3
	registerEventfd       = 4
	unregisterEventfd     = 5
	registerFilesUpdate   = 6
	registerProbe         = 8
	registerEnableRings   = 12
	registerIOWQMaxWorker = 19
	registerRingFds       = 20
	unregisterRingFds     = 21
)
