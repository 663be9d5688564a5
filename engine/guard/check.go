package guard

import "fmt"

// A Check holds the batches of a segment against its guard, one after the other.
type Check struct {
	rest []Piece // not yet passed
	now  Piece   // the sum so far of the first of them
	in   bool    // now is of some of its batches
	seen bool    // a batch
}

// A Mismatch is batches that are not what they were when they were flushed.
type Mismatch struct {
	Want, Got Piece
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the headers of the batches from position %d to %d are not what they were when they were flushed: %d batches from offset %d "+
		"on with the sum %08x", m.Want.Start, m.Want.End, m.Want.Batches, m.Want.First, m.Want.Sum)
}

// NewCheck returns a check against a guard.
func NewCheck(g Guard) *Check { return &Check{rest: g.Pieces} }

// Note takes the next batch, of size bytes; the first one may be anywhere. It returns a *Mismatch where the piece that ends with it is
// not what the guard says, or ends or begins within it, and may be called for the next batch all the same. A piece of which only a
// part was seen is not looked at.
func (c *Check) Note(position int64, b []byte, size int) error {
	for !c.seen && len(c.rest) > 0 && c.rest[0].Start < position {
		c.rest = c.rest[1:]
	}
	c.seen = true
	if len(c.rest) == 0 {
		return nil
	}
	p, end := c.rest[0], position+int64(size)
	if !c.in {
		if p.Start >= end {
			return nil
		}
		c.in, c.now = true, Piece{Start: position, End: position, First: offsetOf(b)}
	}
	c.now.add(b, int64(size))
	if end < p.End {
		return nil
	}
	got := c.now
	c.rest, c.in, c.seen = c.rest[1:], false, got == p
	if got != p {
		return &Mismatch{p, got}
	}
	return nil
}

// Pass says that what lies before the next batch is no batch. The pieces that it is of are not looked at.
func (c *Check) Pass() {
	if c.in {
		c.rest = c.rest[1:]
	}
	c.in, c.seen = false, false
}
