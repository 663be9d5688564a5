package uring

import (
	"sync/atomic"
	"unsafe"
)

// SQE is a handle on one entry of the submission queue. It is valid from GetSQE until the next Submit. Prep comes first:
// it sets all of the entry, and what Set methods did before is gone.
type SQE struct {
	e    *Entry // in memory shared with the kernel
	ring *Ring
	slot uint32
	// keep holds the memory that a Prep method was given until the slot is used again. It makes that memory escape to the
	// heap, which does not move; stacks do. It is no substitute for a reference held until the completion.
	keep unsafe.Pointer
}

// GetSQE returns the next entry, zeroed, or nil when the queue is full: Submit then, and ask again. All of the entry is
// zeroed each time, because the kernel reads fields that a Prep method does not know of: a flag that stays behind from an
// fsync turns the next write in that slot into a failed or a differently durable one.
func (r *Ring) GetSQE() *SQE {
	if r.closed || r.SQSpaceLeft() == 0 {
		return nil
	}
	s := &r.sqes[r.nextSQE&r.sqMask]
	*s.e = Entry{}
	s.keep = nil
	r.nextSQE++
	return s
}

// SQSpaceLeft returns how many entries GetSQE can hand out before the next Submit.
func (r *Ring) SQSpaceLeft() int {
	if r.closed {
		return 0
	}
	return len(r.entries) - r.SQReady()
}

// SQReady returns how many entries are prepared and not yet taken by the kernel.
func (r *Ring) SQReady() int {
	if r.closed {
		return 0
	}
	return int(r.nextSQE - atomic.LoadUint32(r.sqHead))
}

// Entry gives the raw entry, for operations that have no Prep method.
func (s *SQE) Entry() *Entry { return s.e }

// SetUserData sets what the completion will carry. The kernel does not look at it; entries may share a value.
func (s *SQE) SetUserData(v uint64) *SQE {
	s.e.UserData = v
	return s
}

// SetFlags sets the entry's flags: all of them, those set before are gone.
func (s *SQE) SetFlags(f Flags) *SQE {
	s.e.Flags = f
	return s
}

// SetRWFlags sets the RWF_* flags of a read or write.
func (s *SQE) SetRWFlags(f uint32) *SQE {
	s.e.OpFlags = f
	return s
}
