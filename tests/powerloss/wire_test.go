package powerloss

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/raw"
)

// A client is a connection to a broker, for one goroutine.
type client struct{ net.Conn }

func dial(addr string) (client, error) {
	c, err := net.Dial("tcp", addr)
	return client{c}, err
}

func (c client) send(r kmsg.Request) error { return raw.Write(c, raw.Request(r)) }

// receive returns the next answer, which is that to r.
func receive[T kmsg.Response](c client, r kmsg.Request) (resp T, err error) {
	b, err := raw.Frame(c)
	if err != nil {
		return resp, fmt.Errorf("%s: %w", kmsg.NameForKey(r.Key()), err)
	}
	b = b[4:]
	if r.IsFlexible() {
		b = b[1:]
	}
	resp = r.ResponseKind().(T)
	resp.SetVersion(r.GetVersion())
	return resp, resp.ReadFrom(b)
}

func ask[T kmsg.Response](c client, r kmsg.Request) (resp T, err error) {
	if err := c.send(r); err != nil {
		return resp, err
	}
	return receive[T](c, r)
}

func produceRequest(topic string, partition int32, batch record.Batch) *kmsg.ProduceRequest {
	return &kmsg.ProduceRequest{Version: 9, Acks: -1, TimeoutMillis: 30_000, Topics: []kmsg.ProduceRequestTopic{{
		Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}}}}}
}

// produced returns the base offset that an answer tells.
func produced(r *kmsg.ProduceResponse, err error) (int64, error) {
	if err != nil {
		return -1, err
	}
	p := r.Topics[0].Partitions[0]
	return p.BaseOffset, kerr.ErrorForCode(p.ErrorCode)
}

func (c client) produce(topic string, partition int32, batch record.Batch) (base int64, err error) {
	return produced(ask[*kmsg.ProduceResponse](c, produceRequest(topic, partition, batch)))
}

func fetchRequest(topic string, partition int32, offset int64, most int32) *kmsg.FetchRequest {
	return &kmsg.FetchRequest{Version: 12, ReplicaID: -1, MinBytes: 1, MaxBytes: 50 << 20, SessionEpoch: -1,
		Topics: []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{{
			Partition: partition, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, FetchOffset: offset, LogStartOffset: -1, PartitionMaxBytes: most}}}}}
}

func fetched(r *kmsg.FetchResponse, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	p := r.Topics[0].Partitions[0]
	return p.RecordBatches, kerr.ErrorForCode(p.ErrorCode)
}

func (c client) fetch(topic string, partition int32, offset int64, most int32) ([]byte, error) {
	return fetched(ask[*kmsg.FetchResponse](c, fetchRequest(topic, partition, offset, most)))
}

// offset looks a time up, or one of the numbers that mean an end.
func (c client) offset(topic string, partition int32, at int64) (int64, error) {
	r, err := ask[*kmsg.ListOffsetsResponse](c, &kmsg.ListOffsetsRequest{Version: 6, ReplicaID: -1, Topics: []kmsg.ListOffsetsRequestTopic{{
		Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Partition: partition, CurrentLeaderEpoch: -1, Timestamp: at}}}}})
	if err != nil {
		return -1, err
	}
	p := r.Topics[0].Partitions[0]
	return p.Offset, kerr.ErrorForCode(p.ErrorCode)
}

const (
	earliest = -2
	latest   = -1
)

// create makes a topic, with configs as key and value.
func (c client) create(topic string, partitions int32, configs ...string) error {
	r := &kmsg.CreateTopicsRequest{Version: 5, TimeoutMillis: 30_000, Topics: []kmsg.CreateTopicsRequestTopic{{
		Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}}}
	for ; len(configs) > 1; configs = configs[2:] {
		r.Topics[0].Configs = append(r.Topics[0].Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[0], Value: &configs[1]})
	}
	resp, err := ask[*kmsg.CreateTopicsResponse](c, r)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (c client) remove(topic string) error {
	resp, err := ask[*kmsg.DeleteTopicsResponse](c, &kmsg.DeleteTopicsRequest{Version: 3, TimeoutMillis: 30_000, TopicNames: []string{topic}})
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// alter sets a config of a topic.
func (c client) alter(topic, key, value string) error {
	resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](c, &kmsg.IncrementalAlterConfigsRequest{Version: 1,
		Resources: []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}}}}})
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Resources[0].ErrorCode)
}

// dirs returns the error code of each log directory, and where partitions are.
func (c client) dirs() (codes map[string]int16, where map[string]string, err error) {
	r, err := ask[*kmsg.DescribeLogDirsResponse](c, &kmsg.DescribeLogDirsRequest{Version: 3})
	if err != nil {
		return nil, nil, err
	}
	codes, where = map[string]int16{}, map[string]string{}
	for _, d := range r.Dirs {
		codes[d.Dir] = d.ErrorCode
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				where[fmt.Sprintf("%s-%d", t.Topic, p.Partition)] = d.Dir
			}
		}
	}
	return codes, where, nil
}

// eachBatch calls see with the batches of a partition from an offset to its end.
func (c client) eachBatch(topic string, partition int32, from, end int64, see func(record.Batch) error) error {
	for from < end {
		b, err := c.fetch(topic, partition, from, 4<<20)
		if err != nil {
			return fmt.Errorf("fetch offset %d of %s: %w", from, topic, err)
		}
		next := from
		for len(b) > 0 {
			var batch record.Batch
			if batch, b, err = record.Next(b); err != nil {
				break // cut off by the limit, or it is met again
			}
			if err := errors.Join(batch.Check(), see(batch)); err != nil {
				return err
			}
			next = batch.LastOffset() + 1
		}
		if next == from {
			return fmt.Errorf("offset %d of %s: no whole batch: %w", from, topic, err)
		}
		from = next
	}
	return nil
}

// inEach makes a topic of two partitions, which of two directories is in a and in b.
func (c client) inEach(topic, a, b string, configs ...string) (inA, inB int32, err error) {
	if err := c.create(topic, 2, configs...); err != nil {
		return 0, 0, err
	}
	_, where, err := c.dirs()
	if err != nil {
		return 0, 0, err
	}
	if where[topic+"-0"] == where[topic+"-1"] {
		return 0, 0, fmt.Errorf("both partitions of %s are in %s", topic, where[topic+"-0"])
	}
	if where[topic+"-0"] == b {
		return 1, 0, nil
	}
	return 0, 1, nil
}

// deadline is beyond what anything takes that is to come to an end.
const deadline = time.Minute
