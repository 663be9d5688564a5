package transactions

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/raw"
)

const topic, partitions = "ledger", 2

// fill has four producers run transactions in turns, some of them committed, some aborted, with plain records in between, and
// then one that never ends, while others go on. Segments roll at 1 MiB.
func fill(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	segment := "1048576"
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 7, 10_000
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1,
		Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "segment.bytes", Value: &segment}}}}
	if code := raw.Ask[*kmsg.CreateTopicsResponse](t, raw.Dial(t, addr), create).Topics[0].ErrorCode; code != 0 {
		t.Fatalf("create %s: error %d", topic, code)
	}
	client := func(opts ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)...)
		must(t, err)
		t.Cleanup(c.Close)
		return c
	}
	put := func(c *kgo.Client, n int) {
		for range n {
			v := make([]byte, 100+r.IntN(20_000))
			for i := range v {
				v[i] = byte(r.Uint32())
			}
			must(t, c.ProduceSync(ctx, &kgo.Record{Partition: r.Int32N(partitions), Key: []byte("key"), Value: v}).FirstErr())
		}
	}
	plain := client()
	var producers []*kgo.Client
	for i := range 4 {
		producers = append(producers, client(kgo.TransactionalID(fmt.Sprint("writer-", i)), kgo.TransactionTimeout(15*time.Minute)))
	}
	open := make([]bool, len(producers))
	turns := func(n int, producers []*kgo.Client) {
		for range n {
			put(plain, r.IntN(3))
			i := r.IntN(len(producers))
			if !open[i] {
				must(t, producers[i].BeginTransaction())
				open[i] = true
			}
			put(producers[i], 1+r.IntN(4))
			if r.IntN(2) == 0 {
				must(t, producers[i].EndTransaction(ctx, kgo.TransactionEndTry(r.IntN(2) == 0)))
				open[i] = false
			}
		}
		for i, c := range producers {
			if open[i] {
				must(t, c.EndTransaction(ctx, kgo.TransactionEndTry(i%2 == 0)))
				open[i] = false
			}
		}
	}
	turns(130, producers)
	stays, others := producers[0], producers[1:]
	must(t, stays.BeginTransaction())
	put(stays, 5)
	turns(20, others)
	put(plain, 10)
}

// answers asks a broker for everything that transactions have a part in, and writes down what it says.
func answers(t *testing.T, addr string) (lines []string) {
	t.Helper()
	c := raw.Dial(t, addr)
	meta := kmsg.NewPtrMetadataRequest()
	meta.Version, meta.Topics = 12, []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}
	id := raw.Ask[*kmsg.MetadataResponse](t, c, meta).Topics[0].TopicID
	for p := range int32(partitions) {
		var end int64
		for isolation := range int8(2) {
			for _, at := range []int64{-1, -2, -3, 0} {
				line, offset := latest(t, c, p, isolation, at)
				lines = append(lines, line)
				end = max(end, offset)
			}
		}
		for isolation := range int8(2) {
			for offset := int64(0); offset <= end+1; offset += 1 + end/60 {
				for _, version := range []int16{4, 12, 17} {
					for _, most := range []int32{0, 1, 3000, 60_000, 1 << 20} {
						lines = append(lines, fetch(t, c, id, version, isolation, 50<<20, []int32{p}, offset, most)...)
					}
				}
			}
			for _, most := range []int32{0, 1, 10_000, 21_000, 30_000, 100_000} {
				lines = append(lines, fetch(t, c, id, 12, isolation, most, []int32{p, (p + 1) % partitions}, end/2, 1<<20)...)
			}
		}
	}
	return lines
}

func latest(t *testing.T, c net.Conn, p int32, isolation int8, at int64) (string, int64) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.IsolationLevel = 7, -1, isolation
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.Timestamp = p, at
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{part}}}
	got := raw.Ask[*kmsg.ListOffsetsResponse](t, c, req).Topics[0].Partitions[0]
	return fmt.Sprintf("partition %d isolation %d time %d: code %d offset %d time %d", p, isolation, at, got.ErrorCode, got.Offset, got.Timestamp), got.Offset
}

// fetch asks for partitions from an offset on, limited as a whole and each by itself.
func fetch(t *testing.T, c net.Conn, id [16]byte, version int16, isolation int8, all int32, ps []int32, offset int64, most int32) (lines []string) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.IsolationLevel, req.MinBytes, req.MaxBytes, req.SessionEpoch = version, isolation, 0, all, -1
	asked := kmsg.FetchRequestTopic{Topic: topic, TopicID: id}
	for _, p := range ps {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = p, offset, most
		asked.Partitions = append(asked.Partitions, part)
	}
	req.Topics = []kmsg.FetchRequestTopic{asked}
	for _, got := range raw.Ask[*kmsg.FetchResponse](t, c, req).Topics[0].Partitions {
		aborted := "null"
		if got.AbortedTransactions != nil {
			aborted = "["
			for _, a := range got.AbortedTransactions {
				aborted += fmt.Sprintf(" %d@%d", a.ProducerID, a.FirstOffset)
			}
			aborted += " ]"
		}
		lines = append(lines, fmt.Sprintf("fetch v%d isolation %d partition %d offset %d at most %d of %d: code %d start %d high %d stable %d aborted %s, %d bytes %08x",
			version, isolation, got.Partition, offset, most, all, got.ErrorCode, got.LogStartOffset, got.HighWatermark, got.LastStableOffset, aborted,
			len(got.RecordBatches), crc32.ChecksumIEEE(got.RecordBatches)))
	}
	return lines
}

// committed reads the topic with franz-go, as a consumer of committed records, up to where those end.
func committed(ctx context.Context, t *testing.T, addr string) (lines []string) {
	t.Helper()
	c := raw.Dial(t, addr)
	from, ends := map[int32]kgo.Offset{}, map[int32]int64{}
	for p := range int32(partitions) {
		from[p] = kgo.NewOffset().AtStart()
		_, ends[p] = latest(t, c, p, 1, -1)
	}
	for p := range int32(partitions) {
		c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: from[p]}}))
		must(t, err)
		for at := int64(0); at < ends[p]; {
			f := c.PollFetches(ctx)
			must(t, f.Err())
			for _, r := range f.Records() {
				lines = append(lines, fmt.Sprintf("partition %d offset %d %d %s %08x control %v", r.Partition, r.Offset, r.Timestamp.UnixMilli(), r.Key,
					crc32.ChecksumIEEE(r.Value), r.Attrs.IsControl()))
				at = r.Offset + 1
			}
		}
		c.Close()
	}
	return lines
}

// sameIndexes holds the transaction indexes that zurau leaves against those that Kafka left.
func sameIndexes(t *testing.T, kafka, zurau string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kafka, topic+"-*", "*.txnindex"))
	must(t, err)
	if len(files) < partitions {
		t.Fatalf("%d transaction indexes", len(files))
	}
	for _, f := range files {
		want, err := os.ReadFile(f)
		must(t, err)
		got, err := os.ReadFile(filepath.Join(zurau, filepath.Base(filepath.Dir(f)), filepath.Base(f)))
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: Kafka left %x, zurau %x", f, want, got)
		}
	}
}

// snapshots returns the newest producer snapshot of each partition, by its path: the producers, and what they have open, at the
// log's end, once its broker has stopped in order.
func snapshots(t *testing.T, data string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for p := range partitions {
		dir := fmt.Sprintf("%s-%d", topic, p)
		files, err := filepath.Glob(filepath.Join(data, dir, "*.snapshot")) // in order
		must(t, err)
		if len(files) == 0 {
			t.Fatalf("%s has no producer snapshot", dir)
		}
		b, err := os.ReadFile(files[len(files)-1])
		must(t, err)
		all[dir+"/"+filepath.Base(files[len(files)-1])] = fmt.Sprintf("%x", b)
	}
	return all
}

func TestZurauAnswersFromKafkasDirectoryWhatKafkaAnswered(t *testing.T) {
	k, ctx := newKafka(t), deadline(t)
	k.up(t)
	fill(ctx, t, k.addr)
	said, read := answers(t, k.addr), committed(ctx, t, k.addr)
	left := map[string]map[string]string{} // the snapshots of zurau
	for _, end := range []string{"kill", "down"} {
		k.run(t, end, k.dir)
		again := k.copied(t)
		b := broker.Start(t, broker.Options{Dir: again.data()})
		for _, start := range []string{"first start", "a kill", "an orderly stop"} {
			switch start {
			case "a kill":
				b.Kill(t)
				b.Start(t)
			case "an orderly stop":
				b.Stop(t)
				b.Start(t)
			}
			if d := differences(answers(t, b.Addr), said); d != "" {
				t.Errorf("kafka %s, %s:\n%s", end, start, d)
			}
			if d := differences(committed(ctx, t, b.Addr), read); d != "" {
				t.Errorf("kafka %s, %s, read by franz-go:\n%s", end, start, d)
			}
		}
		b.Stop(t)
		sameIndexes(t, k.data(), again.data())
		left[end] = snapshots(t, again.data())
		again.up(t) // Kafka goes on from what zurau leaves
		if d := differences(answers(t, again.addr), said); d != "" {
			t.Errorf("kafka %s, zurau, kafka:\n%s", end, d)
		}
		again.run(t, "down", again.dir)
		if end == "kill" {
			k.up(t) // for the orderly stop
		}
	}
	for end, got := range left {
		if want := snapshots(t, k.data()); !maps.Equal(got, want) {
			t.Errorf("kafka %s: zurau left the producer snapshots %v, Kafka %v", end, got, want)
		}
	}
	t.Logf("%d answers, %d committed records", len(said), len(read))
}
