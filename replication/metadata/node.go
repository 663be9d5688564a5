package metadata

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

var (
	// ErrClosed is what Update returns after Close.
	ErrClosed = errors.New("metadata: closed")
	// ErrNotLeader is what Update returns where another voter leads, or none does. Where the node lost the lead while
	// the update was under way, it may or may not happen yet.
	ErrNotLeader = errors.New("metadata: this node does not lead the metadata quorum")
)

// ErrNoSpace is what Update returns while the disk is full. It is no failure: nothing was written, and the node goes on.
var ErrNoSpace = errors.New("metadata: no space left for an update")

// Node is one voter of the metadata log with the image of what is applied. Its methods may be called from anywhere.
type Node struct {
	opts  Options
	image atomic.Pointer[Image]

	// turn is held by the update that decides; see Update.
	turn chan struct{}
	mu   struct {
		sync.Mutex
		term        uint64      // in which this node leads and takes updates; 0: it does not
		pending     *Image      // with everything proposed, while term is not 0
		queue       []*proposal // for the goroutine to propose
		tail        *proposal   // the newest that is not yet applied, or nil
		inbox       []*pb.Message
		subscribers []func(old, next *Image, changed Delta)
		err         error // why the node takes nothing any more
	}
	wake    chan struct{} // capacity 1: queue or inbox has something
	asked   chan func()   // what the goroutine does between two turns
	closing chan struct{}
	once    sync.Once
	ready   chan struct{} // closed when a single voter's first update is settled; it leads only once
	done    chan struct{} // closed when the goroutine has ended and err is set

	// Owned by the goroutine.
	rn       *raft.RawNode
	store    *store
	entries  *entries
	inflight []*proposal // given to Raft, in the order of their entries
	appended int         // how many of inflight have their place in the log
}

// Open reads the directory's metadata and starts the node. With one voter it returns as the leader, with everything
// applied, after a single flush that holds the vote, the start record, the records of Options.AtStart and, at the first
// start, a new cluster id. With several it returns at once, and elections take their time.
//
// What it cannot use it does not touch: ErrCorrupt and ErrNewer say which file, where and what to do.
func Open(opts Options) (*Node, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	header := logHeader{node: opts.NodeID, voters: opts.Voters}
	store, r, err := openStore(opts.FS, opts.Dir, opts.Rand, header)
	if err != nil {
		return nil, fmt.Errorf("open metadata in %s: %w", opts.Dir, err)
	}
	if r.end < r.size {
		opts.Logger.Warn("metadata log: cut a tail that was never acknowledged", "dir", opts.Dir, "position", r.end, "bytes", r.size-r.end)
	}
	n := newNode(opts, store, r)
	if err := n.startRaft(r); err != nil {
		return nil, errors.Join(fmt.Errorf("open metadata in %s: %w", opts.Dir, err), store.close())
	}
	go n.run()
	if n.sole() {
		select {
		case <-n.ready:
		case <-n.done:
		}
		if err := n.Err(); err != nil {
			<-n.done
			return nil, fmt.Errorf("open metadata in %s: %w", opts.Dir, err)
		}
	}
	return n, nil
}

func newNode(opts Options, store *store, r *recovered) *Node {
	n := &Node{opts: opts, store: store, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), asked: make(chan func()),
		closing: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{})}
	n.image.Store(r.image)
	if s := r.state; s != nil && s.GetCommit() < uint64(r.image.Offset) {
		// Stopped between a new snapshot and its log: what is in a snapshot is committed.
		s.Commit = proto.Uint64(uint64(r.image.Offset))
	}
	n.entries = &entries{state: r.state, index: uint64(r.image.Offset), term: r.term, list: r.entries, image: n.Image}
	for _, id := range opts.Voters {
		n.entries.voters = append(n.entries.voters, raftID(id))
	}
	return n
}

// startRaft makes the Raft node. A single voter campaigns at once.
func (n *Node) startRaft(r *recovered) (err error) {
	if r.header.node != n.opts.NodeID || !slices.Equal(r.header.voters, n.opts.Voters) {
		return fmt.Errorf("the directory belongs to node %d of the voters %v, and was opened for node %d of %v",
			r.header.node, r.header.voters, n.opts.NodeID, n.opts.Voters)
	}
	n.rn, err = raft.NewRawNode(&raft.Config{
		ID: raftID(n.opts.NodeID), Storage: n.entries, Applied: n.entries.index,
		ElectionTick: 10, HeartbeatTick: 1, PreVote: true, CheckQuorum: true, DisableProposalForwarding: true,
		MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: math.MaxUint64, MaxInflightMsgs: 64,
		Logger: raftLogger{n.opts.Logger},
	})
	if err == nil && n.sole() {
		err = n.rn.Campaign()
	}
	return err
}

// sole reports whether this node is the only voter, and so never waits for another.
func (n *Node) sole() bool { return len(n.opts.Voters) == 1 }

// Image returns the newest image that is applied here. It takes no lock.
func (n *Node) Image() *Image { return n.image.Load() }

// Subscribe has f called for every change after the image that it returns, in order, on the node's goroutine: f must
// be quick and must not call Update or Close. An Update returns after the subscribers have seen its change. Entries that change
// nothing that a Delta lists (producer ids) are not announced.
func (n *Node) Subscribe(f func(old, next *Image, changed Delta)) *Image {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.subscribers = append(slices.Clone(n.mu.subscribers), f)
	return n.Image()
}

// Leader reports whether this node leads and takes updates.
func (n *Node) Leader() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.term != 0
}

// Done is closed when the node has stopped, by Close or by a failure that Err tells.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err returns why the node stopped: nil while it runs, ErrClosed after Close, or the failed write or flush.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.err
}

// Close finishes the updates that were taken, stops the node and gives the files back. Images stay valid. It returns
// the failure that had stopped the node before, if one did.
func (n *Node) Close() error {
	n.once.Do(func() { close(n.closing) })
	<-n.done
	if err := n.Err(); err != ErrClosed {
		return err
	}
	return nil
}
