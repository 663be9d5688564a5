package metadata

import (
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// replay applies entries to an image in one edit.
func replay(img *Image, list []*pb.Entry) (*Image, Delta, error) {
	e := img.edit()
	for _, entry := range list {
		if int64(entry.GetIndex()) != e.next.Offset+1 {
			return nil, Delta{}, fmt.Errorf("%w: entry %d behind offset %d", errImage, entry.GetIndex(), e.next.Offset)
		}
		e.next.Offset++
		if entry.GetType() != pb.EntryNormal {
			return nil, Delta{}, errUnknownEntry(entry)
		}
		if len(entry.GetData()) == 0 {
			continue // a new leader's first entry
		}
		if err := applyRecords(entry.GetData(), e); err != nil {
			return nil, Delta{}, fmt.Errorf("entry %d: %w", entry.GetIndex(), err)
		}
	}
	return e.image(), e.delta(), nil
}

// applyCommitted publishes entries. Those of this node's own updates bring the image that they were decided with; the
// others are replayed.
func (n *Node) applyCommitted(list []*pb.Entry) error {
	for len(list) > 0 {
		own := 0
		for own < len(list) && !n.ownUpdate(list[own]) {
			own++
		}
		if own > 0 {
			next, delta, err := replay(n.Image(), list[:own])
			if err != nil {
				return err
			}
			n.publish(next, delta)
			list = list[own:]
			continue
		}
		p := n.inflight[0]
		n.inflight, n.appended = n.inflight[1:], n.appended-1
		n.publish(p.image, p.delta)
		n.settle(p, nil)
		list = list[1:]
	}
	return nil
}

// ownUpdate reports whether an entry is the oldest update in flight. A leader appends only its own entries in its
// term, so index and term say it all.
func (n *Node) ownUpdate(e *pb.Entry) bool {
	return len(n.inflight) > 0 && uint64(n.inflight[0].image.Offset) == e.GetIndex() && n.inflight[0].term == e.GetTerm()
}

// publish makes an image the newest and tells the subscribers.
func (n *Node) publish(next *Image, delta Delta) {
	n.mu.Lock()
	old := n.Image()
	n.image.Store(next)
	subscribers := n.mu.subscribers
	n.mu.Unlock()
	if !delta.IsEmpty() {
		for _, f := range subscribers {
			f(old, next, delta)
		}
	}
}

// settle ends an update.
func (n *Node) settle(p *proposal, err error) {
	n.mu.Lock()
	if n.mu.tail == p {
		n.mu.tail = nil
	}
	n.mu.Unlock()
	p.err = err
	close(p.done)
}

// install takes the snapshot of another voter in the place of everything here.
func (n *Node) install(s *pb.Snapshot) error {
	img, term, err := decodeSnapshot(s.GetData())
	if err != nil {
		return fmt.Errorf("metadata snapshot of another voter: %w", err)
	}
	if err := n.store.replaceSnapshot(s.GetData()); err != nil {
		return err
	}
	if err := n.store.replaceLog(uint64(img.Offset), term, n.entries.state, nil); err != nil {
		return err
	}
	n.entries.list = nil
	n.entries.index, n.entries.term = uint64(img.Offset), term
	n.publish(img, diff(n.Image(), img))
	return nil
}

// compact replaces the log by a snapshot once it has grown: beyond the limit, and beyond twice the last snapshot, so
// that the writing of snapshots stays in proportion to the changes.
func (n *Node) compact() error {
	if n.store.size <= max(n.opts.CompactBytes, 2*n.store.snapshotSize) {
		return nil
	}
	img := n.Image()
	index := uint64(img.Offset)
	term, err := n.entries.Term(index)
	if err != nil || index == n.store.header.index {
		return err
	}
	// A snapshot is not larger than the one before it with the log. Without room for it the log only gets longer.
	if n.checkSpace(int(n.store.snapshotSize+n.store.size)) != nil {
		return nil
	}
	if err := n.store.flush(); err != nil {
		return err
	}
	if err := n.store.replaceSnapshot(appendSnapshot(nil, img, term)); err != nil {
		return err
	}
	n.entries.compact(index, term)
	return n.store.replaceLog(index, term, n.entries.state, n.entries.list)
}
