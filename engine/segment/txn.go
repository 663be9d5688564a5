package segment

import (
	"github.com/zurau/zurau/engine/index"
)

// OpenTxns reads the transaction index, whose file is there, unless it is open. An index.ErrCorrupt asks for ResetTxns, and
// for the transactions that the log tells.
func (s *Segment) OpenTxns() error {
	if s.txns.Load() != nil {
		return nil
	}
	x, err := index.OpenTxn(s.fsys, Name(s.dir, s.Base, TxnSuffix), s.Base)
	if x != nil {
		s.txns.Store(x)
	}
	return err
}

// ResetTxns removes all entries of the transaction index, durably.
func (s *Segment) ResetTxns() error {
	if x := s.txns.Load(); x != nil {
		return x.Reset()
	}
	return nil
}

// ReplaceTxns replaces all entries of a transaction index that is there, durably: see index.Txn.Replace.
func (s *Segment) ReplaceTxns(list []index.AbortedTxn) error { return s.txns.Load().Replace(list) }

// TrimTxns removes, durably, the transactions whose marker is at offset or above.
func (s *Segment) TrimTxns(offset int64) error {
	if x := s.txns.Load(); x != nil {
		return x.TruncateTo(offset)
	}
	return nil
}

// NoteAborted adds a transaction that was aborted by a marker in this segment. The log's lock owns it. It touches memory
// only; an error says that the marker is not behind the last one.
func (s *Segment) NoteAborted(t index.AbortedTxn) error {
	x := s.txns.Load()
	if x == nil {
		x = index.NewTxn(s.fsys, Name(s.dir, s.Base, TxnSuffix), s.Base)
		s.txns.Store(x)
	}
	return x.Append(t)
}

// Aborted appends the transactions with an offset in [from, to) that were aborted in this segment: see index.Txn.Collect.
func (s *Segment) Aborted(dst []index.AbortedTxn, from, to int64, noWait bool) (_ []index.AbortedTxn, done bool, err error) {
	x := s.txns.Load()
	if x == nil {
		return dst, false, nil
	}
	return x.Collect(dst, from, to, noWait)
}

// HasAborted reports whether the segment has a transaction index.
func (s *Segment) HasAborted() bool { return s.txns.Load() != nil }

// OffsetBehind returns the offset of the first index entry at a position or behind it, or ok false where there is none: an
// upper bound for the offsets below the position, the one that Kafka takes. With noWait it returns fs.ErrWouldBlock where the index would have
// to be read.
func (s *Segment) OffsetBehind(position int64, noWait bool) (offset int64, ok bool, err error) {
	if noWait {
		return s.index.BehindNoWait(position)
	}
	return s.index.Behind(position)
}

// Removed reports whether the segment was closed: its files may be gone.
func (s *Segment) Removed() bool { return s.removed.Load() }

// SettleTxns puts the transaction index on stable storage, and with seal lets go of its memory. made reports that its file
// is new: the caller syncs the directory. Its error is final for the directory.
func (s *Segment) SettleTxns(seal bool) (made bool, err error) {
	x := s.txns.Load()
	switch {
	case x == nil:
		return false, nil
	case seal:
		return x.Seal()
	}
	return x.Flush()
}

func (s *Segment) closeTxns() error {
	if x := s.txns.Load(); x != nil {
		return x.Close()
	}
	return nil
}
