package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// recovered is what the two files say.
type recovered struct {
	header logHeader
	salt   uint32
	state  *pb.HardState // nil before the first vote
	// image and term are those of the snapshot; entries follow it without a gap.
	image   *Image
	term    uint64
	entries []*pb.Entry
	// end is where the last whole frame ends. What lies behind it was never acknowledged and must be cut, durably,
	// before the next write.
	end, size int
}

// corruption is a bad place in a file.
type corruption struct {
	position int
	err      error
}

func (c *corruption) Error() string { return fmt.Sprintf("at position %d: %v", c.position, c.err) }
func (c *corruption) Unwrap() error { return c.err }

// ErrCorrupt means that bytes which were on stable storage are not what was written. Nothing is cut and nothing is
// started: the message says which file and position, and what can be done.
var ErrCorrupt = errors.New("metadata is corrupt")

// recoverLog reads the log file's bytes; image and term are those of the snapshot. Its decisions are rows of the
// table in doc.go, and the comments name them.
func recoverLog(b []byte, image *Image, term uint64) (*recovered, error) {
	if len(b) < frameOverhead {
		return nil, &corruption{0, errors.New("the file is shorter than its header")} // row 3
	}
	r := &recovered{salt: binary.BigEndian.Uint32(b[saltPosition:]), image: image, term: term, size: len(b)}
	for r.end < len(b) {
		f, size, err := nextFrame(b[r.end:], r.salt)
		if err == nil && r.end-int(f.back) < 0 {
			err = fmt.Errorf("frame of a write that started %d bytes back", f.back)
		}
		if err != nil {
			if at, proven := provenBehind(b, r.end, r.salt); proven || r.end == 0 {
				if proven {
					err = fmt.Errorf("%w (a later write, at position %d, proves that it was flushed)", err, at)
				}
				return nil, &corruption{r.end, err} // rows 3 and 5
			}
			break // row 4
		}
		if err := r.take(f); err != nil {
			return nil, &corruption{r.end, err} // row 6
		}
		r.end += size
	}
	return r, r.join()
}

// provenBehind looks behind a bad place for a frame of a write that began after it. Writes are flushed one after the
// other, so such a frame proves that the bad place was flushed once.
func provenBehind(b []byte, bad int, salt uint32) (at int, proven bool) {
	mark := binary.BigEndian.AppendUint32(nil, salt)
	for at = bad + 1; at+saltPosition < len(b); at++ {
		i := bytes.Index(b[at+saltPosition:], mark)
		if i < 0 {
			break
		}
		at += i
		if f, _, err := nextFrame(b[at:], salt); err == nil && at-int(f.back) > bad {
			return at, true
		}
	}
	return 0, false
}

// take adds one whole frame.
func (r *recovered) take(f frame) (err error) {
	if (f.kind == frameHeader) != (r.end == 0) {
		return fmt.Errorf("a frame of kind %d", f.kind)
	}
	switch f.kind {
	case frameHeader:
		r.header, err = decodeHeader(f.payload)
	case frameState:
		r.state, err = decodeState(f.payload)
	case frameEntry:
		err = r.takeEntry(f.payload)
	default:
		err = fmt.Errorf("frame of unknown kind %d: %w", f.kind, ErrNewer)
	}
	return err
}

// takeEntry adds an entry. One with an index that is there already replaces it and all behind it: that is how a
// follower writes down that a new leader overruled its tail.
func (r *recovered) takeEntry(payload []byte) error {
	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}
	last := r.header.index + uint64(len(r.entries))
	if e.GetIndex() <= r.header.index || e.GetIndex() > last+1 {
		return fmt.Errorf("entry %d behind entry %d", e.GetIndex(), last)
	}
	r.entries = append(r.entries[:e.GetIndex()-r.header.index-1], e)
	return nil
}

// join fits the entries to the snapshot.
func (r *recovered) join() error {
	snapshot, first := uint64(r.image.Offset), r.header.index+1
	switch last := r.header.index + uint64(len(r.entries)); {
	case r.header.index > 0 && snapshot == 0:
		return fmt.Errorf("it continues a snapshot at offset %d, but %s is missing", r.header.index, snapshotName) // row 7
	case r.header.index > snapshot:
		return fmt.Errorf("it continues a snapshot at offset %d, but the snapshot is at %d", r.header.index, snapshot) // row 7
	case r.header.index == snapshot:
		if r.header.term != r.term {
			return fmt.Errorf("it continues a snapshot of term %d, but the snapshot is of term %d", r.header.term, r.term)
		}
	case last >= snapshot && r.entries[snapshot-first].GetTerm() == r.term:
		r.entries = r.entries[snapshot-first+1:] // row 8: stopped between the new snapshot and the new log
	default:
		r.entries = nil // row 9: another voter's snapshot overruled them
	}
	return r.checkState()
}

// checkState holds the hard state against the entries: it is written with them or before them.
func (r *recovered) checkState() error {
	last, term := uint64(r.image.Offset), r.term
	if n := len(r.entries); n > 0 {
		last, term = r.entries[n-1].GetIndex(), r.entries[n-1].GetTerm()
	}
	if r.state.GetTerm() < term || r.state.GetCommit() > last {
		return fmt.Errorf("hard state with term %d and commit %d, but the last entry is %d of term %d",
			r.state.GetTerm(), r.state.GetCommit(), last, term)
	}
	return nil
}
