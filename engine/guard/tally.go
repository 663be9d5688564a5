package guard

import "slices"

// A Tally sums up the batches of a log as they are appended. The zero value is that of a log of which nothing was.
type Tally struct {
	base  int64 // of the segment that now is of
	now   Piece // grows
	taken int64 // end of now when it was last taken
	full  []Of  // not yet taken, and they do not grow any more
}

// Of is a piece of the segment with a base offset.
type Of struct {
	Base int64
	Piece
}

// Note takes in a batch, of size bytes, at a position of the segment with that base offset. Where it does not lie behind the one
// before it a new piece begins.
func (t *Tally) Note(base, position int64, b []byte, size int) {
	if t.now.Batches == 0 || position != t.now.End || base != t.base || position-t.now.Start >= PieceBytes {
		t.next()
		t.base, t.taken = base, position
		t.now = Piece{Start: position, End: position, First: offsetOf(b)}
	}
	t.now.add(b, int64(size))
}

// next ends the piece that grows.
func (t *Tally) next() {
	if t.now.End > t.taken {
		t.full = append(t.full, Of{t.base, t.now})
	}
}

// Take returns the pieces that are new since it was last called. The last of them may still grow: it comes again then, with the same
// start.
func (t *Tally) Take() []Of {
	t.next()
	took := t.full
	t.full, t.taken = nil, t.now.End
	return took
}

// Has reports whether something of the segment with that base offset is not taken yet, or may still grow.
func (t *Tally) Has(base int64) bool {
	return t.base == base && t.now.Batches > 0 || slices.ContainsFunc(t.full, func(p Of) bool { return p.Base == base })
}

// Cut forgets what lies behind a position of the segment with that base offset, in the segments behind it, too.
func (t *Tally) Cut(base, position int64) {
	kept := t.full[:0]
	for _, p := range t.full {
		if p.Base < base || p.Base == base && p.End <= position {
			kept = append(kept, p)
		}
	}
	t.full = kept
	if t.base > base || t.base == base && t.now.End > position {
		t.now, t.taken = Piece{}, 0
	}
}
