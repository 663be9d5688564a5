package metadata

import (
	"slices"

	"go.etcd.io/raft/v3"
)

// noticeLead follows Raft into and out of the lead.
func (n *Node) noticeLead() error {
	status := n.rn.BasicStatus()
	term, lead := status.GetTerm(), n.leadTerm()
	if status.RaftState != raft.StateLeader {
		term = 0
	}
	if term == lead {
		return nil
	}
	if lead != 0 {
		n.loseLead(ErrNotLeader)
	}
	if term != 0 {
		return n.takeLead(term)
	}
	return nil
}

// leadTerm returns the term in which this node leads, or 0. Only the goroutine changes it.
func (n *Node) leadTerm() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.term
}

// takeLead opens the node for updates in a term that Raft has just won. Raft has appended the term's first entry,
// empty, behind all that the log holds. Updates are decided on the image with all of that in it, committed yet or not,
// because they come behind it in every history in which they come at all.
func (n *Node) takeLead(term uint64) error {
	img, _, err := replay(n.Image(), n.entries.after(uint64(n.Image().Offset)))
	if err != nil {
		return err
	}
	base := *img
	base.Offset++ // the empty entry
	first, err := n.firstUpdate(&base, term)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.mu.term, n.mu.pending, n.mu.tail = term, &base, first
	if first != nil {
		n.mu.pending = first.image
	}
	n.mu.Unlock()
	if first != nil {
		n.propose(first)
	}
	return nil
}

// firstUpdate decides what a new leader commits before all else, or nil: the cluster's id where it has none, and at a
// single voter's start the start record and what the options add.
func (n *Node) firstUpdate(base *Image, term uint64) (*proposal, error) {
	records, err := n.beginning(base)
	if err != nil {
		return nil, err
	}
	if n.sole() {
		records = append(records, StartRecord{n.opts.NodeID})
	}
	if n.sole() && n.opts.AtStart != nil {
		img, _, err := base.Apply(base.Offset+1, records)
		if err != nil {
			return nil, err
		}
		more, err := n.opts.AtStart(img)
		if err != nil {
			return nil, err
		}
		records = append(records, more...)
	}
	if len(records) == 0 {
		return nil, nil
	}
	p, err := newProposal(base, term, records)
	if err == nil && n.sole() {
		p.done = n.ready // Open waits for it
	}
	return p, err
}

// beginning decides the first records of a cluster: what the options have, and its id.
func (n *Node) beginning(base *Image) (records []Record, err error) {
	if base.ClusterID != "" {
		return nil, nil
	}
	if n.opts.AtFirst != nil {
		if records, err = n.opts.AtFirst(); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(records, func(r Record) bool { return r.Kind() == KindClusterID }) {
		return records, nil
	}
	id, err := NewID(n.opts.Rand)
	return append(records, ClusterIDRecord{id.String()}), err
}

// loseLead closes the node for updates; those under way end with err.
func (n *Node) loseLead(err error) {
	n.mu.Lock()
	queue := n.mu.queue
	n.mu.term, n.mu.pending, n.mu.tail, n.mu.queue = 0, nil, nil, nil
	n.mu.Unlock()
	for _, p := range append(n.inflight, queue...) {
		n.settle(p, err)
	}
	n.inflight, n.appended = nil, 0
}
