package api_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

func TestEveryVersionOfProduceAndFetch(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	var want []row
	for v := int16(3); v <= 13; v++ {
		p := r.produce(v, "t", batch(today, today+1).Bytes())
		base := int64(len(want))
		start := int64(-1)
		if v >= 5 {
			start = 0
		}
		same(t, fmt.Sprint("produce version ", v), words(p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset), words(0, base, -1, start))
		want = append(want, row{base, today, "k", "v"}, row{base + 1, today + 1, "k", "v"})
	}
	for v := int16(4); v <= 18; v++ {
		p := r.fetch(v, "t", 0)
		same(t, fmt.Sprint("fetch version ", v), words(p.ErrorCode, p.HighWatermark, p.LastStableOffset), words(0, len(want), len(want)))
		same(t, fmt.Sprint("records of version ", v), rowsOf(t, p.RecordBatches), want)
	}
}

func TestVersions0To2AreListedAndClose(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	keys := ask[*kmsg.ApiVersionsResponse](r, &kmsg.ApiVersionsRequest{}).ApiKeys
	same(t, "Produce", words(keys[0].ApiKey, keys[0].MinVersion, keys[0].MaxVersion), "0 0 13")
	for v := range int16(3) {
		c := r.dial()
		send(t, c, r.produceTo(v, -1, "t", batch(today).Bytes()))
		wantClosed(t, fmt.Sprint("version ", v), c)
	}
	r.wantRows("t")
}

func TestAcks(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	b := batch(today).Bytes()
	for _, acks := range []int16{1, -1} {
		p := ask[*kmsg.ProduceResponse](r, r.produceTo(9, acks, "t", b)).Topics[0].Partitions[0]
		same(t, fmt.Sprint("acks ", acks), p.ErrorCode, 0)
	}
	for _, acks := range []int16{2, -2, 32767} {
		p := ask[*kmsg.ProduceResponse](r, r.produceTo(9, acks, "t", b)).Topics[0].Partitions[0]
		same(t, fmt.Sprint("acks ", acks), words(p.ErrorCode, p.BaseOffset), "21 -1")
	}
	send(t, r.conn, r.produceTo(9, 0, "t", b)) // no answer: the next one is that of the next request
	same(t, "end", ask[*kmsg.ListOffsetsResponse](r, offsetsAt(4, "t", -1)).Topics[0].Partitions[0].Offset, 3)
}

// A client that asked for no answer looks at the metadata again when its connection closes.
func TestAnErrorWithoutAcksClosesTheConnection(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	for what, req := range map[string]*kmsg.ProduceRequest{
		"an unknown topic": r.produceTo(9, 0, "missing", batch(today).Bytes()),
		"a bad batch":      r.produceTo(9, 0, "t", batch(today).Bytes()[:65]),
	} {
		c := r.dial()
		send(t, c, req)
		wantClosed(t, what, c)
	}
	r.wantRows("t")
}

func TestPartitionsHaveEachTheirOwnError(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 2)
	r.createN("small", 1, "max.message.bytes", "80")
	ask[*kmsg.FindCoordinatorResponse](r, &kmsg.FindCoordinatorRequest{CoordinatorKey: "g"}) // makes the topic of groups
	good, large := batch(today).Bytes(), batch(today, today, today, today).Bytes()
	part := func(index int32, b []byte) kmsg.ProduceRequestTopicPartition {
		return kmsg.ProduceRequestTopicPartition{Partition: index, Records: b}
	}
	req := &kmsg.ProduceRequest{Version: 9, Acks: -1, Topics: []kmsg.ProduceRequestTopic{
		{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{part(0, good), part(7, good), part(-1, good), part(1, good)}},
		{Topic: "missing", Partitions: []kmsg.ProduceRequestTopicPartition{part(0, good), part(1, good)}},
		{Topic: "small", Partitions: []kmsg.ProduceRequestTopicPartition{part(0, large)}},
		{Topic: "__consumer_offsets", Partitions: []kmsg.ProduceRequestTopicPartition{part(0, good)}},
		{Topic: "", Partitions: []kmsg.ProduceRequestTopicPartition{part(0, good)}},
		{Topic: "t"},
	}}
	got := ""
	for _, topic := range ask[*kmsg.ProduceResponse](r, req).Topics {
		got += topic.Topic + ":"
		for _, p := range topic.Partitions {
			got += fmt.Sprintf(" %d/%d/%d", p.Partition, p.ErrorCode, p.BaseOffset)
		}
		got += "\n"
	}
	same(t, "answers", got, "t: 0/0/0 7/3/-1 -1/3/-1 1/0/0\nmissing: 0/3/-1 1/3/-1\nsmall: 0/10/-1\n__consumer_offsets: 0/17/-1\n: 0/3/-1\nt:\n")
	if r.produceByID([16]byte{9}, good).ErrorCode != 100 {
		t.Error("an unknown id is not UNKNOWN_TOPIC_ID")
	}
}

func (r *groupRig) produceByID(id [16]byte, records []byte) produced {
	r.t.Helper()
	req := &kmsg.ProduceRequest{Version: 13, Acks: -1, Topics: []kmsg.ProduceRequestTopic{{TopicID: id,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records}}}}}
	got := ask[*kmsg.ProduceResponse](r, req).Topics[0]
	same(r.t, "id", got.TopicID, id)
	return got.Partitions[0]
}

func TestAPartitionThatIsNamedTwiceIsAppendedToOnce(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 3)
	req := &kmsg.ProduceRequest{Version: 9, Acks: -1, Topics: []kmsg.ProduceRequestTopic{{Topic: "t"}}}
	for _, i := range []int32{2, 0, 2, 1, 0, 0} {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: i, Records: batch(today).Bytes()})
	}
	got := ""
	for _, p := range ask[*kmsg.ProduceResponse](r, req).Topics[0].Partitions {
		got += fmt.Sprintf(" %d/%d/%d", p.Partition, p.ErrorCode, p.BaseOffset)
	}
	same(t, "answers", got, " 2/0/0 0/0/0 1/0/0")
}

// Row 16.
func TestAClientDoesNotProduceToInternalTopics(t *testing.T) {
	r := newGroupRig(t)
	ask[*kmsg.FindCoordinatorResponse](r, &kmsg.FindCoordinatorRequest{CoordinatorKey: "g"})
	for _, topic := range []string{"__consumer_offsets", "__transaction_state"} {
		code := r.produce(9, topic, batch(today).Bytes()).ErrorCode
		if code != 17 && code != 3 { // the second is not there
			t.Errorf("%s: error %d", topic, code)
		}
	}
}

// A13: who is too old for zstd neither sends it nor gets it.
func TestZstdNeedsProduce7AndFetch10(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	b := record.NewBuilder(record.Zstd).Add(today, []byte("k"), []byte("v")).Bytes()
	for v := int16(3); v < 7; v++ {
		same(t, fmt.Sprint("produce version ", v), r.produce(v, "t", b).ErrorCode, 76)
	}
	for base := range int64(3) {
		same(t, "produce version 7", r.produce(7, "t", b).BaseOffset, base)
	}
	r.wantProduced("t", batch(today).Bytes(), 3)
	for _, v := range []int16{4, 9} {
		same(t, fmt.Sprint("fetch version ", v), words(r.fetch(v, "t", 0).ErrorCode, len(r.fetch(v, "t", 0).RecordBatches)), "76 0")
		same(t, "behind it", len(rowsOf(t, r.fetch(v, "t", 3).RecordBatches)), 1)
	}
	same(t, "fetch version 10", len(rowsOf(t, r.fetch(10, "t", 0).RecordBatches)), 4)
}

// A7: the broker's time, in the answer and in the batch.
func TestLogAppendTimeIsTheBrokers(t *testing.T) {
	r := newGroupRig(t)
	r.create("t", "message.timestamp.type", "LogAppendTime")
	const year2100, year1970 = 4102444800000, 86400000
	for i, sent := range []int64{year2100, year1970} {
		b := record.NewBuilder(record.Gzip)
		for range 3 {
			b.Add(sent, []byte("k"), []byte("v"))
		}
		p := r.produce(9, "t", b.Bytes())
		same(t, "code", p.ErrorCode, 0)
		if p.LogAppendTime < today || p.LogAppendTime > today+3600_000 {
			t.Fatalf("log append time %d, and now is about %d", p.LogAppendTime, today)
		}
		got, _, err := record.Next(r.fetch(12, "t", int64(3*i)).RecordBatches)
		if err == nil {
			err = got.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the batch", words(got.IsLogAppendTime(), got.MaxTimestamp()), words(true, p.LogAppendTime))
		same(t, "by time", r.at(7, "t", p.LogAppendTime).offset <= int64(3*i), true)
	}
	same(t, "after all", r.at(7, "t", year2100).offset, int64(-1))
}

// A8: microseconds, say, in place of milliseconds.
func TestATimestampInTheFutureIsRefused(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	p := r.produce(9, "t", batch(today*1000, today).Bytes())
	same(t, "microseconds", words(p.ErrorCode, p.BaseOffset, len(p.ErrorRecords)), "32 -1 1")
	same(t, "record", p.ErrorRecords[0].RelativeOffset, 0)
	same(t, "before version 8", words(r.produce(7, "t", batch(today*1000).Bytes()).ErrorCode), "32")
	const minute = 60_000
	r.wantProduced("t", batch(today+50*minute).Bytes(), 0)
	r.createN("any", 1, "message.timestamp.after.max.ms", "9223372036854775807")
	r.wantProduced("any", batch(today*1000).Bytes(), 0)
}

// Row 15: extremes are refused or stored, and the log goes on.
func TestTimestampsAtTheirExtremes(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 1, "message.timestamp.after.max.ms", "9223372036854775807", "index.interval.bytes", "0")
	end := int64(0)
	for _, time := range []int64{-1, 0, 1<<63 - 1, -1 << 63, -2, 1, today} {
		switch p := r.produce(9, "t", batch(time).Bytes()); p.ErrorCode {
		case 0:
			same(t, fmt.Sprint("offset of ", time), p.BaseOffset, end)
			end++
		case 32, 87:
		default:
			t.Errorf("timestamp %d: error %d", time, p.ErrorCode)
		}
	}
	r.restart()
	same(t, "records", int64(len(r.all("t"))), end)
	r.wantProduced("t", batch(today).Bytes(), end)
}

// A23: each null key is named.
func TestARecordWithoutAKeyIsRefusedByACompactedTopic(t *testing.T) {
	r := newGroupRig(t)
	r.create("t", "cleanup.policy", "compact")
	b := record.NewBuilder(record.None)
	for _, key := range [][]byte{[]byte("k"), nil, []byte("k"), nil} {
		b.Add(today, key, []byte("v"))
	}
	for _, codec := range []record.Codec{record.None, record.LZ4} {
		b.Codec = codec
		p := r.produce(9, "t", b.Bytes())
		var at []int32
		for _, e := range p.ErrorRecords {
			at = append(at, e.RelativeOffset)
		}
		same(t, "refused", words(p.ErrorCode, at), "87 [1 3]")
	}
	r.wantProduced("t", batch(today).Bytes(), 0)
}

// A15: a producer that nobody remembers begins where it likes; one that is remembered goes on in sequence.
func TestAnIdempotentProducersSequence(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	from := func(id int64, epoch int16, sequence int32) []byte {
		return batch(today, today).Producer(id, epoch, sequence).Bytes()
	}
	r.wantProduced("t", from(1, 0, 40), 0)
	r.wantProduced("t", from(1, 0, 42), 2)
	r.wantProduced("t", from(1, 0, 42), 2) // sent again: where it is
	r.wantProduced("t", from(1, 0, 40), 0)
	for what, c := range map[string]struct {
		b    []byte
		code int16
	}{
		"a gap":                 {from(1, 0, 50), 45},
		"half of what was sent": {from(1, 0, 41), 45},
		"no sequence":           {changed(from(3, 0, 0), 53, 0xff, 0xff, 0xff, 0xff), 87},
	} {
		if p := r.produce(9, "t", c.b); p.ErrorCode != c.code {
			t.Errorf("%s: error %d, want %d", what, p.ErrorCode, c.code)
		}
	}
	low, code := r.deleteTo("t", -1)
	same(t, "delete", words(low, code), "4 0")
	r.wantProduced("t", from(1, 0, 44), 4)
	r.restart()
	r.wantProduced("t", from(1, 0, 46), 6)
	r.wantProduced("t", from(1, 1, 0), 8) // a new epoch begins at 0
	same(t, "fenced", r.produce(9, "t", from(1, 0, 48)).ErrorCode, 47)
}

// Batches that have to be unpacked go to a worker; those that follow wait, so that a producer's order is kept.
func TestPipelinedRequestsAreAppendedInOrder(t *testing.T) {
	r := newGroupRig(t)
	r.createN("t", 1, "compression.type", "gzip")
	r.createN("plain", 1)
	const n = 300
	codecs := []record.Codec{record.None, record.Gzip, record.Zstd, record.LZ4, record.Snappy}
	for i := range int32(n) {
		for _, topic := range []string{"t", "plain"} {
			b := record.NewBuilder(codecs[int(i)%len(codecs)]).Producer(7, 0, i)
			b.Add(today, binary.BigEndian.AppendUint32(nil, uint32(i)), []byte("v"))
			send(t, r.conn, r.produceTo(9, -1, topic, b.Bytes()))
		}
	}
	for i := range int64(n) {
		for range 2 {
			p := receive[*kmsg.ProduceResponse](t, r.conn, &kmsg.ProduceRequest{Version: 9}).Topics[0].Partitions[0]
			same(t, fmt.Sprint("answer ", i), words(p.ErrorCode, p.BaseOffset), words(0, i))
		}
	}
}
