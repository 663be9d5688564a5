package api

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/partition"
)

// The two decoders that are written by hand are held against kmsg's, which are generated: what they take, kmsg takes, and
// both see the same. (They refuse more: null and negative lengths where there may be none.)

func parsingBroker() *Broker {
	return &Broker{Partitions: partition.New(0, nil, nil, slog.New(slog.DiscardHandler))}
}

func bodyReader(body []byte, version, flexibleFrom int16) *reader {
	return &reader{kbin.Reader{Src: body}, version, version >= flexibleFrom}
}

func FuzzProduceBody(f *testing.F) {
	b := parsingBroker()
	id := "tx"
	for v := int16(3); v <= 13; v++ {
		req := kmsg.ProduceRequest{Version: v, Acks: -1, TimeoutMillis: 5, TransactionID: &id, Topics: []kmsg.ProduceRequestTopic{
			{Topic: "a", TopicID: [16]byte{1}, Partitions: []kmsg.ProduceRequestTopicPartition{
				{Partition: 3, Records: []byte("x")}, {Partition: 1}, {Partition: 3, Records: []byte("again")}}},
			{Topic: "b", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: []byte{}}}},
			{},
		}}
		f.Add(req.AppendTo(nil), v)
	}
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		version = 3 + (version&0x7fff)%11
		p := produceRequest{b: b}
		if p.parse(bodyReader(body, version, 9)) != nil {
			return
		}
		want := kmsg.ProduceRequest{Version: version}
		if err := want.ReadFrom(body); err != nil {
			t.Fatalf("version %d: kmsg does not take %x: %v", version, body, err)
		}
		if p.acks != want.Acks || p.transactional != (want.TransactionID != nil) || len(p.topics) != len(want.Topics) {
			t.Fatalf("acks %d, %d topics, want %+v", p.acks, len(p.topics), want)
		}
		for i, topic := range p.topics {
			w := want.Topics[i]
			if topic.name != w.Topic || topic.id != w.TopicID {
				t.Fatalf("topic %q %x, want %q %x", topic.name, topic.id, w.Topic, w.TopicID)
			}
			last := map[int32][]byte{}
			var order []int32
			for _, part := range w.Partitions {
				if _, ok := last[part.Partition]; !ok {
					order = append(order, part.Partition)
				}
				last[part.Partition] = part.Records
			}
			for _, part := range p.parts[topic.first : topic.first+topic.n] {
				if records := last[part.index]; len(order) == 0 || part.index != order[0] || string(part.records) != string(records) || part.null != (records == nil) {
					t.Fatalf("partition %d has %x (null %v), want %v with %x", part.index, part.records, part.null, order, records)
				}
				order = order[1:]
			}
			if len(order) > 0 {
				t.Fatalf("partitions %v are missing", order)
			}
		}
	})
}

func FuzzFetchBody(f *testing.F) {
	b := parsingBroker()
	for v := int16(4); v <= 18; v++ {
		req := kmsg.FetchRequest{Version: v, ReplicaID: -1, MaxWaitMillis: 500, MinBytes: 1, MaxBytes: 1 << 20, IsolationLevel: 1, SessionID: 9, SessionEpoch: 3, Rack: "r",
			Topics: []kmsg.FetchRequestTopic{{Topic: "a", TopicID: [16]byte{1}, Partitions: []kmsg.FetchRequestTopicPartition{
				{Partition: 7, CurrentLeaderEpoch: 1, FetchOffset: 5, LastFetchedEpoch: 2, LogStartOffset: 3, PartitionMaxBytes: 100}, {Partition: 2}, {Partition: 7}}}, {}},
			ForgottenTopics: []kmsg.FetchRequestForgottenTopic{{Topic: "c", TopicID: [16]byte{2}, Partitions: []int32{1, 2}}}}
		req.ReplicaState.ID = 5
		f.Add(req.AppendTo(nil), v)
	}
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		version = 4 + (version&0x7fff)%15
		got, err := b.parseFetch(bodyReader(body, version, 12))
		if err != nil {
			return
		}
		want := kmsg.FetchRequest{Version: version}
		if err := want.ReadFrom(body); err != nil {
			if version < 12 {
				t.Fatalf("version %d: kmsg does not take %x: %v", version, body, err)
			}
			return // it reads what is in tags that mean nothing here
		}
		l := got.limits
		if l.maxWait != time.Duration(want.MaxWaitMillis)*time.Millisecond || l.minBytes != want.MinBytes || l.maxBytes != want.MaxBytes ||
			l.isolation != want.IsolationLevel || version >= 7 && (got.id != want.SessionID || got.epoch != want.SessionEpoch) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if version <= 14 && l.replica != want.ReplicaID || version >= 15 && l.replica != want.ReplicaState.ID {
			t.Fatalf("replica %d, want %d or %d", l.replica, want.ReplicaID, want.ReplicaState.ID)
		}
		if all := wantedOf(&want); !slices.Equal(got.want, all) {
			t.Fatalf("wants %+v, want %+v", got.want, all)
		}
		var forget []wanted
		for _, topic := range want.ForgottenTopics {
			for _, i := range topic.Partitions {
				forget = append(forget, wanted{topic: topic.Topic, id: topic.TopicID, index: i})
			}
		}
		if !slices.Equal(got.forget, forget) {
			t.Fatalf("forgets %+v, want %+v", got.forget, forget)
		}
	})
}

// wantedOf lists what a request asks for: within a topic once, as it was named last.
func wantedOf(req *kmsg.FetchRequest) (all []wanted) {
	for _, topic := range req.Topics {
		first := len(all)
		for _, p := range topic.Partitions {
			w := wanted{topic: topic.Topic, id: topic.TopicID, index: p.Partition, epoch: p.CurrentLeaderEpoch, lastEpoch: p.LastFetchedEpoch,
				offset: p.FetchOffset, maxBytes: p.PartitionMaxBytes}
			if i := slices.IndexFunc(all[first:], func(x wanted) bool { return x.index == w.index }); i >= 0 {
				all[first+i] = w
			} else {
				all = append(all, w)
			}
		}
	}
	return all
}

func TestPartitionsInAnyOrderTakeTimeByTheirNumber(t *testing.T) {
	b := parsingBroker()
	const n = 100_000 // by the square, it would be a minute
	produce := kmsg.ProduceRequest{Version: 9, Topics: []kmsg.ProduceRequestTopic{{Topic: "t"}}}
	fetch := kmsg.FetchRequest{Version: 12, Topics: []kmsg.FetchRequestTopic{{Topic: "t"}}}
	for i := range int32(n) {
		produce.Topics[0].Partitions = append(produce.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: n - i})
		fetch.Topics[0].Partitions = append(fetch.Topics[0].Partitions, kmsg.FetchRequestTopicPartition{Partition: n - i})
	}
	p := produceRequest{b: b}
	if err := p.parse(bodyReader(produce.AppendTo(nil), 9, 9)); err != nil || len(p.parts) != n {
		t.Errorf("%d partitions, %v", len(p.parts), err)
	}
	f, err := b.parseFetch(bodyReader(fetch.AppendTo(nil), 12, 12))
	if err != nil || len(f.want) != n {
		t.Errorf("%d partitions, %v", len(f.want), err)
	}
}

func TestMoreThanARequestCanMeanIsRefused(t *testing.T) {
	b := parsingBroker()
	produce := kmsg.ProduceRequest{Version: 9, Topics: []kmsg.ProduceRequestTopic{{Partitions: make([]kmsg.ProduceRequestTopicPartition, maxProduceParts+1)}}}
	fetch := kmsg.FetchRequest{Version: 12, Topics: []kmsg.FetchRequestTopic{{Partitions: make([]kmsg.FetchRequestTopicPartition, maxFetchPartitions+1)}}}
	for i := range produce.Topics[0].Partitions {
		produce.Topics[0].Partitions[i].Partition = int32(i)
	}
	for i := range fetch.Topics[0].Partitions {
		fetch.Topics[0].Partitions[i].Partition = int32(i)
	}
	topics := kmsg.FetchRequest{Version: 12, Topics: make([]kmsg.FetchRequestTopic, maxFetchPartitions+1)}
	names := kmsg.ProduceRequest{Version: 9, Topics: make([]kmsg.ProduceRequestTopic, maxProduceParts+1)}
	for _, body := range [][]byte{fetch.AppendTo(nil), topics.AppendTo(nil)} {
		if _, err := b.parseFetch(bodyReader(body, 12, 12)); err == nil {
			t.Error("a fetch of too much was taken")
		}
	}
	for _, body := range [][]byte{produce.AppendTo(nil), names.AppendTo(nil)} {
		p := produceRequest{b: b}
		if p.parse(bodyReader(body, 9, 9)) == nil {
			t.Error("a produce of too much was taken")
		}
	}
}
