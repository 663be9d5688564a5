package kill

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// request sends a request to the broker and fails the test where there is no answer.
func request[R any](ctx context.Context, t *testing.T, c *kgo.Client, req interface {
	RequestWith(context.Context, kmsg.Requestor) (R, error)
}) R {
	t.Helper()
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		t.Fatalf("%T: %v", req, err)
	}
	return resp
}

// create makes a topic of some partitions.
func create(ctx context.Context, t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	c := client(t, addr)
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, rt)
	if got := request(ctx, t, c, req).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("create %s: error %d", topic, got.ErrorCode)
	}
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ends returns the end offset of each partition of a topic.
func ends(ctx context.Context, t *testing.T, addr, topic string, partitions int32) []int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	all := make([]int64, partitions)
	for _, p := range request(ctx, t, client(t, addr), req).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			t.Fatalf("end of partition %d: error %d", p.Partition, p.ErrorCode)
		}
		all[p.Partition] = p.Offset
	}
	return all
}

// found is what a topic holds: the value at each offset of each partition, from 0 on.
type found [][]string

// readAll reads a topic from its start to its ends, and checks that offsets have no gaps.
func readAll(ctx context.Context, t *testing.T, addr, topic string, partitions int32) found {
	t.Helper()
	all := make(found, partitions)
	missing := int64(0)
	for _, end := range ends(ctx, t, addr, topic, partitions) {
		missing += end
	}
	c := client(t, addr, kgo.ConsumeTopics(topic))
	for missing > 0 {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("%d records are missing: %v", missing, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if next := int64(len(all[r.Partition])); r.Offset != next {
				t.Fatalf("partition %d has offset %d where %d should be", r.Partition, r.Offset, next)
			}
			all[r.Partition] = append(all[r.Partition], string(r.Value))
			missing--
		})
	}
	return all
}

// check compares what is there with what was acknowledged. It returns errors, so that it can be tested itself.
func (f found) check(acked map[string]place, idempotent int) []error {
	var bad []error
	for value, p := range acked {
		if p.offset >= int64(len(f[p.partition])) {
			bad = append(bad, fmt.Errorf("lost: %.20q, acknowledged at %d of partition %d, which ends at %d",
				value, p.offset, p.partition, len(f[p.partition])))
		} else if got := f[p.partition][p.offset]; got != value {
			bad = append(bad, fmt.Errorf("changed: %.20q was acknowledged at %d of partition %d, where %.20q is", value, p.offset, p.partition, got))
		}
	}
	seen := map[string]place{}
	for p, values := range f {
		last := map[int]int{}
		for offset, value := range values {
			id, n, err := writerOf(value)
			if err != nil {
				bad = append(bad, fmt.Errorf("foreign: %.20q at %d of partition %d: %w", value, offset, p, err))
				continue
			}
			before, again := seen[value]
			if again && id < idempotent {
				bad = append(bad, fmt.Errorf("double: %.20q at %d of partition %d and %v", value, offset, p, before))
			}
			seen[value] = place{int32(p), int64(offset)}
			if l, ok := last[id]; ok && n < l && id < idempotent {
				bad = append(bad, fmt.Errorf("order: writer %d's value %d is behind %d in partition %d", id, n, l, p))
			}
			last[id] = n
		}
	}
	return bad
}

func TestTheCheckFindsWhatItIsFor(t *testing.T) {
	a, b, c := valueOf(0, 0), valueOf(0, 1), valueOf(1, 0)
	acked := map[string]place{a: {0, 0}, c: {0, 1}}
	for name, f := range map[string]found{
		"a lost record":                   {{a}},
		"a record in another's place":     {{c, a}},
		"a duplicate":                     {{a, c, a}},
		"a duplicate elsewhere":           {{a, c}, {a}},
		"a value that nobody sent":        {{a, c, "0 7 ?"}},
		"the records of one out of order": {{a, c, valueOf(0, 2), b}},
	} {
		if len(f.check(acked, 1)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if bad := (found{{a, c, c, b}}).check(acked, 1); len(bad) != 0 {
		t.Errorf("what a producer without idempotence may do: %v", bad)
	}
}
