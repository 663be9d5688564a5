package directories

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// groups are those that have offsets in a directory that goes back and forth.
var groups = []string{"classic", "new", "simple", "streams", "undecided"}

func (r reader) client(opts ...kgo.Opt) *kgo.Client {
	r.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	check(r.t, err)
	r.t.Cleanup(c.Close)
	return c
}

func (r reader) create(name string, partitions int32, configs ...string) {
	r.t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		topic.Configs = append(topic.Configs, c)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	if got := ask[*kmsg.CreateTopicsResponse](r, req).Topics[0]; got.ErrorCode != 0 {
		r.t.Fatalf("create %s: %v", name, kerr.ErrorForCode(got.ErrorCode))
	}
	r.topic(name) // has leaders
}

// started is when the records of a directory begin: a year that retention would have deleted long ago.
var started = time.UnixMilli(1_700_000_000_000)

// send produces records of a kind that is worth a look: null keys and values, headers, times of their own.
func (r reader) send(c *kgo.Client, topic string, partitions int32, from, to int) {
	r.t.Helper()
	var all []*kgo.Record
	for i := from; i < to; i++ {
		rec := &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Timestamp: started.Add(time.Duration(i) * time.Minute),
			Key: fmt.Append(nil, "k", i%7), Value: fmt.Append(nil, topic, " value ", i)}
		if i%5 == 0 {
			rec.Headers = []kgo.RecordHeader{{Key: "h", Value: fmt.Append(nil, i)}, {Key: "null"}}
		}
		if i%11 == 0 && topic == "plain" {
			rec.Key = nil
		}
		if i%13 == 0 {
			rec.Value = nil
		}
		all = append(all, rec)
	}
	check(r.t, c.ProduceSync(r.ctx, all...).FirstErr())
}

// fill makes everything of a directory in Apache Kafka that another broker must find.
func (r reader) fill() {
	r.t.Helper()
	r.create("plain", 3, "retention.ms", "-1", "message.timestamp.before.max.ms", "9223372036854775807")
	r.create("changelog", 1, "cleanup.policy", "compact", "segment.ms", "3600000", "min.cleanable.dirty.ratio", "0.01",
		"message.timestamp.before.max.ms", "9223372036854775807")
	r.create("outcomes", 2, "retention.ms", "-1", "message.timestamp.before.max.ms", "9223372036854775807")
	r.create("stamped", 1, "message.timestamp.type", "LogAppendTime")
	r.create("empty", 2)
	r.create("gone", 1)
	check(r.t, r.client().ProduceSync(r.ctx, &kgo.Record{Topic: "gone", Value: []byte("v")}).FirstErr())
	drop := kmsg.NewPtrDeleteTopicsRequest()
	drop.TopicNames, drop.Topics = []string{"gone"}, []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("gone")}}
	if got := ask[*kmsg.DeleteTopicsResponse](r, drop).Topics[0]; got.ErrorCode != 0 {
		r.t.Fatalf("delete: %v", kerr.ErrorForCode(got.ErrorCode))
	}
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	for i, codec := range codecs {
		r.send(r.client(kgo.ProducerBatchCompression(codec)), "plain", 3, 100*i, 100*i+60)
	}
	r.put("plain", 2, record.NewBuilder(record.None).Add(-1, []byte("k"), []byte("of no time")).Bytes())
	c := r.client()
	r.send(c, "stamped", 1, 0, 20)
	for i := range 6 {
		r.send(c, "changelog", 1, 50*i, 50*i+50)
	}
	r.transactions()
	r.commit("simple", "", -1, 17, "words of its own")
	r.consume()
	r.join()
	r.share()
}

// transactions ends some with a commit and some with an abort, each with offsets, and leaves one open.
func (r reader) transactions() {
	r.t.Helper()
	for i := range 7 {
		id := fmt.Sprint("tx-", i)
		c := r.client(kgo.TransactionalID(id), kgo.TransactionTimeout(15*time.Minute), kgo.ProducerBatchCompression(kgo.NoCompression()))
		check(r.t, c.BeginTransaction())
		r.send(c, "outcomes", 2, 10*i, 10*i+10)
		r.send(c, "changelog", 1, 400+10*i, 400+10*i+10) // as Kafka Streams does: what it reads, changes and writes is one transaction
		group := "streams"
		if i == 6 {
			group = "undecided"
			r.commit(group, "", -1, 3, "before")
		}
		r.commitIn(c, id, group, int64(100*i))
		if i == 6 {
			return // is open when Kafka stops
		}
		check(r.t, c.EndTransaction(r.ctx, kgo.TransactionEndTry(i%3 != 2)))
	}
}

// commitIn commits an offset of a group in an open transaction.
func (r reader) commitIn(c *kgo.Client, id, group string, offset int64) {
	r.t.Helper()
	pid, epoch, err := c.ProducerID(r.ctx)
	check(r.t, err)
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = id, pid, epoch, group
	added, err := add.RequestWith(r.ctx, c)
	check(r.t, err)
	check(r.t, kerr.ErrorForCode(added.ErrorCode))
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, kmsg.StringPtr("of a transaction")
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "plain", r.topic("plain").TopicID, append(topic.Partitions, p)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Topics = id, group, pid, epoch, append(req.Topics, topic)
	r.untilDone("commit in a transaction", func() int16 {
		got, err := req.RequestWith(r.ctx, c)
		check(r.t, err)
		return got.Topics[0].Partitions[0].ErrorCode
	})
}

// commit commits an offset of plain-1, as a member in an epoch or as nobody.
func (r reader) commit(group, member string, epoch int32, offset int64, metadata string) {
	r.t.Helper()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = 1, offset, 0, &metadata
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "plain", r.topic("plain").TopicID, append(topic.Partitions, p)
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.Topics = group, member, epoch, append(req.Topics, topic)
	r.untilDone("commit of "+group, func() int16 {
		got, err := req.RequestWith(r.ctx, r.c) // finds the coordinator, which makes its topic
		check(r.t, err)
		return got.Topics[0].Partitions[0].ErrorCode
	})
}

// untilDone asks again for as long as the answer says that it may help.
func (r reader) untilDone(what string, ask func() int16) {
	r.t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; {
		err := kerr.ErrorForCode(ask())
		if err == nil {
			return
		}
		if !kerr.IsRetriable(err) || r.ctx.Err() != nil || time.Now().After(until) {
			r.t.Fatalf("%s: %v", what, err)
		}
	}
}

// consume commits as a member of a group of the classic protocol.
func (r reader) consume() {
	r.t.Helper()
	c := r.client(kgo.ConsumerGroup("classic"), kgo.ConsumeTopics("plain"), kgo.DisableAutoCommit())
	f := c.PollRecords(r.ctx, 40)
	check(r.t, f.Err())
	check(r.t, c.CommitUncommittedOffsets(r.ctx))
	check(r.t, c.LeaveGroupContext(r.ctx))
}

// join commits as a member of a group of the protocol of KIP-848, and stays in it.
func (r reader) join() {
	r.t.Helper()
	member, epoch := "AAAAAAAAAAAAAAAAAAAAbA", int32(0)
	for {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = "new", member, epoch, 60_000
		if req.SubscribedTopicNames = []string{"plain"}; epoch == 0 {
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		got, err := req.RequestWith(r.ctx, r.c)
		check(r.t, err)
		if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
			r.t.Fatalf("heartbeat: %v", err)
		}
		epoch = got.MemberEpoch
		if got.Assignment != nil && len(got.Assignment.Topics) == 1 {
			break
		}
	}
	r.commit("new", member, epoch, 23, "of a new group")
}

// share joins a share group, which has the coordinator write the state of its partitions.
func (r reader) share() {
	r.t.Helper()
	epoch := int32(0)
	for {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.GroupID, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames = "shared", "AAAAAAAAAAAAAAAAAAAAcA", epoch, []string{"plain"}
		got, err := req.RequestWith(r.ctx, r.c)
		check(r.t, err)
		if err := kerr.ErrorForCode(got.ErrorCode); err != nil && !kerr.IsRetriable(err) {
			r.t.Fatalf("heartbeat of a share group: %v", err)
		}
		if epoch = got.MemberEpoch; slices.Contains(r.names(), "__share_group_state") && got.Assignment != nil && len(got.Assignment.TopicPartitions) == 1 {
			return
		}
	}
}

// cleaned waits until the cleaner has nothing left to do in the changelog: its checkpoint has come to where the last
// segment begins, or the open transaction, whatever is first. It leaves tombstones, holes, and empty batches that keep the last
// sequence of a producer.
func (r reader) cleaned(dir string) {
	r.t.Helper()
	stable, _ := r.offset("changelog", 0, latest, 1)
	for {
		check(r.t, r.ctx.Err())
		logs, err := filepath.Glob(filepath.Join(dir, "changelog-0", "*.log"))
		check(r.t, err)
		var end int64
		for _, log := range logs {
			base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(log), ".log"), 10, 64)
			check(r.t, err)
			end = max(end, min(base, stable))
		}
		if at, ok := pointOf(r.t, dir, "cleaner-offset-checkpoint", "changelog 0"); ok && end > 0 && at == end {
			break
		}
	}
	holes, empty, next := 0, 0, int64(0)
	for _, b := range r.batches(r.topic("changelog"), 0, 0) {
		if b.BaseOffset() != next || int64(b.Count()) != b.LastOffset()-b.BaseOffset()+1 {
			holes++
		}
		if b.Count() == 0 {
			empty++
		}
		next = b.LastOffset() + 1
	}
	if holes == 0 || empty == 0 {
		r.t.Errorf("the cleaner has left %d holes and %d empty batches: this shows nothing", holes, empty)
	}
}

// pointOf returns the offset of a log in one of Kafka's checkpoints.
func pointOf(t testing.TB, dir, file, log string) (offset int64, ok bool) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return 0, false
	}
	check(t, err)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, log+" "); ok {
			offset, err = strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			check(t, err)
			return offset, true
		}
	}
	return 0, false
}
