package api_test

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// sizedBatch is a batch of about n bytes.
func sizedBatch(n int) *record.Builder {
	return record.NewBuilder(record.None).Add(today, []byte("k"), bytes.Repeat([]byte("v"), n-80))
}

// A10 (a): the first batch of an answer comes whole, whatever the limits say; a further one only within them.
func TestABatchLargerThanTheLimitsIsReturnedAndThenTheNext(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 2)
	r.wantProduced("t", sizedBatch(900<<10).Bytes(), 0)
	for i := range int64(5) {
		r.wantProduced("t", sizedBatch(200).Bytes(), 1+i)
	}
	ask[*kmsg.ProduceResponse](r, produceOne("t", 1, sizedBatch(300).Bytes()))
	for offset := range int64(6) {
		req := r.fetchOf(12, "t", offset)
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1, 1
		p := ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0]
		rows := rowsOf(t, p.RecordBatches)
		same(t, fmt.Sprint("records from offset ", offset), words(len(rows), rows[0].offset), words(1, offset))
	}
	// The small one first: the large one is left out, and so is what would be cut off.
	req := r.fetchOf(12, "t", 0)
	req.MaxBytes = 1000
	req.Topics[0].Partitions = []kmsg.FetchRequestTopicPartition{fetchPartition(1, 0), fetchPartition(0, 0)}
	got := ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions
	same(t, "records", words(len(rowsOf(t, got[0].RecordBatches)), len(got[1].RecordBatches)), "1 0")
	// And with room for both.
	req.MaxBytes = 10 << 20
	got = ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions
	same(t, "records", words(len(rowsOf(t, got[0].RecordBatches)), len(rowsOf(t, got[1].RecordBatches))), "1 6")
}

func TestLimitsOfZeroAndLess(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.wantProduced("t", batch(today).Bytes(), 0)
	req := r.fetchOf(12, "t", 0)
	for _, n := range []int32{0, -1, -1 << 31} {
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1<<20, n
		same(t, fmt.Sprint("partition max bytes ", n), len(rowsOf(t, ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0].RecordBatches)), 1)
	}
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = 0, -5, -1
	same(t, "max bytes 0", len(rowsOf(t, ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0].RecordBatches)), 1)
}

// A10 (b) and row 35: however much is asked for, an answer has what the broker allows, and one batch more at most; all
// partitions are served in turn.
func TestAnAnswerIsCappedOverManyPartitions(t *testing.T) {
	const partitions, limit, batchSize = 60, 200 << 10, 20 << 10
	r := newGroupRig(t, fmt.Sprint("fetch.max.bytes=", limit))
	r.createN("t", partitions)
	first := kmsg.NewPtrFetchRequest()
	first.Version, first.MaxBytes, first.SessionEpoch = 12, 1<<31-1, 0
	first.Topics = []kmsg.FetchRequestTopic{{Topic: "t"}}
	for p := range int32(partitions) {
		ask[*kmsg.ProduceResponse](r, produceOne("t", p, sizedBatch(batchSize).Bytes()))
		want := fetchPartition(p, 0)
		want.PartitionMaxBytes = 1<<31 - 1
		first.Topics[0].Partitions = append(first.Topics[0].Partitions, want)
	}
	served := map[int32]bool{}
	req := first
	for round := 0; len(served) < partitions; round++ {
		resp := ask[*kmsg.FetchResponse](r, req)
		total := 0
		next := kmsg.NewPtrFetchRequest()
		next.Version, next.MaxBytes, next.SessionID, next.SessionEpoch = 12, 1<<31-1, resp.SessionID, int32(round)+1
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if len(p.RecordBatches) > 0 {
					total += len(p.RecordBatches)
					served[p.Partition] = true
				}
			}
		}
		if total == 0 || total > limit+batchSize {
			t.Fatalf("round %d: %d bytes, and at most %d are allowed", round, total, limit)
		}
		req = next // the offsets stay: the session turns by itself
	}
}

func TestAHundredThousandPartitionsAreAnswered(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.wantProduced("t", sizedBatch(1000).Bytes(), 0)
	req := r.fetchOf(12, "t", 0)
	for i := range int32(100_000) {
		p := fetchPartition(1+i, 0)
		p.PartitionMaxBytes = 1<<31 - 1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	got := ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions
	same(t, "answers", words(len(got), len(rowsOf(t, got[0].RecordBatches)), got[100_000].ErrorCode), "100001 1 3")
}

// From every offset comes the batch that holds it.
func TestAFetchFromTheMiddleOfABatchReturnsTheBatch(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 1, "segment.bytes", "1048576", "index.interval.bytes", "100")
	var bases []int64
	end := int64(0)
	for i := range 60 {
		b := record.NewBuilder([]record.Codec{record.None, record.Zstd}[i%2])
		for range 1 + i%4 {
			b.Add(today, []byte("k"), bytes.Repeat([]byte{byte(i), byte(i >> 3)}, 20_000))
		}
		bases = append(bases, end)
		r.wantProduced("t", b.Bytes(), end)
		end += int64(1 + i%4)
	}
	for offset := range end {
		p := r.fetch(12, "t", offset)
		rows := rowsOf(t, p.RecordBatches)
		i, found := slices.BinarySearch(bases, offset)
		if !found {
			i--
		}
		if p.ErrorCode != 0 || len(rows) == 0 || rows[0].offset != bases[i] {
			t.Errorf("from offset %d: error %d, %d records", offset, p.ErrorCode, len(rows))
		}
	}
	same(t, "at the end", words(r.fetch(12, "t", end).ErrorCode, len(r.fetch(12, "t", end).RecordBatches)), "0 0")
	same(t, "beyond it", r.fetch(12, "t", end+1).ErrorCode, 1)
	same(t, "below 0", r.fetch(12, "t", -1).ErrorCode, 1)
	same(t, "far beyond", r.fetch(12, "t", 1<<62).ErrorCode, 1)
}

func TestWhatIsNotThereHasItsError(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "an unknown topic", r.fetch(12, "t", 0).ErrorCode, 0)
	req := r.fetchOf(12, "t", 0)
	req.MaxWaitMillis = 60_000 // an error does not wait
	req.Topics = append(req.Topics, kmsg.FetchRequestTopic{Topic: "missing", Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(0, 0)}},
		kmsg.FetchRequestTopic{Topic: "", Partitions: []kmsg.FetchRequestTopicPartition{fetchPartition(0, 0)}})
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, fetchPartition(1, 0), fetchPartition(-1, 0))
	got := ""
	for _, topic := range ask[*kmsg.FetchResponse](r, req).Topics {
		for _, p := range topic.Partitions {
			got += fmt.Sprintf("%s-%d/%d ", topic.Topic, p.Partition, p.ErrorCode)
		}
	}
	same(t, "answers", got, "t-0/0 t-1/3 t--1/3 missing-0/3 -0/3 ")
	byID := r.fetchOf(13, "t", 0)
	byID.MaxWaitMillis, byID.Topics[0].TopicID = 60_000, [16]byte{9}
	same(t, "an unknown id", ask[*kmsg.FetchResponse](r, byID).Topics[0].Partitions[0].ErrorCode, 100)
}

// KIP-320: a client that believes in another leader is told so.
func TestLeaderEpochs(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.wantProduced("t", batch(today).Bytes(), 0)
	r.restart()
	r.wantProduced("t", batch(today).Bytes(), 1) // in epoch 1
	at := func(current, last int32, offset int64) fetched {
		req := r.fetchOf(16, "t", offset)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch, req.Topics[0].Partitions[0].LastFetchedEpoch = current, last
		return ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0]
	}
	same(t, "of now", at(1, -1, 0).ErrorCode, 0)
	old := at(0, -1, 0)
	same(t, "an old one", words(old.ErrorCode, old.CurrentLeader.LeaderID >= 0, old.CurrentLeader.LeaderEpoch), "74 true 1")
	same(t, "one to come", at(2, -1, 0).ErrorCode, 75)
	same(t, "the last record of epoch 0", words(at(1, 0, 1).ErrorCode, len(rowsOf(t, at(1, 0, 1).RecordBatches))), "0 1")
	lost := at(1, 0, 2) // this client has a record at 1 that epoch 0 does not have
	same(t, "a tail that was lost", words(lost.ErrorCode, lost.DivergingEpoch.Epoch, lost.DivergingEpoch.EndOffset), "0 0 1")
}

func TestASyncTopicIsReadAsItIsAcknowledged(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 1, "flush.messages", "1")
	for i := range int64(20) {
		r.wantProduced("t", batch(today, today).Bytes(), 2*i)
		same(t, "records", words(len(rowsOf(t, r.fetch(12, "t", 2*i).RecordBatches)), len(rowsOf(t, r.fetch(12, "t", 0).RecordBatches))), words(2, 2*i+2))
	}
	r.restart()
	same(t, "after a restart", len(r.all("t")), 40)
}

// Answers are ranges of files: a client that asks for many at once gets them all, in order.
func TestPipelinedFetchesAreAnsweredInOrder(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	for i := range int64(10) {
		r.wantProduced("t", sizedBatch(100<<10).Bytes(), i)
	}
	const n = 200
	go func(c net.Conn) {
		for i := range int64(n) {
			if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, r.fetchOf(12, "t", i%10), int32(i))); err != nil {
				return
			}
		}
	}(r.conn)
	for i := range int64(n) {
		p := receive[*kmsg.FetchResponse](t, r.conn, &kmsg.FetchRequest{Version: 12}).Topics[0].Partitions[0]
		rows := rowsOf(t, p.RecordBatches)
		if p.ErrorCode != 0 || len(rows) == 0 || rows[0].offset != i%10 {
			t.Fatalf("answer %d: error %d, %d records", i, p.ErrorCode, len(rows))
		}
	}
}
