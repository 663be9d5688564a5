package clients

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/zurau/zurau/tests/broker"
)

// A member is a consumer of a group that tells which partitions it is given.
type member struct {
	*kgo.Client
	given chan []int32
}

func join(t *testing.T, b *broker.Broker, group, topic string, opts ...kgo.Opt) *member {
	t.Helper()
	m := &member{given: make(chan []int32, 16)}
	given := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
		m.given <- slices.Clone(parts[topic])
	}
	m.Client = franz(t, b, append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.RangeBalancer()), kgo.OnPartitionsAssigned(given)}, opts...)...)
	return m
}

// until waits until the member is given n partitions at once, and returns them.
func (m *member) until(ctx context.Context, t *testing.T, n int) []int32 {
	t.Helper()
	for {
		select {
		case got := <-m.given:
			if len(got) == n {
				return got
			}
		case <-ctx.Done():
			t.Fatalf("was never given %d partitions", n)
		}
	}
}

// take polls n records and commits them.
func (m *member) take(ctx context.Context, t *testing.T, n int) []string {
	t.Helper()
	records := poll(ctx, t, m.Client, n)
	if err := m.CommitRecords(ctx, records...); err != nil {
		t.Fatal(err)
	}
	return valuesOf(records)
}

// spread produces values to the partitions of a topic in turn.
func spread(ctx context.Context, t *testing.T, c *kgo.Client, topic string, partitions int, values []string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(v)}
	}
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// sorted makes records of several partitions comparable.
func sorted(lists ...[]string) []string { return slices.Sorted(slices.Values(slices.Concat(lists...))) }

func TestFranzGroupSharesPartitionsAndTakesOver(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	c := franz(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	create(ctx, t, c, "shared", 4)

	first := join(t, b, "g", "shared")
	first.until(ctx, t, 4)
	second := join(t, b, "g", "shared")
	has := slices.Concat(first.until(ctx, t, 2), second.until(ctx, t, 2))
	if slices.Sort(has); !slices.Equal(has, []int32{0, 1, 2, 3}) {
		t.Fatalf("the two members have the partitions %v", has)
	}

	want := values(400)
	spread(ctx, t, c, "shared", 4, want)
	same(t, sorted(first.take(ctx, t, 200), second.take(ctx, t, 200)), sorted(want))

	second.Close()
	first.until(ctx, t, 4)
	more := values(440)[400:]
	spread(ctx, t, c, "shared", 4, more)
	same(t, sorted(first.take(ctx, t, len(more))), sorted(more))
	clean(t, b)
}

func TestFranzCooperativeAndStaticMembersKeepWhatTheyHave(t *testing.T) {
	b, ctx := shared(t), deadline(t)
	c := franz(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	create(ctx, t, c, "static", 2)
	opts := []kgo.Opt{kgo.InstanceID("one"), kgo.Balancers(kgo.CooperativeStickyBalancer())}
	m := join(t, b, "s", "static", opts...)
	m.until(ctx, t, 2)
	spread(ctx, t, c, "static", 2, values(20))
	same(t, sorted(m.take(ctx, t, 20)), sorted(values(20)))
	// A static member that closes does not leave: the next one of that name takes its place without a rebalance.
	m.Close()
	again := join(t, b, "s", "static", opts...)
	again.until(ctx, t, 2)
	more := values(30)[20:]
	spread(ctx, t, c, "static", 2, more)
	same(t, sorted(again.take(ctx, t, 10)), sorted(more))
	clean(t, b)
}

func TestCommittedOffsetsOutliveTheBroker(t *testing.T) {
	for name, end := range map[string]func(*broker.Broker, testing.TB){"stopped": (*broker.Broker).Stop, "killed": (*broker.Broker).Kill} {
		t.Run(name, func(t *testing.T) {
			b, ctx := shared(t), deadline(t)
			c := franz(t, b)
			for round := range 3 {
				want := values(100)
				for i := range want {
					want[i] = fmt.Sprint(round, " ", want[i])
				}
				send(ctx, t, c, "lasting", want)
				m := join(t, b, "g", "lasting", kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
				same(t, m.take(ctx, t, len(want)), want)
				m.Close()
				end(b, t)
				b.Start(t)
			}
			clean(t, b)
		})
	}
}
