package engine

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/segment"
)

// An AbortedTxn is a transaction that was aborted: records of the producer from FirstOffset on, up to its next marker, are
// not to be shown to readers of committed records.
type AbortedTxn struct{ ProducerID, FirstOffset int64 }

// Committed is what a reader of committed records gets.
type Committed struct {
	Range
	// LastStableOffset is the log's at the time of the read: the range ends at or before it.
	LastStableOffset int64
	// Aborted are the aborted transactions that may have a record in the range; the reader leaves their records out. As in
	// Kafka some may begin a little behind the range, and it is nil, not empty, where there are records from the offset on
	// and none comes: the first batch is too large for the limit, or they are gone.
	Aborted []AbortedTxn
}

// ReadCommitted is Read up to the last stable offset. The range has the records of aborted transactions, too: see
// Committed.Aborted. It is released as a Range.
func (l *Log) ReadCommitted(offset int64, maxBytes int, whole bool) (Committed, error) {
	return l.readCommitted(offset, maxBytes, whole, false)
}

// ReadCommittedNoWait is ReadCommitted for who must not wait for a disk: see ReadNoWait.
func (l *Log) ReadCommittedNoWait(offset int64, maxBytes int, whole bool) (Committed, error) {
	return l.readCommitted(offset, maxBytes, whole, true)
}

// AbortedTransactions returns the aborted transactions with an offset in [from, to) that is not below the log start offset, in
// the order of their markers. It may read from the disk.
func (l *Log) AbortedTransactions(from, to int64) ([]AbortedTxn, error) {
	if err := l.Unreadable(); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		cuts := l.cuts.Load()
		list, err := l.aborted(max(from, l.start.Load()), to, false)
		if l.cuts.Load() != cuts || cuts%2 == 1 {
			l.LogEndOffset() // waits for the end of the truncation
			continue
		}
		if err == nil || tries > maxTries {
			return list, err
		}
		if again := l.committedAgain(nil, err); again != nil {
			return nil, again
		}
	}
}

func (l *Log) readCommitted(offset int64, maxBytes int, whole, noWait bool) (Committed, error) {
	for tries := 0; ; tries++ {
		cuts := l.cuts.Load()
		c := Committed{LastStableOffset: l.LastStableOffset()}
		var err error
		// Where nothing has room the transactions of the place are told all the same, as Kafka does.
		if c.Range, err = l.read(offset, maxBytes, whole || maxBytes <= 0, noWait); err != nil {
			return c, err
		}
		if maxBytes <= 0 && !whole {
			c.Size = 0
		}
		s, err := l.bound(&c, offset, noWait)
		if c.Size == 0 {
			c.Release()
			c.Mem = nil
		}
		if l.cuts.Load() != cuts || cuts%2 == 1 {
			c.Release()      // a truncation came between: what was found may be gone
			l.LogEndOffset() // waits for its end
			continue
		}
		if err == nil {
			return c, nil
		}
		c.Release()
		switch {
		case noWait && errors.Is(err, index.ErrCorrupt):
			return c, ErrWouldBlock // ReadCommitted sees to it
		case noWait || tries > maxTries:
			return c, err
		}
		if again := l.committedAgain(s, err); again != nil {
			return c, again
		}
	}
}

// committedAgain is readAgain, which repairs transaction indexes, too.
func (l *Log) committedAgain(s *segment.Segment, err error) error {
	if d := (*damagedTxns)(nil); errors.As(err, &d) {
		return l.repairTxns(d)
	}
	return l.readAgain(s, err)
}

// bound ends the range at the last stable offset and finds the transactions that were aborted in it. The segment that it
// returns with an error has a wrong index, if that is what the error says.
func (l *Log) bound(c *Committed, offset int64, noWait bool) (*segment.Segment, error) {
	c.LastStableOffset = min(c.LastStableOffset, c.HighWatermark)
	c.Aborted = []AbortedTxn{}
	s := c.seg
	switch {
	case offset >= c.LastStableOffset:
		c.Size = 0
		return nil, nil
	case s == nil && c.Mem == nil:
		c.Aborted = nil
		return nil, nil
	}
	if c.LastStableOffset < c.HighWatermark {
		if err := c.end(s, noWait); err != nil {
			return s, err
		}
	}
	list := l.abortedSegments()
	if n := len(list); n == 0 || s != nil && list[n-1].Base < s.Base {
		return nil, nil
	}
	if s == nil {
		s = l.segmentOf(offset)
	}
	to, err := l.behind(s, c.Position+int64(c.Size), noWait)
	if err != nil {
		return s, err
	}
	c.Aborted, err = l.aborted(offset, to, noWait)
	return nil, err
}

// behind returns an offset behind those below a position of a segment: that which Kafka takes, of the index entry there, or
// of the next segment; or the log's end, where the segment is nil.
func (l *Log) behind(s *segment.Segment, position int64, noWait bool) (int64, error) {
	if s == nil {
		return l.LogEndOffset(), nil
	}
	to, ok, err := s.OffsetBehind(position, noWait)
	if err != nil || ok {
		return to, err
	}
	for _, next := range *l.view.Load() {
		if next.Base > s.Base {
			return next.Base, nil
		}
	}
	return l.LogEndOffset(), nil
}

// end ends the range before the batch that the last stable offset is in, if that is in its segment.
func (c *Committed) end(s *segment.Segment, noWait bool) error {
	if c.Mem != nil {
		if p, err := segment.FindIn(c.Mem, c.LastStableOffset); err == nil {
			c.Mem = c.Mem[:p.Position]
			c.Size = min(c.Size, len(c.Mem))
		}
		return nil
	}
	find := func() (segment.Place, error) { return s.Find(c.File, c.LastStableOffset, s.Size()) }
	if noWait {
		find = func() (segment.Place, error) { return s.FindNoWait(c.File, c.LastStableOffset, s.Size()) }
	}
	p, err := find()
	if err == io.EOF {
		return nil // it is in a later one
	}
	if err == nil {
		c.Size = int(min(int64(c.Size), p.Position-c.Position))
	}
	return err
}

// segmentOf returns the segment that an offset is in, or nil where that is not certain: records that are in memory may be in
// a segment that has no file yet.
func (l *Log) segmentOf(offset int64) *segment.Segment {
	l.mu.Lock()
	active := l.mu.active
	l.mu.Unlock()
	if offset >= active.Base {
		return active
	}
	segs := *l.view.Load()
	for i := 1; i < len(segs); i++ {
		if segs[i].Base > offset && segs[i-1].Base <= offset {
			return segs[i-1]
		}
	}
	return nil
}

// aborted looks in the transaction indexes. A transaction that has an offset in the range may have its marker in any segment
// from there on; the indexes say where there can be no more.
func (l *Log) aborted(from, to int64, noWait bool) ([]AbortedTxn, error) {
	var entries []index.AbortedTxn
	var done bool
	var err error
	gone := false
	segs := l.abortedSegments()
	for i, s := range segs {
		if i+1 < len(segs) && segs[i+1].Base <= from {
			continue
		}
		if s.Removed() { // what it had lies below the log start offset
			gone = true
			continue
		}
		if entries, done, err = s.Aborted(entries, from, to, noWait); err != nil {
			err = fmt.Errorf("aborted transactions of %s in [%d, %d): %w", l.name, from, to, err)
			if errors.Is(err, index.ErrCorrupt) {
				err = &damagedTxns{s, err}
			}
			return nil, err
		}
		if done {
			break
		}
	}
	if gone && (from < l.start.Load() || l.w.closed.Load() != nil) {
		return nil, fmt.Errorf("aborted transactions of %s from offset %d on: %w", l.name, from, os.ErrClosed) // it went meanwhile
	}
	list := make([]AbortedTxn, 0, len(entries))
	for _, t := range entries {
		list = append(list, AbortedTxn{t.ProducerID, t.FirstOffset})
	}
	return list, nil
}
