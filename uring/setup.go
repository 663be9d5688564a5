package uring

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limits of a ring, the kernel's own (IORING_MAX_ENTRIES, IORING_MAX_CQ_ENTRIES).
const (
	MaxEntries     = 32768
	MaxCQEntries   = 2 * MaxEntries
	DefaultEntries = 128
)

// ladder lists the set-up flags to try, best first; each rung is one kernel generation. A kernel answers EINVAL for a
// flag that it does not know, and then the next rung is tried.
//
// SINGLE_ISSUER comes with R_DISABLED, so that the ring belongs to the thread that first uses it and not to the one that
// made it. TASKRUN_FLAG comes with both kinds of task run, so that a peek knows when entering the kernel would help.
var ladder = [...]SetupFlags{
	SetupSingleIssuer | SetupDeferTaskrun | SetupTaskrunFlag | SetupSubmitAll | SetupRDisabled | SetupNoSQArray, // 6.6
	SetupSingleIssuer | SetupDeferTaskrun | SetupTaskrunFlag | SetupSubmitAll | SetupRDisabled,                  // 6.1
	SetupSingleIssuer | SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll | SetupRDisabled,                   // 6.0
	SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll,                                                        // 5.19
	SetupSubmitAll, // 5.18
	0,              // 5.11
}

// setup calls io_uring_setup with the best flags that the kernel takes and that allow permits.
func setup(entries, cqEntries uint32, without SetupFlags) (fd int, p params, err error) {
	for _, flags := range ladder {
		if flags&without != 0 {
			continue
		}
		p = params{flags: flags | SetupClamp}
		if cqEntries != 0 {
			p.flags |= SetupCQSize
			p.cqEntries = cqEntries
		}
		n, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
		switch errno {
		case 0:
			return int(n), p, nil
		case unix.EINVAL:
			continue
		default:
			return -1, p, refusal(errno)
		}
	}
	return -1, p, refusal(unix.EINVAL)
}

// rings are the mappings of one ring and the words in them that kernel and owner share.
type rings struct {
	queueMap, sqeMap []byte // both queues' words and the completions; the entries

	sqHead, sqTail, sqFlags *uint32 // head and flags are the kernel's, tail is ours
	cqHead, cqTail          *uint32 // head is ours, tail is the kernel's
	cqDropped               *uint32 // completions that the kernel had to drop
	entries                 []Entry
	cqes                    []CQE
	sqMask, cqMask          uint32
}

// mapRings maps the queues of a new ring. On an error nothing stays mapped.
func mapRings(fd int, p *params) (m rings, err error) {
	size := int(p.cqOff.cqes) + int(p.cqEntries)*int(unsafe.Sizeof(CQE{}))
	if p.flags&SetupNoSQArray == 0 {
		size = max(size, int(p.sqOff.array)+int(p.sqEntries)*4)
	}
	if m.queueMap, err = mapShared(fd, offSQRing, size); err != nil {
		return m, err
	}
	if m.sqeMap, err = mapShared(fd, offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(Entry{}))); err != nil {
		return m, errors.Join(err, m.unmap())
	}
	m.locate(p)
	return m, nil
}

// locate finds the shared words, and fills the array of indexes once and for all: slot i is entry i.
func (m *rings) locate(p *params) {
	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&m.queueMap[off])) }
	m.sqHead, m.sqTail, m.sqFlags = word(p.sqOff.head), word(p.sqOff.tail), word(p.sqOff.flags)
	m.cqHead, m.cqTail, m.cqDropped = word(p.cqOff.head), word(p.cqOff.tail), word(p.cqOff.overflow)
	m.entries = unsafe.Slice((*Entry)(unsafe.Pointer(&m.sqeMap[0])), p.sqEntries)
	m.cqes = unsafe.Slice((*CQE)(unsafe.Pointer(&m.queueMap[p.cqOff.cqes])), p.cqEntries)
	m.sqMask, m.cqMask = p.sqEntries-1, p.cqEntries-1
	if p.flags&SetupNoSQArray != 0 {
		return
	}
	array := unsafe.Slice(word(p.sqOff.array), p.sqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
}

// unmap gives both mappings back.
func (m *rings) unmap() error {
	var errs []error
	for _, b := range [...][]byte{m.sqeMap, m.queueMap} {
		if b != nil {
			errs = append(errs, unix.Munmap(b))
		}
	}
	*m = rings{}
	return errors.Join(errs...)
}

func mapShared(fd int, off int64, size int) ([]byte, error) {
	b, err := unix.Mmap(fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("uring: map %d bytes of ring at %#x: %w", size, off, err)
	}
	return b, nil
}
