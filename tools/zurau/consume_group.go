package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupOptions are those of a member of a group. Only what was printed is committed, and a partition is given away only
// between two polls.
func (x *consuming) groupOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(x.flags.group),
		kgo.ConsumeStartOffset(x.from.start()),
		kgo.ConsumeResetOffset(x.from.start()),
		// What the Java clients and librdkafka understand by default, so that they can share a group with us.
		kgo.Balancers(kgo.RangeBalancer(), kgo.RoundRobinBalancer()),
		kgo.AutoCommitMarks(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(x.assigned),
		kgo.OnPartitionsRevoked(x.revoked),
		kgo.OnPartitionsLost(x.lost),
		kgo.AdjustFetchOffsetsFn(x.adjust),
	}
}

func (x *consuming) assigned(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.joined = true
	for _, p := range partitions[x.topic] {
		x.position[p] = -1 // until adjust knows
	}
}

func (x *consuming) revoked(ctx context.Context, cl *kgo.Client, partitions map[string][]int32) {
	_ = cl.CommitMarkedOffsets(ctx) // another member may print again what a failed commit leaves
	x.lost(ctx, cl, partitions)
}

func (x *consuming) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range partitions[x.topic] {
		delete(x.position, p)
	}
}

// adjust learns where each partition is read from, so that one that is at its end already counts as read. Where the
// group has committed nothing, it resolves --from.
func (x *consuming) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	if !x.bounded {
		return offsets, nil
	}
	var fresh []int32
	for p, o := range offsets[x.topic] {
		if at := o.EpochOffset().Offset; at < 0 || o == x.from.start() {
			fresh = append(fresh, p)
		} else {
			x.place(p, at)
		}
	}
	if len(fresh) == 0 {
		return offsets, nil
	}
	ctx, cancel := x.flags.inTime(ctx)
	defer cancel()
	from, err := x.from.resolve(ctx, x.cl, x.topic, fresh, x.flags.committed)
	if err != nil {
		return nil, errors.Join(errors.New("resolve --from"), err)
	}
	for p, o := range from {
		x.place(p, o)
		offsets[x.topic][p] = kgo.NewOffset().At(o)
	}
	return offsets, nil
}

func (x *consuming) place(p int32, offset int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.position[p] = offset
}
