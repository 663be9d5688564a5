package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

const (
	// reachTime is how long a broker may take to answer what is asked before the run.
	reachTime = 30 * time.Second
	// mostConnections of one clone share its requests in flight, where the job does not say.
	mostConnections = 32
	// createAtOnce is how many partitions are made by one request: Kafka's controller takes somewhat less than 10,000.
	createAtOnce = 5000
)

// brokerTarget is a broker, or a cluster, on the other side of a wire.
type brokerTarget struct {
	client  *kgo.Client
	process *process // of our own, or nil
	pid     int
	prefix  string // of the topics of this run
	topics  []string

	mu      sync.Mutex
	leaders map[string][]string // addresses, by topic and partition
	conns   map[connKey]*conn
}

// A connKey names a connection of a job's clone to a broker.
type connKey struct {
	job  string
	n    int
	addr string
}

func openBroker(ctx context.Context, s job.Stage, o Options) (_ target, err error) {
	t := &brokerTarget{
		prefix: "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-", pid: o.Pid,
		leaders: map[string][]string{}, conns: map[connKey]*conn{},
	}
	seeds := o.Bootstrap
	if len(seeds) == 0 {
		if t.process, err = serve(ctx, s, o); err != nil {
			return nil, err
		}
		seeds, t.pid = []string{t.process.addr}, t.process.pid
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	t.client, err = kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ClientID("zurau-bench"), kgo.DisableClientMetrics(), kgo.RetryTimeout(reachTime))
	if err != nil {
		return nil, err
	}
	rctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := t.client.Ping(rctx); err != nil {
		return nil, fmt.Errorf("no broker answers at %v: %w", seeds, err)
	}
	if t.pid == 0 && len(seeds) == 1 {
		t.pid = localProcess(seeds[0])
	}
	return t, nil
}

// localProcess returns the process that serves a loopback address, or 0.
func localProcess(addr string) int {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || !a.Addr().IsLoopback() {
		return 0
	}
	return machine.Listener(a)
}

// topicConfigs are what a job says of its topic. Keys that only zurau knows are for a broker of our own.
func topicConfigs(j *job.Job, ours bool) map[string]string {
	c := map[string]string{}
	for name, v := range map[string]int64{"flush.messages": logConfig(j).FlushMessages, "flush.ms": j.Own.FlushMs, "retention.bytes": j.Own.Retention, "segment.bytes": j.Own.Segment} {
		if v > 0 {
			c[name] = strconv.FormatInt(v, 10)
		}
	}
	if j.Own.Retention > 0 {
		c["file.delete.delay.ms"] = "0"
	}
	if n := j.Batch(); n > 1<<20 {
		c["max.message.bytes"] = strconv.FormatInt(2*n, 10)
	}
	if ours && j.Pattern != job.Read {
		c["zurau.writer"] = map[bool]string{true: "direct", false: "buffered"}[j.Direct]
	}
	return c
}

func (t *brokerTarget) topic(name string) string { return t.prefix + name }

func (t *brokerTarget) create(ctx context.Context, name string, n int, j *job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(reachTime.Milliseconds())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.topic(name), int32(min(n, createAtOnce)), -1
	for k, v := range topicConfigs(j, t.process != nil) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		topic.Configs = append(topic.Configs, c)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic.Topic, err)
	}
	if len(resp.Topics) != 1 {
		return fmt.Errorf("create topic %s: an answer about %d topics", topic.Topic, len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		said := ""
		if m := resp.Topics[0].ErrorMessage; m != nil {
			said = ": " + *m
		}
		return fmt.Errorf("create topic %s: %w%s", topic.Topic, err, said)
	}
	t.topics = append(t.topics, topic.Topic)
	for have := createAtOnce; have < n; have += createAtOnce {
		if err := t.grow(ctx, topic.Topic, min(n, have+createAtOnce)); err != nil {
			return err
		}
	}
	return t.locate(ctx, topic.Topic, n)
}

// grow gives a topic more partitions.
func (t *brokerTarget) grow(ctx context.Context, topic string, n int) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(reachTime.Milliseconds())
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, int32(n)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, t.client)
	if err == nil && len(resp.Topics) == 1 {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("topic %s: %d partitions: %w", topic, n, err)
	}
	return nil
}

// locate finds the leaders of a new topic, which a broker may take a moment to know.
func (t *brokerTarget) locate(ctx context.Context, topic string, n int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		leaders, err := t.leadersOf(ctx, topic)
		if err == nil && len(leaders) == n && !slices.Contains(leaders, "") {
			t.mu.Lock()
			t.leaders[topic] = leaders
			t.mu.Unlock()
			if err = t.lead(topic, n); err == nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("topic %s: no leaders for %d partitions within %v", topic, n, reachTime), err)
		}
	}
}

// lead asks the leaders of all partitions whether they know that they are: Kafka's metadata is ahead of them for a moment.
func (t *brokerTarget) lead(topic string, n int) error {
	for part := range n {
		c, err := t.conn("locate", 0, topic, part)
		if err != nil {
			return err
		}
		r := &wireReader{conn: c, topic: topic, part: part}
		if _, err := r.offset(-1); err != nil {
			return fmt.Errorf("partition %d: %w", part, err)
		}
	}
	return nil
}

// leadersOf asks for the address of each partition's leader; empty where it is not known.
func (t *brokerTarget) leadersOf(ctx context.Context, topic string) ([]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return nil, err
	}
	at := map[int32]string{}
	for _, b := range resp.Brokers {
		at[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	if len(resp.Topics) != 1 {
		return nil, fmt.Errorf("an answer about %d topics", len(resp.Topics))
	}
	leaders := make([]string, len(resp.Topics[0].Partitions))
	for _, p := range resp.Topics[0].Partitions {
		if int(p.Partition) < len(leaders) && p.ErrorCode == 0 {
			leaders[p.Partition] = at[p.Leader]
		}
	}
	return leaders, nil
}

// conn returns the n'th connection of a job to the leader of a partition, made when it is first asked for.
func (t *brokerTarget) conn(name string, n int, topic string, part int) (*conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if part >= len(t.leaders[topic]) {
		return nil, fmt.Errorf("topic %s has no partition %d", topic, part)
	}
	k := connKey{name, n, t.leaders[topic][part]}
	if c := t.conns[k]; c != nil {
		return c, nil
	}
	c, err := dial(k.addr)
	if err != nil {
		return nil, err
	}
	t.conns[k] = c
	return c, nil
}

// look is the broker's process and this one.
func (t *brokerTarget) look() (server, client machine.Usage) {
	switch {
	case t.process != nil:
		server = t.process.use()
	case t.pid != 0:
		server = machine.Use(t.pid)
	}
	return server, machine.Use(os.Getpid())
}

func (t *brokerTarget) beside(ctx context.Context, _ job.Stage) (results.Values, error) {
	<-ctx.Done()
	return nil, nil
}

// close removes the run's topics, where the broker is not our own, and ends what was begun.
func (t *brokerTarget) close() (err error) {
	for _, c := range t.conns {
		c.close()
	}
	if t.client != nil {
		if t.process == nil && len(t.topics) > 0 {
			err = t.remove()
		}
		t.client.Close()
	}
	if t.process != nil {
		err = errors.Join(err, t.process.stop())
	}
	return err
}

func (t *brokerTarget) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), reachTime)
	defer cancel()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(reachTime.Milliseconds())
	for _, name := range t.topics {
		req.TopicNames = append(req.TopicNames, name)
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return fmt.Errorf("remove the topics of the run: %w", err)
	}
	for i, r := range resp.Topics {
		err = errors.Join(err, kerr.ErrorForCode(r.ErrorCode))
		if err != nil && i < len(t.topics) {
			return fmt.Errorf("remove topic %s: %w", t.topics[i], err)
		}
	}
	return err
}
