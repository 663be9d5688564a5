package metadata

import (
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// entries is the part of the log file behind the snapshot, in memory, as Raft wants to see it. It has one owner, the
// node's goroutine (Raft calls it only from there), and no lock. What is in it was staged to the store before.
type entries struct {
	state  *pb.HardState
	voters []uint64
	// index and term of the entry before the first: the newest that the snapshot covers.
	index, term uint64
	list        []*pb.Entry
	// image returns the applied image, for a voter that needs a snapshot.
	image func() *Image
}

var _ raft.Storage = (*entries)(nil)

func (s *entries) last() uint64 { return s.index + uint64(len(s.list)) }

// append adds entries, which may overrule those with the same index and all behind them.
func (s *entries) append(list []*pb.Entry) {
	if len(list) == 0 {
		return
	}
	first := list[0].GetIndex()
	if first <= s.index || first > s.last()+1 {
		panic(fmt.Sprintf("metadata: entry %d appended to a log of [%d, %d]", first, s.index+1, s.last()))
	}
	// The capacity is cut so that a slice that Raft still holds is never written to.
	keep := first - s.index - 1
	if keep < uint64(len(s.list)) {
		s.list = s.list[:keep:keep]
	}
	s.list = append(s.list, list...)
}

// compact forgets the entries up to index, which a durable snapshot covers.
func (s *entries) compact(index, term uint64) {
	if index > s.last() {
		s.list = nil
	} else {
		s.list = append([]*pb.Entry(nil), s.list[index-s.index:]...)
	}
	s.index, s.term = index, term
}

// after returns the entries behind index.
func (s *entries) after(index uint64) []*pb.Entry { return s.list[index-s.index:] }

func (s *entries) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.state, s.confState(), nil
}

func (s *entries) confState() *pb.ConfState { return &pb.ConfState{Voters: s.voters} }

func (s *entries) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	switch {
	case lo <= s.index:
		return nil, raft.ErrCompacted
	case hi > s.last()+1 || lo >= hi:
		return nil, raft.ErrUnavailable
	}
	list := s.list[lo-s.index-1 : hi-s.index-1]
	// overhead is what the wire adds to an entry's data, at most.
	const overhead = 32
	n, size := 1, uint64(len(list[0].GetData()))+overhead
	for ; n < len(list); n++ {
		if size += uint64(len(list[n].GetData())) + overhead; size > maxSize {
			break
		}
	}
	return list[:n:n], nil
}

func (s *entries) Term(i uint64) (uint64, error) {
	switch {
	case i < s.index:
		return 0, raft.ErrCompacted
	case i == s.index:
		return s.term, nil
	case i > s.last():
		return 0, raft.ErrUnavailable
	}
	return s.list[i-s.index-1].GetTerm(), nil
}

func (s *entries) LastIndex() (uint64, error)  { return s.last(), nil }
func (s *entries) FirstIndex() (uint64, error) { return s.index + 1, nil }

// Snapshot takes a snapshot of what is applied, newer than the file where there is one.
func (s *entries) Snapshot() (*pb.Snapshot, error) {
	img := s.image()
	index := uint64(img.Offset)
	term, err := s.Term(index)
	if err != nil {
		return nil, err
	}
	return &pb.Snapshot{Data: appendSnapshot(nil, img, term),
		Metadata: &pb.SnapshotMetadata{ConfState: s.confState(), Index: &index, Term: &term}}, nil
}
