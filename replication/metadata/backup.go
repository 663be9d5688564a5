package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/zurau/zurau/engine/fs"
)

// Backup makes the files of another directory, which must not have any: the metadata as it is at one moment, with everything that
// an Update had returned for, as a snapshot and an empty log behind it. They are on stable storage when it returns. The node goes on meanwhile.
func (n *Node) Backup(dir string) error {
	if Present(n.opts.FS, dir) {
		return fmt.Errorf("backup of metadata to %s: there is some already", dir)
	}
	var m moment
	taken := make(chan error, 1)
	select {
	case n.asked <- func() { taken <- m.take(n) }:
	case <-n.done:
		return n.Err()
	}
	if err := <-taken; err != nil {
		return fmt.Errorf("backup of metadata: %w", err)
	}
	s := &store{fsys: n.opts.FS, dir: dir, rand: bytes.NewReader(m.salt[:]), header: m.header}
	if err := s.replaceSnapshot(appendSnapshot(nil, m.image, m.term)); err != nil {
		return err
	}
	if err := s.replaceLog(uint64(m.image.Offset), m.term, m.state, nil); err != nil {
		return err
	}
	return s.log.Close()
}

// A moment is what a node has at one.
type moment struct {
	image  *Image
	term   uint64 // of its last entry
	state  *pb.HardState
	header logHeader
	salt   [4]byte
}

// take is called on the node's goroutine. What a snapshot has is committed; whom the node votes for goes along, so that no voter that is started
// from the copy votes twice in a term.
func (m *moment) take(n *Node) (err error) {
	m.image, m.header = n.Image(), n.store.header
	index := uint64(m.image.Offset)
	if m.term, err = n.entries.Term(index); err != nil {
		return err
	}
	if n.entries.state == nil {
		return errors.New("this node has no term yet")
	}
	m.state = &pb.HardState{Term: proto.Uint64(n.entries.state.GetTerm()), Vote: proto.Uint64(n.entries.state.GetVote()), Commit: &index}
	if _, err := io.ReadFull(n.opts.Rand, m.salt[:]); err != nil {
		return fmt.Errorf("salt of the metadata log: %w", err)
	}
	return nil
}

// Peek returns what the files of a directory say at this moment, and changes nothing: for who has to know something before a node can be
// opened. It takes no lock, and what it returns may be overtaken. Without files it is empty.
func Peek(fsys fs.FS, dir string) (*Image, error) {
	s := &store{fsys: fsys, dir: dir}
	snapshot, err := s.read(snapshotName)
	if err != nil {
		return nil, err
	}
	b, err := s.read(logName)
	if err != nil || b == nil && snapshot == nil {
		return new(Image), err
	}
	r, err := s.recover(b, snapshot)
	if err != nil {
		return nil, err
	}
	img, _, err := replay(r.image, r.entries)
	if err != nil {
		return nil, s.refuse(logName, err)
	}
	return img, nil
}
