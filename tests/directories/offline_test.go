package directories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/broker"
)

func named(code int16) string {
	if code == 0 {
		return "fine"
	}
	return kerr.ErrorForCode(code).Error()
}

// offline lists what a broker answers of two partitions of t, in the order of their directories, of which the second is offline, and
// makes a topic of that name meanwhile.
func (r reader) offline(parts [2]int32, name string) (lines []string) {
	r.t.Helper()
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("t")}}
	answer := ask[*kmsg.MetadataResponse](r, meta).Topics[0]
	describe := kmsg.NewPtrDescribeTopicPartitionsRequest()
	describe.Topics, describe.ResponsePartitionLimit = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "t"}}, 100
	described := ask[*kmsg.DescribeTopicPartitionsResponse](r, describe).Topics[0]
	for i, number := range parts {
		for _, p := range answer.Partitions {
			if p.Partition == number {
				say("%d: leader %d, replicas %v, in sync %v, offline %v: %s", i, p.Leader, p.Replicas, p.ISR, p.OfflineReplicas, named(p.ErrorCode))
			}
		}
		for _, p := range described.Partitions {
			if p.Partition == number {
				// Not who is eligible: Kafka forgets that when the broker starts without the directory.
				say("%d, described: leader %d, in sync %v, last known %v, offline %v: %s", i, p.LeaderID, p.ISR, p.LastKnownELR, p.OfflineReplicas,
					named(p.ErrorCode))
			}
		}
		produce := kmsg.NewPtrProduceRequest()
		produce.Acks, produce.TimeoutMillis = -1, 10_000
		produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", TopicID: answer.TopicID, Partitions: []kmsg.ProduceRequestTopicPartition{{
			Partition: number, Records: record.NewBuilder(record.None).Add(time.Now().UnixMilli(), nil, []byte("v")).Bytes()}}}}
		say("%d: produce: %s", i, named(ask[*kmsg.ProduceResponse](r, produce).Topics[0].Partitions[0].ErrorCode))
		fetch := kmsg.NewPtrFetchRequest()
		fetch.MaxWaitMillis, fetch.MaxBytes, fetch.SessionEpoch = 10, 1<<20, -1
		fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", TopicID: answer.TopicID, Partitions: []kmsg.FetchRequestTopicPartition{{
			Partition: number, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, PartitionMaxBytes: 1 << 20}}}}
		say("%d: fetch: %s", i, named(ask[*kmsg.FetchResponse](r, fetch).Topics[0].Partitions[0].ErrorCode))
		list := kmsg.NewPtrListOffsetsRequest()
		list.ReplicaID = -1
		list.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{
			Partition: number, CurrentLeaderEpoch: -1, Timestamp: latest}}}}
		say("%d: list offsets: %s", i, named(ask[*kmsg.ListOffsetsResponse](r, list).Topics[0].Partitions[0].ErrorCode))
		del := kmsg.NewPtrDeleteRecordsRequest()
		del.TimeoutMillis = 10_000
		del.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: number, Offset: 0}}}}
		say("%d: delete records: %s", i, named(ask[*kmsg.DeleteRecordsResponse](r, del).Topics[0].Partitions[0].ErrorCode))
		epoch := kmsg.NewPtrOffsetForLeaderEpochRequest()
		epoch.ReplicaID = -1
		epoch.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{
			Partition: number, CurrentLeaderEpoch: -1}}}}
		say("%d: offset for leader epoch: %s", i, named(ask[*kmsg.OffsetForLeaderEpochResponse](r, epoch).Topics[0].Partitions[0].ErrorCode))
	}
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](r, kmsg.NewPtrDescribeLogDirsRequest()).Dirs {
		say("%s: %s, %d topics, bytes are known: %t", filepath.Base(d.Dir), named(d.ErrorCode), len(d.Topics), d.TotalBytes >= 0)
	}
	r.create(name, 4)
	for p := range int32(4) {
		check(r.t, r.client().ProduceSync(r.ctx, &kgo.Record{Topic: name, Partition: p, Value: []byte("v")}).FirstErr())
	}
	return lines
}

// spread makes t in both directories, and returns its partitions in the order of those.
func (r reader) spread() (parts [2]int32) {
	r.t.Helper()
	r.create("t", 2)
	for p := range int32(2) {
		check(r.t, r.client().ProduceSync(r.ctx, &kgo.Record{Topic: "t", Partition: p, Value: []byte("v")}).FirstErr())
	}
	for _, place := range r.places() {
		var dir string
		var p int32
		if _, err := fmt.Sscanf(place, "%s t-%d", &dir, &p); err == nil {
			parts[map[string]int{"data": 0, "more": 1}[dir]] = p
		}
	}
	if parts[0] == parts[1] {
		r.t.Fatalf("not in both directories: %q", r.places())
	}
	return parts
}

// breakDir has a file in the place of a directory.
func breakDir(t *testing.T, dir string) {
	t.Helper()
	check(t, os.Rename(dir, dir+".away"))
	check(t, os.WriteFile(dir, nil, 0o600))
}

// until waits until a partition of t has no leader.
func (r reader) until(number int32) {
	r.t.Helper()
	meta := kmsg.NewPtrMetadataRequest()
	meta.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("t")}}
	for {
		check(r.t, r.ctx.Err())
		for _, p := range ask[*kmsg.MetadataResponse](r, meta).Topics[0].Partitions {
			if p.Partition == number && p.Leader < 0 {
				return
			}
		}
	}
}

func TestADirectoryThatIsOfflineIsAnsweredAsKafkaAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	kafka := newApache(t)
	more := filepath.Join(kafka.dir, "more")
	kafka.set = append(kafka.set, "log.dirs="+kafka.data()+","+more)
	kafka.start()
	r := newReader(ctx, t, kafka.addr)
	parts := r.spread()
	breakDir(t, more)
	r.create("breaker", 4) // Kafka wants to make a folder where none can be
	r.until(parts[1])
	failed := r.offline(parts, "one")
	kafka.end(syscall.SIGTERM)
	kafka.start()
	absent := newReader(ctx, t, kafka.addr).offline(parts, "two")
	kafka.end(syscall.SIGTERM)

	root := t.TempDir()
	dirs := []string{filepath.Join(root, "data"), filepath.Join(root, "more")}
	zurau := broker.Start(t, broker.Options{Dir: strings.Join(dirs, ",")})
	r = newReader(ctx, t, zurau.Addr)
	parts = r.spread()
	check(t, unix.Prlimit(zurau.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 600 << 10, Max: unix.RLIM_INFINITY}, nil))
	large := &kgo.Record{Topic: "t", Partition: parts[1], Value: make([]byte, 900<<10)} // a segment is written beyond what a file may have
	check(t, r.client(kgo.ProducerBatchCompression(kgo.NoCompression())).ProduceSync(ctx, large).FirstErr())
	r.until(parts[1])
	r.create("breaker", 4)
	differ(t, "a directory that has failed", r.offline(parts, "one"), failed)
	zurau.Stop(t)
	breakDir(t, dirs[1])
	zurau.Start(t)
	differ(t, "a directory that is offline from the start", newReader(ctx, t, zurau.Addr).offline(parts, "two"), absent)
	zurau.Stop(t)
}
