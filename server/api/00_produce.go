package api

// Produce (key 0), versions 3 to 13 (0 to 2 are advertised and refused, as Kafka 4 does for librdkafka's sake).
//
// Behaviours that matter:
//   - acks 0 has no answer; an error closes the connection instead, so that the client looks at the metadata again
//   - acks 1 and -1 are answered when what the topic's flush mode promises has happened; other values are
//     INVALID_REQUIRED_ACKS
//   - partitions are independent: each has its own error
//   - one record batch for each partition, magic 2; zstd from version 7 on
//   - version 13 names topics by id; an unknown one is UNKNOWN_TOPIC_ID
//   - a partition that this broker does not lead is NOT_LEADER_OR_FOLLOWER, from version 10 on with its leader, -1 where there
//     is none; one whose log could not be made is KAFKA_STORAGE_ERROR
//   - a duplicate of an idempotent producer is answered with the original's offsets, once those are as safe as promised
//   - batches that must be unpacked are unpacked by workers; requests that follow on the connection start after that, so
//     that a producer's order is kept
//
// The request is parsed in place and the answer is written by hand: see produce_parse.go and produce_answer.go.

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// A produceRequest is one request and what has become of each of its partitions.
type produceRequest struct {
	b    *Broker
	r    *wire.Request
	acks int16

	transactional bool
	began         time.Time
	topics        []produceTopic
	parts         []producePart // of all topics, in order; not moved once appends have begun
	left          atomic.Int32  // partitions whose end is not known, and one for the request's own start
}

// produceTopic is a topic of the request: parts[first:first+n] are its partitions.
type produceTopic struct {
	name     string
	id       [16]byte         // instead of a name, from version 13 on
	topic    *partition.Topic // nil: unknown
	first, n int
}

// producePart is a partition of the request.
type producePart struct {
	req     *produceRequest
	index   int32
	records []byte // in the request's body
	null    bool   // null records, which append nothing
	sync    bool   // the topic was sync when it was appended
	code    int16
	message string               // "": null
	faults  []record.RecordError // records that the batch was refused for
	result  engine.Appended
	away    *partition.Partition // it has no log here
}

func (b *Broker) produce(r *wire.Request) error {
	p := &produceRequest{b: b, r: r}
	if err := p.parse(readerOf(r)); err != nil {
		return err
	}
	if d := p.busy(); d != nil {
		// The disk is slower than the clients: this connection waits, and netio stops reading from it.
		return p.later(d.Engine().Ready)
	}
	if p.mustUnpack() {
		return p.later(func(f func()) { f() })
	}
	p.append()
	return nil
}

// busy returns a directory that the request appends to and that has too much to write, or nil. Others may be as slow as they like.
func (p *produceRequest) busy() *logdir.Dir {
	if p.b.Dirs.Busy() == nil {
		return nil
	}
	for i := range p.topics {
		t := &p.topics[i]
		for j := t.first; t.topic != nil && j < t.first+t.n; j++ {
			if at := t.topic.Partition(p.parts[j].index); at != nil && at.Dir != nil && at.Dir.Busy() {
				return at.Dir
			}
		}
	}
	return nil
}

// later has a worker append, when it is told. Requests that follow on the connection wait.
func (p *produceRequest) later(when func(func())) error {
	p.r.Hold()
	if err := p.parse(readerOf(p.r)); err != nil { // again, in the copy that Hold made
		return err
	}
	when(func() {
		p.b.workers.do(func() {
			p.append()
			p.r.Started()
		})
	})
	return nil
}

// mustUnpack reports whether a batch has to be decompressed, which takes too long for an event loop.
func (p *produceRequest) mustUnpack() bool {
	for i := range p.topics {
		t := &p.topics[i]
		if t.topic == nil {
			continue
		}
		target := record.Producer
		if c, ok := record.ParseCodec(t.topic.Config().CompressionType); ok {
			target = c
		}
		for _, part := range p.parts[t.first : t.first+t.n] {
			if record.NeedsDecompression(part.records, record.Rules{Compression: target}) {
				return true
			}
		}
	}
	return false
}

// append appends the batches of all partitions. It is the request's start.
func (p *produceRequest) append() {
	p.left.Store(int32(len(p.parts)) + 1)
	p.began = time.Now()
	now := p.began.UnixMilli()
	denied := p.deniedTransaction()
	for i := range p.topics {
		t := &p.topics[i]
		for j := t.first; j < t.first+t.n; j++ {
			part := &p.parts[j]
			part.result = engine.Appended{BaseOffset: -1, LogStartOffset: -1, LogAppendTimeMs: -1}
			code := kerr.TransactionalIDAuthorizationFailed.Code
			if !denied {
				code = p.appendPart(t, part, now)
			}
			if code != 0 { // else the log ends it, and may have done so
				part.code = code
				p.done()
			}
		}
	}
	p.done()
}

// appendPart hands a partition's batch to its log, or returns why not.
func (p *produceRequest) appendPart(t *produceTopic, part *producePart, now int64) int16 {
	if t.topic == nil {
		return unknownTopic(p.r.Version >= 13)
	}
	at := t.topic.Partition(part.index)
	switch {
	case at == nil:
		return kerr.UnknownTopicOrPartition.Code
	case p.acks < -1 || p.acks > 1:
		return kerr.InvalidRequiredAcks.Code
	case t.topic.Internal:
		return kerr.InvalidTopicException.Code
	case at.Log == nil:
		part.away = at
		return noLog(at)
	}
	return part.appendTo(at, now)
}

// noLog is the code for a partition without a log: another broker leads it, or none, so that the client looks for its leader
// again; or this one does, and its log directory has failed, or the log could not be made.
func noLog(p *partition.Partition) int16 {
	if p.Away() {
		return kerr.NotLeaderForPartition.Code
	}
	return kerr.KafkaStorageError.Code
}

// unknownTopic is the code for a topic that is not there.
func unknownTopic(byID bool) int16 {
	if byID {
		return kerr.UnknownTopicID.Code
	}
	return kerr.UnknownTopicOrPartition.Code
}

func (part *producePart) appendTo(at *partition.Partition, now int64) int16 {
	if part.null {
		end := at.Log.LogEndOffset()
		part.finished(engine.Appended{BaseOffset: end, LogStartOffset: at.Log.LogStartOffset(), LogAppendTimeMs: -1})
		return 0
	}
	cfg := at.Log.Config()
	rules := cfg.Rules
	rules.Now, part.sync = now, cfg.Sync()
	prep := prepareds.Get().(*record.Prepared)
	defer prepareds.Put(prep)
	prep.Reset()
	err := part.checkRequest()
	if err == nil {
		if err = prep.Prepare(part.records, rules); err != nil {
			part.result.LogStartOffset = at.Log.LogStartOffset()
		}
	}
	if err != nil {
		return part.refused(err)
	}
	at.Log.Append(prep, at.LeaderEpoch(), part.finished)
	return 0
}

// prepareds are used for the time of one append: the engine copies.
var prepareds = sync.Pool{New: func() any { return new(record.Prepared) }}

// finished takes the end of the partition's append.
func (part *producePart) finished(a engine.Appended) {
	part.result = a
	if a.Err != nil {
		part.code = appendCode(a.Err)
	} else if stats := part.req.b.Appends; stats != nil {
		h := &stats.Async
		if part.sync {
			h = &stats.Sync
		}
		h.Observe(time.Since(part.req.began))
	}
	part.req.done()
}

// done counts a partition down, and answers after the last.
func (p *produceRequest) done() {
	if p.left.Add(-1) > 0 {
		return
	}
	if p.acks != 0 {
		p.answer()
		return
	}
	for i := range p.parts {
		if p.parts[i].code != 0 {
			p.r.Abort(kerr.ErrorForCode(p.parts[i].code))
			return
		}
	}
	p.r.Skip()
}
