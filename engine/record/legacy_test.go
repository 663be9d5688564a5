package record

import (
	"bytes"
	"math"
	"testing"
)

func TestOldMessagesBecomeOneBatch(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		input := bytes.Join([][]byte{
			rawMessage(magic, 0, 5, now, []byte("k"), []byte("one")),
			rawMessage(magic, 0, 9, now+7, nil, []byte{}),
			rawMessage(magic, 0, 2, now-7, []byte{}, nil),
		}, nil)
		sent := bytes.Clone(input)
		var p Prepared
		if !NeedsDecompression(input, clientRules()) {
			t.Error("said to be no work")
		}
		if err := p.Prepare(input, clientRules()); err != nil {
			t.Fatal(err)
		}
		checkPrepared(t, &p)
		if len(p.Batches) != 1 || !bytes.Equal(input, sent) {
			t.Fatalf("%d batches, or the input was changed", len(p.Batches))
		}
		got := all(t, p.Batch(0))
		want := []Record{
			{Offset: 0, Timestamp: now, Key: []byte("k"), Value: []byte("one")},
			{Offset: 1, Timestamp: now + 7, Value: []byte{}},
			{Offset: 2, Timestamp: now - 7, Key: []byte{}},
		}
		if magic == 0 {
			for i := range want {
				want[i].Timestamp = -1
			}
		}
		sameRecords(t, want, got)
		in := p.Batches[0]
		if in.ProducerID != -1 || in.BaseSequence != -1 || in.Codec != None || p.Batch(0).PartitionLeaderEpoch() != -1 {
			t.Errorf("%+v", in)
		}
		if magic == 1 && (in.MaxTimestamp != now+7 || in.OffsetDeltaOfMax != 1) || magic == 0 && in.MaxTimestamp != -1 {
			t.Errorf("magic %d: max timestamp %d of %d", magic, in.MaxTimestamp, in.OffsetDeltaOfMax)
		}
	}
}

func TestWrappersAreOpenedAndKeepTheirCodec(t *testing.T) {
	for _, magic := range []int8{0, 1} {
		for _, c := range []Codec{Gzip, Snappy, LZ4} {
			for _, offset := range []int64{0, 1, 1000} { // 0 is old librdkafka's, 1 is the relative offset, 1000 a log's
				input := wrapper(t, magic, c, offset, now, rawMessage(magic, 0, 0, now-1, []byte("k"), []byte("one")), rawMessage(magic, 0, 1, now, nil, nil))
				var p Prepared
				if err := p.Prepare(input, clientRules()); err != nil {
					t.Fatalf("magic %d, %v: %v", magic, c, err)
				}
				checkPrepared(t, &p)
				if p.Batches[0].Codec != c || p.Batches[0].Count != 2 {
					t.Errorf("magic %d, %v: %+v", magic, c, p.Batches[0])
				}
				if got := all(t, p.Batch(0)); string(got[0].Value) != "one" || got[1].Value != nil {
					t.Errorf("magic %d, %v: %+v", magic, c, got)
				}
				r := clientRules()
				r.Compression, r.LogAppendTime, r.Now = Zstd, true, now+99
				if err := p.Prepare(input, r); err != nil {
					t.Fatal(err)
				}
				checkPrepared(t, &p)
				if p.Batches[0].Codec != Zstd || !p.Batch(0).IsLogAppendTime() || p.MaxTimestamp != now+99 || p.LogAppendTimeMs != now+99 {
					t.Errorf("stamped: %+v", p.Batches[0])
				}
			}
		}
	}
}

func TestAStampedWrapperGivesItsTimeToItsMessages(t *testing.T) {
	input := wrapper(t, 1, Gzip, 1, now-5, rawMessage(1, 0, 0, 1, []byte("k"), nil), rawMessage(1, 0, 1, 2, []byte("k"), nil))
	input[messageAttributesAt] |= logAppendTimeBit
	sealRaw(input)
	var p Prepared
	if err := p.Prepare(input, clientRules()); err != nil {
		t.Fatal(err)
	}
	for _, r := range all(t, p.Batch(0)) {
		if r.Timestamp != now-5 {
			t.Errorf("timestamp %d", r.Timestamp)
		}
	}
	r := clientRules()
	r.LogAppendTime = true
	if got := kindOf(t, p.Prepare(input, r)); got != InvalidTimestamp {
		t.Errorf("a producer's stamp on a log with LogAppendTime: %v", got)
	}
}

func TestTheBrokenHeaderCheckOfOldLZ4IsReadInMagic0Only(t *testing.T) {
	inner := rawMessage(0, 0, 0, 0, nil, []byte("v"))
	value, err := Compress(nil, inner, LZ4, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Old producers hashed the frame's magic number too.
	value[6] = byte(xxh32(value[:6]) >> 8)
	var p Prepared
	if err := p.Prepare(rawMessage(0, byte(LZ4), 0, 0, nil, value), clientRules()); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	inner = rawMessage(1, 0, 0, now, nil, []byte("v"))
	value, _ = Compress(nil, inner, LZ4, 0)
	value[6] = byte(xxh32(value[:6]) >> 8)
	if got := kindOf(t, p.Prepare(rawMessage(1, byte(LZ4), 0, now, nil, value), clientRules())); got != Undecodable {
		t.Fatal(got)
	}
}

func TestOldMessagesThatAreRefused(t *testing.T) {
	good := func(magic int8) []byte { return rawMessage(magic, 0, 0, now, nil, []byte("v")) }
	flip := func(m []byte, at int) []byte { m[at] ^= 1; return m }
	short := rawMessage(0, 0, 0, 0, nil, nil) // 26 bytes; as magic 1 they lack the timestamp
	short[magicAt] = 1
	sealRaw(short)
	longKey := rawMessage(0, 0, 0, 0, []byte("key"), nil)
	longKey[messageKeyAt0] = 0x7f
	sealRaw(longKey)
	for name, c := range map[string]struct {
		input []byte
		want  Kind
	}{
		"crc":                      {flip(good(1), messageCRCAt), Corrupt},
		"value":                    {flip(good(0), 26), Corrupt},
		"cut":                      {good(1)[:30], InvalidRecord},
		"magic 1 too short":        {short, Corrupt},
		"key past the end":         {longKey, InvalidRecord},
		"mixed magic":              {append(good(0), good(1)...), InvalidRecord},
		"magic 2 behind magic 1":   {append(good(1), sample(None, 1, 10).Bytes()...), InvalidRecord},
		"magic 1 behind magic 2":   {append(sample(None, 1, 10).Bytes(), good(1)...), InvalidRecord},
		"codec 5":                  {rawMessage(1, 5, 0, now, nil, []byte("v")), UnsupportedCompression},
		"zstd":                     {wrapper(t, 1, Zstd, 0, now, good(1)), InvalidRecord},
		"null wrapper":             {rawMessage(1, byte(Gzip), 0, now, nil, nil), InvalidRecord},
		"empty wrapper":            {wrapper(t, 1, Gzip, 0, now), InvalidRecord},
		"two wrappers":             {append(wrapper(t, 1, Gzip, 0, now, good(1)), wrapper(t, 1, Gzip, 0, now, good(1))...), InvalidRecord},
		"wrapper behind a message": {append(good(1), wrapper(t, 1, Gzip, 0, now, good(1))...), InvalidRecord},
		"nested wrappers":          {wrapper(t, 1, Gzip, 0, now, wrapper(t, 1, Gzip, 0, now, good(1))), InvalidRecord},
		"inner magic":              {wrapper(t, 1, Gzip, 0, now, good(0)), InvalidRecord},
		"inner crc":                {wrapper(t, 1, Gzip, 0, now, flip(good(1), messageCRCAt)), Corrupt},
		"inner cut":                {wrapper(t, 1, Gzip, 0, now, good(1)[:20]), InvalidRecord},
		"inner length negative":    {wrapper(t, 1, Gzip, 0, now, header(lengthAt, -1)(good(1))), Corrupt},
		"offset below the last":    {wrapper(t, 1, Gzip, 3, now, rawMessage(1, 0, 4, now, nil, nil)), InvalidRecord},
		"timestamp":                {rawMessage(1, 0, 0, math.MaxInt64, nil, nil), InvalidTimestamp},
		"gzip that is not":         {rawMessage(1, byte(Gzip), 0, now, nil, []byte("plain")), Undecodable},
	} {
		var p Prepared
		if got := kindOf(t, p.Prepare(c.input, clientRules())); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	var p Prepared
	r := clientRules()
	r.Compacted = true
	err := p.Prepare(append(rawMessage(1, 0, 0, now, []byte("k"), nil), good(1)...), r)
	if kindOf(t, err) != InvalidRecord || len(err.(*Error).Records) != 1 || err.(*Error).Records[0].Index != 1 {
		t.Errorf("no key on a compacted log: %v", err)
	}
	r = clientRules()
	r.MaxBatchBytes = 20
	if got := kindOf(t, p.Prepare(good(1), r)); got != TooLarge {
		t.Error(got)
	}
}

func TestAWrapperBombIsRefusedWithinTheCap(t *testing.T) {
	big := rawMessage(1, 0, 0, now, nil, make([]byte, 32<<20))
	var p Prepared
	r := clientRules()
	r.MaxDecompressedBytes = 1 << 20
	if got := kindOf(t, p.Prepare(wrapper(t, 1, Gzip, 0, now, big), r)); got != Bomb {
		t.Fatal(got)
	}
}
