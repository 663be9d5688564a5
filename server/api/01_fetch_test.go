package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// The writer that acknowledges the append answers the fetch, and sends and releases the answer while it does.
func TestAFetchThatWaitsIsAnsweredByTheAppendItWaitsFor(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	reader := r.dial()
	for n := range int64(20) {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxWaitMillis, req.MinBytes = 12, 15_000, 1
		rt := kmsg.NewFetchRequestTopic()
		rt.Topic = "t"
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.FetchOffset, rp.PartitionMaxBytes = n, 1<<20
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)

		answer := make(chan *kmsg.FetchResponse, 1)
		go func() { answer <- exchange[*kmsg.FetchResponse](r, reader, req) }()
		same(t, "produce", r.put("t", batch(today)), 0)
		got := (<-answer).Topics[0].Partitions[0]
		same(t, "fetch", got.ErrorCode, 0)
		b, _, err := record.Next(got.RecordBatches)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "base offset", b.BaseOffset(), n)
	}
}
