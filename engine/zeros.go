package engine

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/uring"
)

// Zeros laid ahead. A small durable append into blocks that were written before is two to four times as fast as one that
// makes the file grow, and never waits for the file system's journal. So for logs that are seen to make small sync
// commits, the direct writer lays zeros behind the records, in the background: one write for a log at a time. Writes of
// records and of zeros never cover the same block: a write of records that would reach into zeros in flight waits for
// them, which the gap before the first ones makes rare. Sealing and closing cut the file to its length; recovery finds
// zeros behind the last batch and cuts them.
type ahead struct {
	end     int64 // up to here the file has blocks that were written
	flying  bool  // zeros are with the kernel
	from    int64 // where those start
	errand  bool  // the log is to go to the pool when they are there
	blocked bool  // its next run waits for them
	holds   bool  // the segment has one of the places that Options.ZeroAheadBytes gives
	on      bool  // laying goes on until aheadHigh
	small   int   // sync commits of less than smallCommit seen
}

const (
	// smallCommit is the size below which zeros pay: larger writes would be written twice for little.
	smallCommit = 256 << 10
	// smallSeen is how many small commits a log makes before zeros are laid for it.
	smallSeen = 32
	// aheadLow and aheadHigh are when laying starts and where it stops, in bytes behind the records.
	aheadLow, aheadHigh = 4 << 20, 16 << 20
	// zeroWrite is one write of zeros.
	zeroWrite = 1 << 20
	// zeroGap is left between the records and the first zeros: records go on there while those are being written.
	zeroGap = 256 << 10
	// maxFilling bounds the logs that zeros are laid for at a time, and with it what the device does beside commits.
	maxFilling = 2
)

// passed says that records were written up to a position.
func (a *ahead) passed(position int64) {
	if !a.flying {
		a.end = max(a.end, (position+fs.BlockSize-1)/fs.BlockSize*fs.BlockSize)
	}
}

func (a *ahead) seen(n int, sync bool) {
	switch {
	case !sync || n >= smallCommit:
		a.small = 0
	case a.small < smallSeen:
		a.small++
	}
}

// blockedByZeros reports whether a run reaches into blocks that zeros are being written to.
func (l *Log) blockedByZeros(r *run) bool {
	z := &l.w.direct.zero
	z.blocked = z.flying && r.seg.Direct() && !r.rolled && r.position+int64(len(r.buf)) > z.from
	return z.blocked
}

// layZeros starts a write of zeros for a log that needs them. The direct writer has the log.
func (c *committer) layZeros(l *Log) {
	d := &l.w.direct
	z := &d.zero
	if d.seg == nil || z.flying || z.small < smallSeen || c.filling >= maxFilling || !z.wants(d.seg.Size()) {
		return
	}
	from := max(z.end, (d.seg.Size()+fs.BlockSize-1)/fs.BlockSize*fs.BlockSize+zeroGap)
	end := from + zeroWrite
	if end > int64(l.config.Load().SegmentBytes) || c.e.space.left.Load() < aheadHigh || !c.hold(z) {
		return
	}
	f, err := d.seg.Writer(fs.Direct)
	if err != nil {
		return // the segment is being closed
	}
	if c.zeros == nil {
		mem, err := uring.Alloc(zeroWrite)
		if err != nil {
			return // it works without
		}
		c.zeros = mem.Bytes()
	}
	c.tag++
	if !c.q.Push(f, c.zeros, from, true, c.tag) {
		return
	}
	c.e.space.left.Add(-zeroWrite)
	c.flying[c.tag] = flight{log: l, zeros: end}
	c.filling++
	z.flying, z.from = true, from
}

// hold takes a place among the segments that have zeros ahead, aheadHigh bytes each at the most.
func (c *committer) hold(a *ahead) bool {
	if !a.holds && c.holders.Add(1)*aheadHigh > c.e.opt.ZeroAheadBytes {
		c.holders.Add(-1)
		return false
	}
	a.holds = true
	return true
}

// dropZeros gives the log's place back, when the segment's file is cut to its length.
func (l *Log) dropZeros() {
	if z := &l.w.direct.zero; z.holds {
		z.holds = false
		l.e.direct.c.holders.Add(-1)
	}
}

// wants reports whether zeros are to be laid behind records that end at a position.
func (a *ahead) wants(position int64) bool {
	switch left := a.end - position; {
	case left < aheadLow:
		a.on = true
	case left >= aheadHigh:
		a.on = false
	}
	return a.on
}

// zerosLaid takes the end of a write of zeros, and goes on with a log that waited for it. A full disk ends the laying and
// nothing else; any other error is the log's.
func (c *committer) zerosLaid(f flight, err error) {
	l := f.log
	d := &l.w.direct
	c.filling--
	d.zero.flying = false
	switch {
	case err == nil:
		d.zero.end = f.zeros
		c.laid.Add(1)
	case errors.Is(err, syscall.ENOSPC):
		d.zero.small = -1 << 30
	default:
		c.e.fail(fmt.Errorf("lay zeros in %s: %w", d.seg.Path(), err))
	}
	if d.zero.errand {
		d.zero.errand = false
		l.errand()
		return
	}
	l.mu.Lock()
	mine := l.mu.parked || d.zero.blocked
	l.mu.parked, d.zero.blocked = false, false
	l.mu.Unlock()
	if mine {
		c.next(l)
	}
}
