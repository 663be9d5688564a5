package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type produceFlags struct {
	brokerFlags
	keySeparator, nullValue string
	headers                 []string
	compression, acks       string
	partition               int32
	recordBytes, batchBytes int
	linger, delivery        time.Duration
}

func produceCommand() *cobra.Command {
	var f produceFlags
	c := &cobra.Command{
		Use:   "produce TOPIC [FILE]",
		Short: "Append the lines of a file or of standard input to a topic as records",
		Long: `Append the lines of FILE or of standard input to a topic, each as one record without its newline.

With --record-bytes the input is cut into records of that size instead, whatever is in it; "zurau consume --raw"
puts it together again byte for byte, if the topic has one partition or --partition names one.

Records that the brokers have confirmed are in the topic once and in order within their partition: writes are
idempotent, unless --acks is 0 or 1.`,
		Example: `  zurau produce logs access.log
  seq 1000000 | zurau produce numbers
  zurau produce users --key-separator '\t' users.tsv
  zurau produce backup --record-bytes 1000000 --partition 0 backup.tar`,
		Args: argsBetween(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.keySeparator, "key-separator", "", "`STRING` between the key and the value of a line (\\t, \\xHH ... are understood)")
	fl.StringArrayVar(&f.headers, "header", nil, "a header of every record, `KEY=VALUE`; may be repeated")
	fl.StringVar(&f.nullValue, "null-value", "", "`STRING` that stands for the value null (a tombstone)")
	fl.StringVar(&f.compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	fl.StringVar(&f.acks, "acks", "all", "who must have a record before it counts: all (in-sync replicas), 1 (the leader), 0 (nobody)")
	fl.Int32Var(&f.partition, "partition", -1, "partition to append to (default by the key, else any)")
	fl.Lookup("partition").DefValue = "0" // not "-1" beside what was said
	fl.IntVar(&f.recordBytes, "record-bytes", 0, "cut the input into records of `N` bytes instead of lines")
	fl.IntVar(&f.batchBytes, "batch-bytes", 0, "largest batch in bytes (default the topic's max.message.bytes)")
	fl.DurationVar(&f.linger, "linger", 5*time.Millisecond, "how long a batch waits for more records")
	fl.DurationVar(&f.delivery, "delivery-timeout", 2*time.Minute, "how long a record may take before it counts as lost")
	return c
}

// cutting returns how the input is made records.
func (f *produceFlags) cutting(c *cobra.Command) (cut cutting, err error) {
	if cut.separator, err = f.escaped("key-separator", f.keySeparator); err != nil {
		return cut, err
	}
	cut.marker, cut.marked = []byte(f.nullValue), c.Flags().Changed("null-value")
	cut.size = f.recordBytes
	headers, err := pairs("header", f.headers)
	for _, h := range headers {
		cut.headers = append(cut.headers, kgo.RecordHeader{Key: h.key, Value: []byte(h.value)})
	}
	switch {
	case err != nil:
		return cut, err
	case c.Flags().Changed("key-separator") && len(cut.separator) == 0:
		return cut, usagef("--key-separator is empty")
	case c.Flags().Changed("record-bytes") && f.recordBytes < 1:
		return cut, usagef("--record-bytes %d: want 1 or more", f.recordBytes)
	case cut.size > 0 && (len(cut.separator) > 0 || cut.marked):
		return cut, usagef("--record-bytes takes the input as it is: it does not go with --key-separator or --null-value")
	case c.Flags().Changed("batch-bytes") && f.batchBytes < 1:
		return cut, usagef("--batch-bytes %d: want 1 or more", f.batchBytes)
	}
	return cut, nil
}

func (f *produceFlags) escaped(flag, value string) ([]byte, error) {
	s, err := unescape(value)
	if err != nil {
		return nil, usagef("--%s %q: %w", flag, value, err)
	}
	return []byte(s), nil
}

var compressions = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// bufferBytes bounds what waits for an answer: enough for all batches in flight to a few brokers.
const (
	bufferBytes   = 64 << 20
	bufferRecords = 200_000
)

// options returns those of the client.
func (f *produceFlags) options(c *cobra.Command) ([]kgo.Opt, error) {
	codec, ok := compressions[f.compression]
	if !ok {
		return nil, usagef("--compression %q: want none, gzip, snappy, lz4 or zstd", f.compression)
	}
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerLinger(f.linger),
		kgo.RecordDeliveryTimeout(f.delivery),
		kgo.ProduceRequestTimeout(f.timeout),
		kgo.MaxBufferedRecords(bufferRecords),
		kgo.MaxBufferedBytes(bufferBytes),
		kgo.AllowAutoTopicCreation(),
	}
	switch f.acks {
	case "all", "-1":
		// Without the second one a record that was sent once, and whose answer the broker took along, never fails. The first
		// failure ends the run, so nothing is sent behind a gap for long.
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.AllowIdempotentProduceCancellation())
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, usagef("--acks %q: want all, 1 or 0", f.acks)
	}
	switch {
	case f.linger < 0 || f.delivery <= 0:
		return nil, usagef("--linger %v and --delivery-timeout %v: want 0 or more, and more than 0", f.linger, f.delivery)
	case c.Flags().Changed("partition") && f.partition < 0:
		return nil, usagef("--partition %d: want 0 or more", f.partition)
	case f.partition >= 0:
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return opts, nil
}

// input opens FILE, or standard input.
func input(args []string) (r io.ReadCloser, total int64, err error) {
	file := os.Stdin
	if len(args) > 1 && args[1] != "-" {
		if file, err = os.Open(args[1]); err != nil {
			return nil, 0, err
		}
	}
	total = -1
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		total = info.Size()
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a directory", file.Name())
	}
	return file, total, nil
}

func (f *produceFlags) run(c *cobra.Command, args []string) error {
	cut, err := f.cutting(c)
	if err != nil {
		return err
	}
	opts, err := f.options(c)
	if err != nil {
		return err
	}
	in, total, err := input(args)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, stop := interruptible(c.Context())
	defer stop()
	topic, limit := args[0], 0 // limit is set before the first record asks for it
	opts = append(opts, kgo.ProducerBatchMaxBytesFn(func(string) int32 { return int32(max(limit, leastBatch)) }),
		kgo.BrokerMaxWriteBytes(1<<30))
	cl, err := f.dial(ctx, opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	if limit, err = f.batchLimit(ctx, cl, topic); err != nil {
		return err
	}
	if err := cut.fit(topic, limit); err != nil {
		return err
	}
	s := &sending{cl: cl, topic: topic, partition: max(f.partition, 0), progress: newProgress("produce "+topic, "bytes", total)}
	err = s.all(ctx, in, cut)
	if f.json {
		out := newOutput(c.OutOrStdout())
		err = out.done(errors.Join(err, out.object(s.summary())))
	}
	return err
}

const (
	// defaultBatch is Kafka's default of max.message.bytes.
	defaultBatch = 1<<20 + 12
	// leastBatch and mostBatch are what the client takes.
	leastBatch, mostBatch = 512, 1<<30 - 1<<20
)

// batchLimit returns how large batches may be: what the topic says, or less by --batch-bytes. A topic that does not
// exist yet, or does not tell, has Kafka's default.
func (f *produceFlags) batchLimit(ctx context.Context, cl *kgo.Client, topic string) (int, error) {
	ctx, cancel := f.inTime(ctx)
	defer cancel()
	limit := defaultBatch
	partitions, err := partitionsOf(ctx, cl, topic)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
	case err != nil:
		return 0, err
	case f.partition >= 0 && !slices.Contains(partitions, f.partition):
		return 0, fmt.Errorf("topic %s has no partition %d, but %s", topic, f.partition, plural(len(partitions), "partition"))
	default:
		configs, err := topicConfigs(ctx, cl, []string{"max.message.bytes"}, topic)
		if err == nil && len(configs[topic]) == 1 && configs[topic][0].Value != nil {
			if n, err := strconv.Atoi(*configs[topic][0].Value); err == nil {
				limit = n
			}
		}
	}
	if f.batchBytes > 0 {
		limit = min(limit, f.batchBytes)
	}
	return min(max(limit, leastBatch), mostBatch), nil
}
