package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// faults are inputs that a client's append is refused for. Where Apache Kafka 4.4 was asked on the wire, its answer is
// behind the case: -1 is UNKNOWN_SERVER_ERROR.
var faults = []struct {
	name  string
	input []byte
	want  Kind
	kafka int16
}{
	{"no bytes", nil, InvalidRecord, 87},
	{"cut in the header", sample(None, 1, 10).Bytes()[:30], InvalidRecord, 87},
	{"cut before the magic", sample(None, 1, 10).Bytes()[:15], InvalidRecord, 87},
	{"cut in the records", sample(None, 2, 10).Bytes()[:80], InvalidRecord, 87},
	{"length below the header", changed(func(b Batch) { binary.BigEndian.PutUint32(b[lengthAt:], 10) }), Corrupt, 2},
	{"length of a message and not of a batch", changed(func(b Batch) { binary.BigEndian.PutUint32(b[lengthAt:], 40) }), Corrupt, 2},
	{"length negative", changed(func(b Batch) { binary.BigEndian.PutUint32(b[lengthAt:], 1<<31) }), Corrupt, 2},
	{"magic 3", changed(func(b Batch) { b[magicAt] = 3 }), Corrupt, 2},
	{"magic -1", changed(func(b Batch) { b[magicAt] = 0xff }), Corrupt, 2},
	{"crc one bit off", changed(func(b Batch) { b[crcAt] ^= 1 }), Corrupt, 2},
	{"value one bit off", changed(func(b Batch) { b[len(b)-5] ^= 1 }), Corrupt, 2},
	{"base offset 7", changed(func(b Batch) { b.SetBaseOffset(7) }), InvalidRecord, 87},
	{"three bytes behind the batch", append(sample(None, 1, 10).Bytes(), 1, 2, 3), InvalidRecord, 0},
	{"twenty zeros behind the batch", append(sample(None, 1, 10).Bytes(), make([]byte, 20)...), Corrupt, 2},
	{"bytes behind the records", mangled(func(b Batch) Batch { return append(b, 1, 2, 3) }), InvalidRecord, 87},
	{"record cut", mangled(func(b Batch) Batch { return b[:len(b)-2] }), InvalidRecord, 87},
	{"count 0", mangled(header(countAt, 0)), InvalidRecord, 87},
	{"count -1", mangled(header(countAt, -1)), InvalidRecord, 87},
	{"count too low", mangled(counts(2)), InvalidRecord, 87},
	{"count too high", mangled(counts(4)), InvalidRecord, 87},
	{"count 2^31-1", mangled(counts(math.MaxInt32)), InvalidRecord, 87},
	{"count not the last offset delta plus one", mangled(header(lastOffsetDeltaAt, 5)), InvalidRecord, 87},
	{"last offset delta -1", mangled(header(lastOffsetDeltaAt, -1)), InvalidRecord, 87},
	{"last offset delta 2^31-1 overflows", mangled(func(b Batch) Batch {
		return header(countAt, math.MinInt32)(header(lastOffsetDeltaAt, math.MaxInt32)(b))
	}), InvalidRecord, 87},
	{"control bit", mangled(attribute(controlBit)), InvalidRecord, 87},
	{"producer id without sequence", mangled(func(b Batch) Batch { binary.BigEndian.PutUint64(b[producerIDAt:], 5); return b }), InvalidRecord, 87},
	{"sequence below -1", mangled(func(b Batch) Batch {
		binary.BigEndian.PutUint64(b[producerIDAt:], 5)
		return header(baseSequenceAt, -2)(b)
	}), InvalidRecord, 87},
	{"codec 5", mangled(attribute(5)), UnsupportedCompression, -1},
	{"codec 7", mangled(attribute(7)), UnsupportedCompression, -1},
	{"stamped on a topic with CreateTime, out of range", mangled(func(b Batch) Batch {
		binary.BigEndian.PutUint64(b[maxTimestampAt:], 1<<62)
		return attribute(logAppendTimeBit)(b)
	}), InvalidTimestamp, 32},

	{"headers -1", rawBatch(None, 1, []byte{14, 0, 0, 0, 1, 2, 'v', 1}), InvalidRecord, 87},
	{"headers 2^31-1", rawBatch(None, 1, []byte{22, 0, 0, 0, 1, 2, 'v', 0xfe, 0xff, 0xff, 0xff, 0x0f}), InvalidRecord, 87},
	{"header key null", rawBatch(None, 1, []byte{18, 0, 0, 0, 1, 2, 'v', 2, 1, 1}), InvalidRecord, 87},
	{"header value past the end", rawBatch(None, 1, []byte{18, 0, 0, 0, 1, 2, 'v', 2, 0, 60}), InvalidRecord, 87},
	{"record length overlong", rawBatch(None, 1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 1, 2, 'v', 0}), InvalidRecord, -1},
	{"record length negative", rawBatch(None, 1, []byte{1, 0, 0, 0, 1, 2, 'v', 0}), InvalidRecord, 87},
	{"record length past the end", rawBatch(None, 1, []byte{16, 0, 0, 0, 1, 2, 'v', 0}), InvalidRecord, 87},
	{"record length too small", rawBatch(None, 1, []byte{12, 0, 0, 0, 1, 2, 'v', 0}), InvalidRecord, 87},
	{"record of no bytes", rawBatch(None, 1, []byte{0}), InvalidRecord, 87},
	{"offset delta overlong", rawBatch(None, 1, []byte{24, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 'v', 0}), InvalidRecord, 87},
	{"timestamp delta overlong", rawBatch(None, 1, append([]byte{36, 0}, append(bytes.Repeat([]byte{0x80}, 11), 0, 0, 1, 2, 'v', 0)...)), InvalidRecord, 87},
	{"key length 2^31-1", rawBatch(None, 1, []byte{22, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 2, 'v', 0}), InvalidRecord, 87},
	{"offset delta outside the batch", rawBatch(None, 1, []byte{14, 0, 0, 4, 1, 2, 'v', 0}), InvalidRecord, 0},
	{"offset delta negative", rawBatch(None, 1, []byte{14, 0, 0, 1, 1, 2, 'v', 0}), InvalidRecord, 0},

	{"gzip that is not", mangled(attribute(int16(Gzip))), Undecodable, -1},
	{"snappy that is not", mangled(attribute(int16(Snappy))), Undecodable, -1},
	{"lz4 that is not", mangled(attribute(int16(LZ4))), Undecodable, -1},
	{"zstd that is not", mangled(attribute(int16(Zstd))), Undecodable, -1},
	{"gzip of nothing", rawBatch(Gzip, 1, nil), Undecodable, -1},
	{"snappy of nothing", rawBatch(Snappy, 1, nil), Undecodable, -1},
	{"lz4 of nothing", rawBatch(LZ4, 1, nil), Undecodable, -1},
	{"zstd of nothing", rawBatch(Zstd, 1, nil), InvalidRecord, 87},
	{"gzip cut", recompressed(Gzip, 2, func(b []byte) []byte { return b[:len(b)-9] }), Undecodable, -1},
	{"snappy cut", recompressed(Snappy, 2, func(b []byte) []byte { return b[:len(b)-3] }), Undecodable, -1},
	{"lz4 cut", recompressed(LZ4, 2, func(b []byte) []byte { return b[:len(b)-8] }), Undecodable, -1},
	{"zstd cut", recompressed(Zstd, 2, func(b []byte) []byte { return b[:len(b)-3] }), Undecodable, -1},
	{"gzip with a wrong checksum", recompressed(Gzip, 2, func(b []byte) []byte { b[len(b)-8] ^= 1; return b }), Undecodable, -1},
	{"gzip with bytes behind it", recompressed(Gzip, 2, func(b []byte) []byte { return append(b, 1, 2, 3) }), Undecodable, 0},
	{"lz4 with a wrong header check", recompressed(LZ4, 2, func(b []byte) []byte { b[6] ^= 1; return b }), Undecodable, -1},
	{"gzip, count too high", recompressed(Gzip, 3, nil), InvalidRecord, 87},
	{"gzip, count too low", recompressed(Gzip, 1, nil), InvalidRecord, 87},
	{"gzip, count 2^31-1", recompressed(Gzip, math.MaxInt32, nil), InvalidRecord, 87},
	{"gzip, deltas 0, 2, 1", compressRecords(Gzip, 3, []byte{14, 0, 0, 0, 1, 2, 'v', 0, 14, 0, 0, 4, 1, 2, 'v', 0, 14, 0, 0, 2, 1, 2, 'v', 0}), InvalidRecord, -1},
	{"gzip, record size that lies", compressRecords(Gzip, 1, []byte{16, 0, 0, 0, 1, 2, 'v', 0}), InvalidRecord, 0},
	{"gzip, headers -1", compressRecords(Gzip, 1, []byte{14, 0, 0, 0, 1, 2, 'v', 1}), InvalidRecord, 87},
}

// changed is sample(None, 3, 20) with f applied and nothing made right.
func changed(f func(Batch)) []byte {
	b := sample(None, 3, 20).Bytes()
	f(b)
	return b
}

// header sets a 32-bit field.
func header(at int, v int32) func(Batch) Batch {
	return func(b Batch) Batch { binary.BigEndian.PutUint32(b[at:], uint32(v)); return b }
}

func counts(n int32) func(Batch) Batch {
	return func(b Batch) Batch { return header(lastOffsetDeltaAt, n-1)(header(countAt, n)(b)) }
}

func attribute(bits int16) func(Batch) Batch {
	return func(b Batch) Batch { b[attributesAt+1] |= byte(bits); return b }
}

// recompressed is a batch said to have count records that has two, its compressed bytes changed by f.
func recompressed(c Codec, count int32, f func([]byte) []byte) []byte {
	b := sample(c, 2, 300).Bytes()
	z := b.records()
	if f != nil {
		z = f(z)
	}
	return rawBatch(c, count, z)
}

func compressRecords(c Codec, count int32, records []byte) []byte {
	z, err := Compress(nil, records, c, 0)
	if err != nil {
		panic(err)
	}
	return rawBatch(c, count, z)
}

func TestWhatKafkaRefusesIsRefusedInKind(t *testing.T) {
	var p Prepared
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			err := p.Prepare(bytes.Clone(f.input), clientRules())
			if got := kindOf(t, err); got != f.want {
				t.Errorf("got %v (%v), want %v", got, err, f.want)
			}
			if p.Bytes != nil || len(p.Batches) > 0 {
				t.Error("something is left of a refused append")
			}
		})
	}
}

func TestAGoodBatchIsKeptByteForByte(t *testing.T) {
	var p Prepared
	for _, c := range codecs {
		input := sample(c, 20, 400).Producer(9, 3, math.MaxInt32-5).Bytes()
		sent := bytes.Clone(input)
		if err := p.Prepare(input, clientRules()); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		checkPrepared(t, &p)
		if !bytes.Equal(p.Bytes, sent) || &p.Bytes[0] != &input[0] {
			t.Errorf("%v: not the bytes that were sent, or a copy", c)
		}
		in := p.Batches[0]
		want := Info{Size: len(sent), LastOffsetDelta: 19, Count: 20, MaxTimestamp: now + 40, OffsetDeltaOfMax: 4,
			ProducerID: 9, ProducerEpoch: 3, BaseSequence: math.MaxInt32 - 5, LastSequence: 13, Codec: c}
		if in != want {
			t.Errorf("%v: got  %+v\nwant %+v", c, in, want)
		}
		if p.MaxTimestamp != now+40 || p.LogAppendTimeMs != -1 {
			t.Errorf("%v: max timestamp %d, log append time %d", c, p.MaxTimestamp, p.LogAppendTimeMs)
		}
	}
}

func TestSeveralBatchesAreDescribedEach(t *testing.T) {
	input := append(sample(None, 3, 50).Bytes(), append(sample(Gzip, 2, 50).Bytes(), sample(None, 1, 9).Bytes()...)...)
	sent := bytes.Clone(input)
	var p Prepared
	if err := p.Prepare(input, clientRules()); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if len(p.Batches) != 3 || !bytes.Equal(p.Bytes, sent) {
		t.Fatalf("%d batches, same bytes %v", len(p.Batches), bytes.Equal(p.Bytes, sent))
	}
	// One that is rewritten in between takes the others along.
	r := clientRules()
	r.Compression = None
	if err := p.Prepare(input, r); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if len(p.Batches) != 3 || p.Batches[1].Codec != None || !bytes.Equal(p.Batch(0), sent[:len(p.Batch(0))]) {
		t.Fatalf("%+v", p.Batches)
	}
	if p.Batch(2).Count() != 1 {
		t.Fatal("the last batch is another")
	}
}

func TestDeltasInAWrongOrderAreStoredAsKafkaDoesUnlessTheRulesSayOtherwise(t *testing.T) {
	input := rawBatch(None, 2, []byte{14, 0, 0, 2, 1, 2, 'v', 0, 14, 0, 0, 0, 1, 2, 'w', 0})
	sent := bytes.Clone(input)
	var p Prepared
	if err := p.Prepare(input, clientRules()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Bytes, sent) {
		t.Fatal("changed")
	}
	r := clientRules()
	r.OrderedDeltas = true
	if got := kindOf(t, p.Prepare(input, r)); got != InvalidRecord {
		t.Fatal(got)
	}
	// On its way into another codec it is numbered anew.
	r = clientRules()
	r.Compression = Zstd
	if err := p.Prepare(input, r); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	for i, rec := range all(t, p.Batch(0)) {
		if rec.Offset != int64(i) || string(rec.Value) != string("vw"[i]) {
			t.Fatalf("record %d: %+v", i, rec)
		}
	}
}

func TestLogAppendTimeStampsTheBatchAndNotTheRecords(t *testing.T) {
	for _, c := range codecs {
		b := sample(c, 3, 100)
		b.Transactional = true
		input := b.Producer(1, 0, 0).Bytes()
		r := clientRules()
		r.LogAppendTime, r.Now = true, now+12345
		var p Prepared
		if err := p.Prepare(input, r); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		checkPrepared(t, &p)
		out := p.Batch(0)
		if !out.IsLogAppendTime() || out.MaxTimestamp() != r.Now || !out.IsTransactional() || out.Codec() != c || out.BaseTimestamp() != now {
			t.Errorf("%v: attributes %x, max %d", c, out.Attributes(), out.MaxTimestamp())
		}
		if p.LogAppendTimeMs != r.Now || p.MaxTimestamp != r.Now || p.Batches[0].MaxTimestamp != r.Now {
			t.Errorf("%v: reported %d", c, p.LogAppendTimeMs)
		}
		for _, rec := range all(t, out) {
			if rec.Timestamp != r.Now {
				t.Errorf("%v: record has %d", c, rec.Timestamp)
			}
		}
		// What a producer stamps itself is refused there, record by record.
		err := p.Prepare(input, r)
		if kindOf(t, err) != InvalidTimestamp || len(err.(*Error).Records) != 3 {
			t.Errorf("%v: stamped by the producer: %v", c, err)
		}
	}
}

func TestTheHeaderGetsTheTimestampsThatTheRecordsHave(t *testing.T) {
	input := Batch(mangled(func(b Batch) Batch {
		binary.BigEndian.PutUint64(b[maxTimestampAt:], 77)
		binary.BigEndian.PutUint16(b[attributesAt:], 0x7f80)
		return b
	}))
	var p Prepared
	if err := p.Prepare(input, clientRules()); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if p.MaxTimestamp != now+20 || p.Batches[0].OffsetDeltaOfMax != 2 || input.Attributes() != 0 {
		t.Fatalf("max %d of record %d, attributes %x", p.MaxTimestamp, p.Batches[0].OffsetDeltaOfMax, input.Attributes())
	}
	// Stamped by the producer where the log keeps create times: the stamp is every record's time.
	input = mangled(func(b Batch) Batch {
		binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(now-5))
		return attribute(logAppendTimeBit)(b)
	})
	if err := p.Prepare(input, clientRules()); err != nil {
		t.Fatal(err)
	}
	if p.MaxTimestamp != now-5 || p.Batch(0).IsLogAppendTime() {
		t.Fatalf("max %d, attributes %x", p.MaxTimestamp, p.Batch(0).Attributes())
	}
}

func TestTimestampsOutOfRangeNameEachRecord(t *testing.T) {
	const hour = 3600 * 1000
	cases := []struct {
		ts            int64
		before, after int64
		bad           bool
	}{
		{now + hour, math.MaxInt64, hour, false},
		{now + hour + 1, math.MaxInt64, hour, true},
		{now * 1000, math.MaxInt64, hour, true},
		{now * 1000, math.MaxInt64, math.MaxInt64, false},
		{now - 10, 10, hour, false},
		{now - 11, 10, hour, true},
		{0, math.MaxInt64, hour, false},
		{-1, 10, 10, false},
		{-5, math.MaxInt64, hour, false},
		{math.MinInt64, math.MaxInt64, hour, true},
		{math.MaxInt64, math.MaxInt64, hour, true},
		{now, 0, 0, false},
	}
	for _, c := range cases {
		for _, codec := range []Codec{None, LZ4} {
			input := NewBuilder(codec).Add(now, nil, []byte("good")).Add(c.ts, nil, []byte("x")).Add(c.ts, nil, nil).Bytes()
			r := clientRules()
			r.TimestampBeforeMaxMs, r.TimestampAfterMaxMs = c.before, c.after
			var p Prepared
			err := p.Prepare(input, r)
			if !c.bad {
				if err != nil {
					t.Errorf("%d: %v", c.ts, err)
				}
				continue
			}
			var e *Error
			if !errors.As(err, &e) || e.Kind != InvalidTimestamp || len(e.Records) != 2 || e.Records[0].Index != 1 || e.Records[1].Index != 2 {
				t.Errorf("%d: %+v", c.ts, err)
			} else if !strings.Contains(e.Records[0].Message, "of message with offset 1 is out of range") {
				t.Errorf("%d: %s", c.ts, e.Records[0].Message)
			}
		}
	}
}

func TestACompactedLogNeedsKeys(t *testing.T) {
	for _, codec := range codecs {
		input := NewBuilder(codec).Add(now, []byte("k"), nil).Add(now, nil, []byte("v")).Add(now, []byte{}, nil).Add(now, nil, nil).Bytes()
		r := clientRules()
		r.Compacted = true
		var p Prepared
		var e *Error
		if err := p.Prepare(input, r); !errors.As(err, &e) || e.Kind != InvalidRecord {
			t.Fatalf("%v: %v", codec, err)
		}
		if len(e.Records) != 2 || e.Records[0].Index != 1 || e.Records[1].Index != 3 {
			t.Fatalf("%v: %+v", codec, e.Records)
		}
	}
}

func TestRecordErrorsAreBounded(t *testing.T) {
	b := NewBuilder(None)
	for range 3 * MaxRecordErrors {
		b.Add(0, nil, nil)
	}
	r := clientRules()
	r.Compacted = true
	var p Prepared
	err := p.Prepare(b.Bytes(), r)
	if kindOf(t, err) != InvalidRecord || len(err.(*Error).Records) != MaxRecordErrors {
		t.Fatalf("%v, %d", err, len(err.(*Error).Records))
	}
}

func TestTheBrokersOwnWritesMayBeControlBatches(t *testing.T) {
	b := NewBuilder(None).Producer(7, 2, -1)
	b.Control, b.Transactional, b.BaseOffset = true, true, 55
	input := b.AddEndTxn(now, EndTxn{Commit: true, CoordinatorEpoch: 4}).Bytes()
	r := clientRules()
	r.Origin, r.Compression, r.Compacted = Coordinator, Gzip, true
	var p Prepared
	if err := p.Prepare(input, r); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if in := p.Batches[0]; !in.Control || !in.Transactional || in.Codec != None || in.LastSequence != -1 {
		t.Fatalf("%+v", in)
	}
	if m, ok := p.Batch(0).EndTxn(); !ok || !m.Commit || m.CoordinatorEpoch != 4 {
		t.Fatalf("%+v %v", m, ok)
	}
}

func TestTooLargeIsFoundBeforeAndAfterRewriting(t *testing.T) {
	for _, c := range []Codec{None, Gzip} {
		input := sample(c, 10, 1000).Bytes()
		r := clientRules()
		r.MaxBatchBytes = int32(len(input))
		var p Prepared
		if err := p.Prepare(input, r); err != nil {
			t.Fatalf("%v at its size: %v", c, err)
		}
		r.MaxBatchBytes--
		if got := kindOf(t, p.Prepare(input, r)); got != TooLarge {
			t.Fatalf("%v above: %v", c, got)
		}
	}
	r := clientRules()
	input := sample(Zstd, 10, 1000).Bytes()
	r.MaxBatchBytes, r.Compression = int32(len(input)), None
	var p Prepared
	if got := kindOf(t, p.Prepare(input, r)); got != TooLarge {
		t.Fatalf("after decompression: %v", got)
	}
}

func TestATopicsCodecReplacesTheProducers(t *testing.T) {
	var p Prepared
	for _, from := range codecs {
		for _, to := range codecs {
			b := sample(from, 30, 700).Producer(4, 1, 100)
			b.Transactional = true
			input := b.Bytes()
			want := all(t, input)
			r := clientRules()
			r.Compression = to
			if NeedsDecompression(input, r) != (from != None || to != None) {
				t.Errorf("%v to %v: NeedsDecompression is %v", from, to, NeedsDecompression(input, r))
			}
			if err := p.Prepare(input, r); err != nil {
				t.Fatalf("%v to %v: %v", from, to, err)
			}
			checkPrepared(t, &p)
			out := p.Batch(0)
			if out.Codec() != to || out.ProducerID() != 4 || out.ProducerEpoch() != 1 || out.BaseSequence() != 100 || !out.IsTransactional() {
				t.Errorf("%v to %v: header %x", from, to, out[:HeaderSize])
			}
			sameRecords(t, want, all(t, out))
		}
	}
}

func sameRecords(t *testing.T, want, got []Record) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if w.Offset != g.Offset || w.Timestamp != g.Timestamp || !sameBytes(w.Key, g.Key) || !sameBytes(w.Value, g.Value) || len(w.Headers) != len(g.Headers) {
			t.Fatalf("record %d: got %+v, want %+v", i, g, w)
		}
		for j := range w.Headers {
			if w.Headers[j].Key != g.Headers[j].Key || !sameBytes(w.Headers[j].Value, g.Headers[j].Value) {
				t.Fatalf("record %d, header %d", i, j)
			}
		}
	}
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func TestReplicationTakesWhatALeaderStored(t *testing.T) {
	compacted := NewBuilder(None).Add(now, nil, []byte("no key, and far from base offset 0"))
	compacted.BaseOffset, compacted.PartitionLeaderEpoch = 4711, 3
	b := header(lastOffsetDeltaAt, 9)(compacted.Bytes()) // nine records are gone
	b.seal()
	var p Prepared
	if err := p.Prepare(b, Rules{Origin: Replication, Compacted: true, MaxBatchBytes: 1}); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if p.Batch(0).BaseOffset() != 4711 || p.Batches[0].LastOffsetDelta != 9 || p.LogAppendTimeMs != -1 {
		t.Fatalf("%+v", p.Batches)
	}
	b[crcAt] ^= 1
	if got := kindOf(t, p.Prepare(b, Rules{Origin: Replication})); got != Corrupt {
		t.Fatal(got)
	}
}

func TestPrepareDoesNotAllocateOnceItIsWarm(t *testing.T) {
	r := clientRules()
	var p Prepared
	for _, input := range []Batch{sample(None, 1, 100).Bytes(), sample(None, 64, 1000).Bytes(), sample(LZ4, 16, 1000).Bytes()} {
		n := testing.AllocsPerRun(100, func() {
			if err := p.Prepare(input, r); err != nil {
				t.Fatal(err)
			}
		})
		if input.Codec() == None && n != 0 {
			t.Errorf("%d records of %v: %v allocations", input.Count(), input.Codec(), n)
		}
	}
}
