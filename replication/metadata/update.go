package metadata

import (
	"context"
	"fmt"
	"math"
)

// proposal is an update on its way: from the queue to Raft, to the log file, to the image.
type proposal struct {
	term  uint64
	image *Image // after it
	delta Delta
	data  []byte
	done  chan struct{}
	err   error // set before done is closed
}

// Update is the controller. decide sees the newest image, with all earlier updates in it whether they are applied yet
// or not, and returns the records that change it. Update returns nil when they are applied here and durable, and the
// subscribers have seen them. Many updates share one flush.
//
// decide is called once, one at a time over the whole node; it must be quick and must not call Update. Its error is
// returned as it is, and changes nothing. With an error or without records, too, Update returns only when what decide
// saw is durable, so "exists already" is never said of something that a crash could undo. The records belong to the
// node from then on.
//
// When ctx ends first the update may still happen: look at a later image. After a failed write or flush every update
// fails with it; ErrNotLeader and ErrClosed say that this node takes none; ErrNoSpace goes when the disk has room.
func (n *Node) Update(ctx context.Context, decide func(*Image) ([]Record, error)) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p, err := n.decide(decide)
	if p == nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.err != nil {
		return p.err
	}
	return err
}

// decide takes a decision and queues it, and gives the turn back. The proposal that it returns, where there is one, is
// to be waited for before err counts.
func (n *Node) decide(decide func(*Image) ([]Record, error)) (*proposal, error) {
	defer func() { <-n.turn }()
	n.mu.Lock()
	img, term, tail, err := n.mu.pending, n.mu.term, n.mu.tail, n.mu.err
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if term == 0 {
		return nil, ErrNotLeader
	}
	records, err := decide(img)
	if err != nil || len(records) == 0 {
		return tail, err
	}
	p, err := newProposal(img, term, records)
	if err == nil {
		err = n.checkSpace(len(p.data))
	}
	if err != nil {
		return tail, err
	}
	return p, n.enqueue(p)
}

// newProposal works the update out in full: what cannot be applied or encoded is refused here, before anyone sees it.
func newProposal(img *Image, term uint64, records []Record) (*proposal, error) {
	next, delta, err := img.Apply(img.Offset+1, records)
	if err != nil {
		return nil, err
	}
	data := AppendRecords(nil, records)
	if len(data) > maxEntry {
		return nil, fmt.Errorf("metadata update of %d records: %d bytes are more than the limit of %d", len(records), len(data), maxEntry)
	}
	return &proposal{term: term, image: next, delta: delta, data: data, done: make(chan struct{})}, nil
}

// spaceReserve is what an update leaves free, in bytes: a write that fails stops the node, a refusal does not. It covers
// what other updates have in flight, and is far below the reserve at which the engine refuses records.
const spaceReserve = 256 << 10

func (n *Node) checkSpace(size int) error {
	free, err := n.opts.FS.Free(n.opts.Dir)
	if err != nil {
		return fmt.Errorf("metadata: free space of %s: %w", n.opts.Dir, err)
	}
	if free < int64(size)+spaceReserve {
		return fmt.Errorf("%w: %d bytes and a reserve of %d, but %d are free in %s", ErrNoSpace, size, spaceReserve, free, n.opts.Dir)
	}
	return nil
}

// enqueue hands a proposal to the node's goroutine, unless the lead was lost while it was decided.
func (n *Node) enqueue(p *proposal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.mu.err; err != nil {
		p.fail(err)
	} else if n.mu.term != p.term {
		p.fail(ErrNotLeader)
	} else {
		n.mu.pending, n.mu.tail = p.image, p
		n.mu.queue = append(n.mu.queue, p)
		n.signal()
	}
	return p.err
}

// signal wakes the goroutine; one signal stands for all that is in the queue and the inbox.
func (n *Node) signal() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (p *proposal) fail(err error) {
	p.err = err
	close(p.done)
}

// maxEntry bounds the records of one update, in bytes.
const maxEntry = maxPayload - 64

// ProducerIDBlock is how many producer ids are given away at once, as in Kafka.
const ProducerIDBlock = 1000

// AllocateProducerIDs returns the first of ProducerIDBlock producer ids that nobody else has, or ever gets.
func (n *Node) AllocateProducerIDs(ctx context.Context) (first int64, count int, err error) {
	err = n.Update(ctx, func(img *Image) ([]Record, error) {
		first = img.NextProducerID
		if first > math.MaxInt64-ProducerIDBlock {
			return nil, fmt.Errorf("producer ids are used up: next is %d", first)
		}
		return []Record{ProducerIDsRecord{Next: first + ProducerIDBlock}}, nil
	})
	if err != nil {
		return 0, 0, err
	}
	return first, ProducerIDBlock, nil
}
