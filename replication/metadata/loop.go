package metadata

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// run is the node's goroutine. It owns Raft, the store and the entries, and applies.
func (n *Node) run() {
	var tick <-chan time.Time
	if !n.sole() {
		ticker := time.NewTicker(n.opts.Tick)
		defer ticker.Stop()
		tick = ticker.C
	}
	err := n.work()
	for err == nil {
		select {
		case <-n.wake:
		case <-tick:
			n.rn.Tick()
		case f := <-n.asked:
			f()
		case <-n.closing:
			n.stop(n.finish())
			return
		}
		err = n.work()
	}
	n.opts.Logger.Error("metadata: stopped, and will not take updates until a restart", "dir", n.opts.Dir, "error", err)
	n.stop(err)
}

// work takes what came in and does all that follows from it.
func (n *Node) work() error {
	for {
		n.mu.Lock()
		queue, inbox := n.mu.queue, n.mu.inbox
		n.mu.queue, n.mu.inbox = nil, nil
		n.mu.Unlock()
		for _, m := range inbox {
			// An error here is of a message that came late or from a stranger: Raft has dropped it.
			_ = n.rn.Step(m)
		}
		if err := n.noticeLead(); err != nil {
			return err
		}
		for _, p := range queue {
			n.propose(p)
		}
		if !n.rn.HasReady() {
			return nil
		}
		rd := n.rn.Ready()
		if err := n.handle(rd); err != nil {
			return err
		}
		n.rn.Advance(rd)
		if err := errors.Join(n.noticeLead(), n.compact()); err != nil {
			return err
		}
	}
}

// propose gives an update to Raft, which refuses where the lead was lost.
func (n *Node) propose(p *proposal) {
	if p.term != n.leadTerm() || n.rn.Propose(p.data) != nil {
		n.settle(p, ErrNotLeader)
		return
	}
	n.inflight = append(n.inflight, p)
}

// handle makes a Ready durable, then sends and applies what it allows.
func (n *Node) handle(rd raft.Ready) error {
	if !raft.IsEmptyHardState(rd.HardState) {
		n.entries.state = rd.HardState
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := n.install(rd.Snapshot); err != nil {
			return err
		}
	}
	n.checkOrder(rd.Entries)
	for _, e := range rd.Entries {
		n.store.stageEntry(e)
	}
	n.entries.append(rd.Entries)
	// A commit index alone is not worth a frame: it is found again by the election that follows a restart.
	if rd.MustSync {
		n.store.stageState(n.entries.state)
	}
	// Nobody waits for the vote of a single voter: it shares the flush of the entry that follows it.
	if rd.MustSync && !(n.sole() && len(rd.Entries) == 0) {
		if err := n.store.flush(); err != nil {
			return err
		}
	}
	n.send(rd.Messages)
	return n.applyCommitted(rd.CommittedEntries)
}

// checkOrder holds the offsets that updates were decided for against the ones that Raft gave them. Broker epochs are
// made of them, so a difference would be two histories.
func (n *Node) checkOrder(list []*pb.Entry) {
	term := n.leadTerm()
	for _, e := range list {
		if e.GetTerm() != term || len(e.GetData()) == 0 {
			continue // another leader's, or the empty one of this
		}
		if n.appended == len(n.inflight) || uint64(n.inflight[n.appended].image.Offset) != e.GetIndex() {
			panic(fmt.Sprintf("metadata: entry %d is not the update that was decided for it", e.GetIndex()))
		}
		n.appended++
	}
}

func (n *Node) send(messages []*pb.Message) {
	for _, m := range messages {
		b, err := proto.Marshal(m)
		ok := err == nil && n.opts.Transport.Send(nodeID(m.GetTo()), b)
		if m.GetType() == pb.MsgSnap {
			status := raft.SnapshotFinish
			if !ok {
				status = raft.SnapshotFailure
			}
			n.rn.ReportSnapshot(m.GetTo(), status)
		}
		if !ok {
			n.rn.ReportUnreachable(m.GetTo())
		}
	}
}

// inboxMax bounds what waits for a goroutine that waits for a disk. Raft sends again what is dropped here.
const inboxMax = 4096

// Receive takes a message that a peer's Transport was given for this node. It does not block.
func (n *Node) Receive(message []byte) error {
	m := new(pb.Message)
	if err := proto.Unmarshal(message, m); err != nil {
		return fmt.Errorf("metadata message of %d bytes: %w", len(message), err)
	}
	if m.GetTo() != raftID(n.opts.NodeID) || raft.IsLocalMsg(m.GetType()) {
		return fmt.Errorf("metadata message %s from node %d to node %d: not for this node", m.GetType(), nodeID(m.GetFrom()), nodeID(m.GetTo()))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.err == nil && len(n.mu.inbox) < inboxMax {
		n.mu.inbox = append(n.mu.inbox, m)
		n.signal()
	}
	return nil
}

// finish does what was taken, then writes the hard state once more: that write proves everything before it flushed, so
// that damage to a directory at rest is told from a torn tail.
func (n *Node) finish() error {
	n.mu.Lock()
	n.mu.err = ErrClosed
	n.mu.Unlock()
	if err := n.work(); err != nil {
		return err
	}
	n.store.stageState(n.entries.state)
	if err := n.store.flush(); err != nil {
		return err
	}
	return ErrClosed
}

// stop ends the node: err is final.
func (n *Node) stop(err error) {
	if closeErr := n.store.close(); closeErr != nil && err == ErrClosed {
		err = closeErr
	}
	n.mu.Lock()
	n.mu.err = err
	n.mu.Unlock()
	n.loseLead(err)
	close(n.done)
}

// errUnknownEntry is an entry of a kind that this program never writes.
func errUnknownEntry(e *pb.Entry) error {
	return fmt.Errorf("metadata entry %d: kind %s: %w", e.GetIndex(), e.GetType(), ErrNewer)
}

var errImage = errors.New("metadata log does not fit its image")
