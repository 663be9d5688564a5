package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/engine/record"
)

// Versions that every broker since Apache Kafka 2.4 serves, and the newest ones still do.
const (
	produceVersion = 9
	fetchVersion   = 12
	offsetsVersion = 5
	// longPoll is how long a fetch at the end of a log waits, in ms: no longer than a run should take to end.
	longPoll = 100
)

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("zurau-bench"))

// encode is a request with its length; the correlation id is for nobody, since answers come in order.
func encode(r kmsg.Request) []byte { return formatter.AppendRequest(nil, r, 1) }

// parse reads an answer to r, behind its length.
func parse(r kmsg.Request, b []byte) (kmsg.Response, error) {
	resp := r.ResponseKind()
	resp.SetVersion(r.GetVersion())
	head := 4
	if r.IsFlexible() {
		head++ // tagged fields, of which a header has none
	}
	if len(b) < head {
		return nil, errShort
	}
	return resp, resp.ReadFrom(b[head:])
}

// request sends r on a connection and parses its answer.
func request(c *conn, r kmsg.Request) (kmsg.Response, error) {
	b, err := c.do(encode(r), newCall())
	if err != nil {
		return nil, err
	}
	return parse(r, b)
}

// A wireWriter has a request for each partition, encoded once; only the stamp of a batch changes in it.
type wireWriter struct {
	parts []*produce
	call  *call
}

type produce struct {
	conn    *conn
	request *kmsg.ProduceRequest
	frame   []byte
	batch   *batch
	at      int // of the batch in the frame
}

func (t *brokerTarget) writer(name string, j *job.Job, stream int, b *batch) (writer, error) {
	w := &wireWriter{call: newCall()}
	conns := j.Own.Connections
	if conns == 0 {
		conns = min(j.Streams()/j.Clones, mostConnections)
	}
	for part := range j.Logs() {
		if !visits(j, stream, part) {
			w.parts = append(w.parts, nil)
			continue
		}
		c, err := t.conn(j.Name, stream%(conns*j.Clones), t.topic(name), part)
		if err != nil {
			return nil, err
		}
		w.parts = append(w.parts, newProduce(c, t.topic(name), part, j.Durable(), b))
	}
	return w, nil
}

// visits reports whether a stream, which goes on by the number of streams from one request to the next, comes to a partition.
func visits(j *job.Job, stream, part int) bool {
	a, b := j.Streams(), j.Logs()
	for b > 0 {
		a, b = b, a%b
	}
	return (part-stream)%a == 0
}

func newProduce(c *conn, topic string, part int, durable bool, b *batch) *produce {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = produceVersion, 1, int32(reachTime.Milliseconds())
	if durable {
		r.Acks = -1
	}
	rt, rp := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Records = topic, int32(part), b.bytes
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	p := &produce{conn: c, request: r, frame: encode(r), batch: b}
	p.at = len(p.frame) - len(b.bytes) - 3 // tagged fields of partition, topic and request, each none, are behind it
	return p
}

func (w *wireWriter) write(part int) error {
	p := w.parts[part]
	// The head of the batch has the stamp's checksum, and the stamp is right behind it.
	copy(p.frame[p.at:], p.batch.bytes[:p.batch.value+stampLen])
	return w.send(p)
}

// send sends a request as it stands.
func (w *wireWriter) send(p *produce) error {
	b, err := p.conn.do(p.frame, w.call)
	if err != nil {
		return err
	}
	r, err := parse(p.request, b)
	if err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	a := r.(*kmsg.ProduceResponse)
	if len(a.Topics) != 1 || len(a.Topics[0].Partitions) != 1 {
		return errors.New("produce: an answer about something else")
	}
	if err := kerr.ErrorForCode(a.Topics[0].Partitions[0].ErrorCode); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return nil
}

func (w *wireWriter) Close() error { return nil }

// A wireReader fetches one partition.
type wireReader struct {
	conn  *conn
	topic string
	part  int
	bytes int32
	wait  int32
	at    int64
	start int64
	call  *call
}

func (t *brokerTarget) reader(name string, part int, bytes int64, _ *batch) (reader, error) {
	c, err := t.own(name, part)
	if err != nil {
		return nil, err
	}
	r := &wireReader{conn: c, topic: t.topic(name), part: part, bytes: int32(bytes), call: newCall()}
	r.start, err = r.offset(-2)
	r.at = r.start
	return r, err
}

// own is a connection for one reader alone.
func (t *brokerTarget) own(name string, part int) (*conn, error) {
	t.mu.Lock()
	n := len(t.conns)
	t.mu.Unlock()
	return t.conn("reader", n, t.topic(name), part)
}

// offset asks for the log's start (-2) or end (-1).
func (r *wireReader) offset(at int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = offsetsVersion, -1
	rt, rp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = r.topic, int32(r.part), at, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := request(r.conn, req)
	if err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	a := resp.(*kmsg.ListOffsetsResponse)
	if len(a.Topics) != 1 || len(a.Topics[0].Partitions) != 1 {
		return 0, errors.New("list offsets: an answer about something else")
	}
	p := a.Topics[0].Partitions[0]
	return p.Offset, kerr.ErrorForCode(p.ErrorCode)
}

// fetch asks for what lies at the reader's offset and returns the record batches, which are valid until the next one.
func (r *wireReader) fetch() (*kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = fetchVersion, -1, r.wait, 1, r.bytes, -1
	rt, rp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	rt.Topic, rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = r.topic, int32(r.part), r.at, r.bytes, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	b, err := r.conn.do(encode(req), r.call)
	if err != nil {
		return nil, err
	}
	resp, err := parse(req, b)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	a := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	if len(a.Topics) != 1 || len(a.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetch: an answer about something else")
	}
	return &a.Topics[0].Partitions[0], nil
}

func (r *wireReader) read() (int64, error) {
	p, err := r.fetch()
	if err == nil && p.ErrorCode == kerr.OffsetOutOfRange.Code && p.LogStartOffset > r.at { // retention was quicker
		r.at = p.LogStartOffset
		p, err = r.fetch()
	}
	if err == nil {
		err = kerr.ErrorForCode(p.ErrorCode)
	}
	if err != nil {
		return 0, fmt.Errorf("fetch at %d: %w", r.at, err)
	}
	n := wholeBatches(p.RecordBatches, &r.at)
	if n == 0 && r.at >= p.HighWatermark {
		return 0, io.EOF
	}
	if n == 0 {
		return 0, fmt.Errorf("fetch at %d of %d: no whole batch in %d bytes", r.at, p.HighWatermark, len(p.RecordBatches))
	}
	return n, nil
}

// wholeBatches moves an offset behind the last whole batch and returns the bytes of all of them.
func wholeBatches(b []byte, at *int64) (n int64) {
	for len(b) >= record.HeaderSize {
		h := record.Batch(b)
		size := h.Size()
		if size < record.HeaderSize || size > len(b) {
			break // the last one may be cut off
		}
		*at = h.LastOffset() + 1
		n, b = n+int64(size), b[size:]
	}
	return n
}

func (r *wireReader) rewind() { r.at = r.start }

func (r *wireReader) Close() error { return nil }

// A wireTail is a long-polling reader.
type wireTail struct {
	*wireReader
	batch *batch
}

func (t *brokerTarget) tail(name string, part int, b *batch) (tail, error) {
	c, err := t.own(name, part)
	if err != nil {
		return nil, err
	}
	r := &wireReader{conn: c, topic: t.topic(name), part: part, bytes: 1 << 20, wait: longPoll, call: newCall()}
	r.at, err = r.offset(-1)
	return &wireTail{r, b}, err
}

func (t *wireTail) follow(stop <-chan struct{}, got func(time.Time, int64)) error {
	for {
		p, err := t.fetch()
		if err == nil {
			err = kerr.ErrorForCode(p.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("fetch at %d: %w", t.at, err)
		}
		if n := t.batch.stamps(p.RecordBatches, got); n > 0 {
			t.at += int64(n) * t.batch.records
			return nil
		}
		select {
		case <-stop:
			return load.ErrDone
		default:
		}
	}
}

// fill produces until each partition has its bytes, a few requests in flight.
func (t *brokerTarget) fill(ctx context.Context, name string, b *batch, bytes int64, cold bool) error {
	if cold && t.process == nil {
		return fmt.Errorf("%w: reads that are not in the page cache, of a broker whose files are not ours", ErrNotHere)
	}
	for part := range t.leaders[t.topic(name)] {
		c, err := t.conn("fill", 0, t.topic(name), part)
		if err != nil {
			return err
		}
		if err := fillPartition(ctx, newProduce(c, t.topic(name), part, false, b), bytes); err != nil {
			return err
		}
	}
	settle()
	if cold {
		return chill(t.process.data, ".log")
	}
	return nil
}

func fillPartition(ctx context.Context, p *produce, bytes int64) error {
	const flight = 8
	left := load.NewBudget(bytes)
	ended := make(chan error, flight)
	for range flight {
		go func() {
			w := &wireWriter{parts: []*produce{p}, call: newCall()}
			for ctx.Err() == nil {
				if left.Take(int64(len(p.batch.bytes))) != nil {
					ended <- nil
					return
				}
				if err := w.send(p); err != nil {
					ended <- err
					return
				}
			}
			ended <- context.Cause(ctx)
		}()
	}
	var failed error
	for range flight {
		failed = errors.Join(failed, <-ended)
	}
	return failed
}
