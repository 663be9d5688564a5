package api_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// rawRecord is a record without key and headers, with an offset delta and a value.
func rawRecord(delta int, value string) []byte {
	b := []byte{0, 0}
	b = binary.AppendVarint(b, int64(delta))
	b = binary.AppendVarint(b, -1)
	b = binary.AppendVarint(b, int64(len(value)))
	b = append(append(b, value...), 0)
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

// rawBatch is a batch of bytes that may not be records.
func rawBatch(count, lastDelta int32, records ...[]byte) []byte {
	b := batch(today).Bytes()[:record.HeaderSize:record.HeaderSize]
	b = append(b, bytes.Join(records, nil)...)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[23:], uint32(lastDelta))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return sealed(b)
}

// A23 and rows 9 to 14: every bad batch is refused, nothing of it is stored, and the next good one gets the next offset.
func TestBadBatchesAreRefused(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	good := batch(today, today).Bytes()
	one, two := rawRecord(0, "v"), rawRecord(1, "v")
	size := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	for what, c := range map[string]struct {
		b     []byte
		codes string
	}{
		"nothing":                          {[]byte{}, "87"},
		"a batch that is cut off":          {good[:len(good)-1], "2 87"},
		"a header that is cut off":         {good[:40], "2 87"},
		"bytes behind it":                  {append(bytes.Clone(good), 0), "2 87"},
		"two batches":                      {append(bytes.Clone(good), good...), "87"},
		"a second batch of control":        {append(bytes.Clone(good), changed(good, 21, 0, 0x20)...), "87"},
		"a second one of a transaction":    {append(bytes.Clone(good), changed(good, 21, 0, 0x10)...), "53 87"},
		"a bit of the CRC":                 {append(append(bytes.Clone(good[:17]), good[17]^1), good[18:]...), "2"},
		"a bit of a record":                {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), "2"},
		"size 0":                           {append(append(bytes.Clone(good[:8]), size(0)...), good[12:]...), "2 87"},
		"size -1":                          {append(append(bytes.Clone(good[:8]), size(-1)...), good[12:]...), "2 87"},
		"size 2^31-1":                      {append(append(bytes.Clone(good[:8]), size(1<<31-1)...), good[12:]...), "2 87"},
		"magic 0":                          {append(append(bytes.Clone(good[:16]), 0), good[17:]...), "87"},
		"magic 1":                          {append(append(bytes.Clone(good[:16]), 1), good[17:]...), "87"},
		"magic 3":                          {append(append(bytes.Clone(good[:16]), 3), good[17:]...), "2 76 87"},
		"magic -1":                         {append(append(bytes.Clone(good[:16]), 0xff), good[17:]...), "2 87"},
		"codec 5":                          {changed(good, 21, 0, 5), "76 87"},
		"codec 7":                          {changed(good, 21, 0, 7), "76 87"},
		"a control batch":                  {changed(good, 21, 0, 0x20), "87"},
		"a transactional batch":            {changed(good, 21, 0, 0x10), "53"},
		"a producer id without a sequence": {changed(good, 43, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff), "87"},
		"no records":                       {rawBatch(0, 0), "2 87"},
		"-1 records":                       {rawBatch(-1, 0, one), "2 87"},
		"2^31-1 records":                   {rawBatch(1<<31-1, 1<<31-2, one), "2 87"},
		"fewer records than it says":       {rawBatch(2, 1, one), "2 87"},
		"more records than it says":        {rawBatch(1, 0, one, two), "2 87"},
		"a last delta that is not":         {rawBatch(2, 5, one, two), "87"},
		"a negative last delta":            {rawBatch(2, -1, one, two), "2 87"},
		"a record of size -1":              {rawBatch(1, 0, []byte{1}), "2 87"},
		"a record of size 2^31-1":          {rawBatch(1, 0, binary.AppendVarint(nil, 1<<31-1), one), "2 87"},
		"a size of ten bytes":              {rawBatch(1, 0, bytes.Repeat([]byte{0xff}, 10)), "2 87"},
		"a key longer than its record":     {rawBatch(1, 0, []byte{12, 0, 0, 0, 100, 0, 0}), "2 87"},
		"-1 headers":                       {rawBatch(1, 0, []byte{12, 0, 0, 0, 1, 1, 1}), "2 87"},
		"2^31-1 headers":                   {rawBatch(1, 0, []byte{20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0xf}), "2 87"},
		"more than max.message.bytes":      {batch(today).Add(today, nil, make([]byte, 2<<20)).Bytes(), "10"},
		"compressed bytes that are not":    {changed(rawBatch(1, 0, []byte("no gzip at all")), 21, 0, 1), "-1"}, // as Kafka's
	} {
		p := r.produce(9, "t", c.b)
		if !strings.Contains(" "+c.codes+" ", fmt.Sprintf(" %d ", p.ErrorCode)) || p.BaseOffset != -1 {
			t.Errorf("%s: error %d, base offset %d, want one of %s and -1", what, p.ErrorCode, p.BaseOffset, c.codes)
		}
	}
	r.wantProduced("t", batch(today).Bytes(), 0)
	r.wantRows("t", row{0, today, "k", "v"})
}

// A base offset that a client sends is the broker's to say.
func TestAClientsBaseOffsetIsNotStored(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	b := batch(today)
	b.BaseOffset = 7
	switch p := r.produce(9, "t", b.Bytes()); p.ErrorCode {
	case 0:
		same(t, "base offset", p.BaseOffset, int64(0))
		r.wantRows("t", row{0, today, "k", "v"})
	case 87:
		r.wantRows("t")
	default:
		t.Errorf("error %d", p.ErrorCode)
	}
}

func TestABatchLargerThanASegmentIsRefused(t *testing.T) {
	r := newGroupRig(t)
	r.create("t", "segment.bytes", "1048576", "max.message.bytes", "10485760")
	b := record.NewBuilder(record.None).Add(today, nil, make([]byte, 2<<20))
	same(t, "code", r.produce(9, "t", b.Bytes()).ErrorCode, 18)
	r.wantProduced("t", batch(today).Bytes(), 0)
}

// Row 13 and A20: what is small as sent and huge unpacked is refused, by a topic that keeps batches as they are and by one
// that must unpack them, and memory stays flat.
func TestBombsAreRefusedAndMemoryStaysFlat(t *testing.T) {
	r := newGroupRig(t)
	r.create("kept")
	r.create("unpacked", "compression.type", "uncompressed")
	r.create("good")
	huge := make([]byte, 80<<20) // above the 64 MiB that a batch may become
	copy(huge, rawRecord(0, ""))
	bombs := map[record.Codec][]byte{}
	for _, codec := range []record.Codec{record.Gzip, record.LZ4, record.Zstd} {
		b, err := record.Compress(nil, huge, codec, 0)
		if err != nil {
			t.Fatal(err)
		}
		bombs[codec] = b
	}
	huge = nil
	bombs[record.Snappy] = append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xff"), make([]byte, 100)...) // a chunk of 2^31-1
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for codec, b := range bombs {
		for _, topic := range []string{"kept", "unpacked"} {
			p := r.produce(9, topic, changed(rawBatch(1, 0, b), 21, 0, byte(codec)))
			if p.ErrorCode == 0 {
				t.Errorf("a bomb of %v was taken by %s", codec, topic)
			}
		}
		r.produce(9, "good", batch(today).Bytes()) // others go on
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 50<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
		t.Errorf("memory grew by %d MiB meanwhile", grown>>20)
	}
	r.wantRows("kept")
	r.wantRows("unpacked")
}

// Row 43: connections are cut while their records are on the way, and room for them is short. What is stored is whole, and
// of its own partition.
func TestCutConnectionsLeaveEveryBatchWholeAndInItsPartition(t *testing.T) {
	const partitions, clients, requests = 4, 12, 60
	r := newGroupRig(t, "zurau.memory.bytes=1048576")
	r.createN("t", partitions, "compression.type", "producer")
	var senders sync.WaitGroup
	for n := range clients {
		c, err := net.Dial("tcp", r.server.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		senders.Go(func() {
			for i := range requests {
				codec := []record.Codec{record.None, record.LZ4}[i%2]
				p := int32(rnd.IntN(partitions))
				value := bytes.Repeat([]byte{byte('a' + p)}, 1+rnd.IntN(40_000))
				req := produceOne("t", p, record.NewBuilder(codec).Add(today, fmt.Append(nil, p), value).Bytes())
				frame := kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)
				if i == requests-1 {
					frame = frame[:rnd.IntN(len(frame))]
				}
				if _, err := c.Write(frame); err != nil {
					break
				}
			}
			if n%3 > 0 {
				c.(*net.TCPConn).SetLinger(0) // a reset, and not an end
			}
			c.Close()
		})
	}
	senders.Wait()
	for p := range int32(partitions) { // behind everything that was accepted before
		got := ask[*kmsg.ProduceResponse](r, produceOne("t", p, record.NewBuilder(record.None).Add(today, fmt.Append(nil, p), []byte{byte('a' + p)}).Bytes()))
		same(t, "code", got.Topics[0].Partitions[0].ErrorCode, 0)
		rows := r.partition("t", p)
		for i, row := range rows {
			if row.offset != int64(i) || row.key != fmt.Sprint(p) || strings.Trim(row.value, string(rune('a'+p))) != "" {
				t.Fatalf("partition %d: record %d is at %d, key %s, %d bytes", p, i, row.offset, row.key, len(row.value))
			}
		}
		if len(rows) == 0 {
			t.Errorf("partition %d has nothing", p)
		}
	}
}

func produceOne(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	return &kmsg.ProduceRequest{Version: 9, Acks: -1, Topics: []kmsg.ProduceRequestTopic{{Topic: topic,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: records}}}}}
}

// partition reads a partition to its end.
func (r *groupRig) partition(topic string, p int32) (all []row) {
	r.t.Helper()
	for {
		req := r.fetchOf(12, topic, 0)
		req.Topics[0].Partitions[0] = fetchPartition(p, int64(len(all)))
		got := ask[*kmsg.FetchResponse](r, req).Topics[0].Partitions[0]
		rows := rowsOf(r.t, got.RecordBatches)
		if got.ErrorCode != 0 || len(rows) == 0 {
			same(r.t, "code", got.ErrorCode, 0)
			return all
		}
		for i, row := range rows { // the first batch may begin before the offset
			if row.offset >= int64(len(all)) {
				all = append(all, rows[i:]...)
				break
			}
		}
	}
}
