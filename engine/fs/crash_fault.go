package fs

import (
	"errors"
	"io"
)

// ErrShort, from a Hook, has a read or a write end before it should. A write leaves a part of itself and fails with
// io.ErrShortWrite; a read returns fewer bytes than there are, with io.EOF as if the file ended there.
var ErrShort = errors.New("short")

// Delayed, from a Hook, is the fault of a write whose write-back fails later: the write succeeds, its bytes never come to the
// disk, and the next Datasync through each descriptor that the file has now fails with Err, once. A descriptor that is
// opened later is told nothing, nor is anybody where the descriptors were closed before a Datasync: Linux forgets the error
// together with the inode. A durable write, which waits for its write-back, fails with Err at once.
type Delayed struct{ Err error }

func (d *Delayed) Error() string { return "write-back: " + d.Err.Error() }
func (d *Delayed) Unwrap() error { return d.Err }

// shorten returns what is left of n bytes in a call that ends early.
func (c *Crash) shorten(n int) int {
	if n == 0 {
		return 0
	}
	return c.mu.rng.IntN(n)
}

// partOf returns what a failing write leaves of p, and what it fails with; late says that nobody is told now. c.mu is held.
func (c *Crash) partOf(f *crashFile, p []byte, durable bool, fault error) (part []byte, told error, late bool) {
	var d *Delayed
	switch {
	case fault == nil:
		return p, nil, false
	case errors.As(fault, &d) && !durable:
		f.data.late, f.data.lateNo = d.Err, f.data.lateNo+1
		return p, nil, true
	case errors.As(fault, &d):
		fault = d.Err
	case errors.Is(fault, ErrShort):
		n := c.shorten(len(p))
		if f.flag&Direct != 0 {
			n = n / sector * sector
		}
		return p[:n], io.ErrShortWrite, false
	}
	// Any prefix may be in the file. For the flush it is as if it had failed.
	return p[:c.mu.rng.IntN(len(p)+1)/sector*sector], fault, false
}

// told returns the failure of an earlier write-back that the descriptor has not reported yet.
func (f *crashFile) told() error {
	if f.since == f.data.lateNo {
		return nil
	}
	f.since = f.data.lateNo
	return f.data.late
}
