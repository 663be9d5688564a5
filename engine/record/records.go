package record

import (
	"iter"
)

// Record is one record of a batch. Key, Value and header values are nil where null.
type Record struct {
	Offset     int64
	Timestamp  int64 // ms; -1: none
	Attributes int8  // none is in use
	Key, Value []byte
	Headers    []Header
}

// Records iterates over the records of b, decompressed to at most maxBytes (0: DefaultMaxDecompressedBytes). Where b is
// not compressed, keys and values alias it; else they share memory that is the caller's to keep. After an error, an
// *Error, there is nothing more. A batch that compaction has emptied has none.
func (b Batch) Records(maxBytes int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		raw := b.records()
		if b.Codec() != None && b.Count() > 0 {
			if maxBytes <= 0 {
				maxBytes = DefaultMaxDecompressedBytes
			}
			var err error
			if raw, err = Decompress(nil, raw, b.Codec(), maxBytes); err != nil {
				yield(Record{}, err)
				return
			}
		}
		b.each(raw, yield)
	}
}

// each yields the records in raw.
func (b Batch) each(raw []byte, yield func(Record, error) bool) {
	i := 0
	for n := int32(0); n < b.Count(); n++ {
		size, at := varint(raw, i)
		if at > len(raw) || size < 0 || int(size) > len(raw)-at {
			yield(Record{}, errorf(InvalidRecord, "record %d of %d ends behind the batch", n, b.Count()))
			return
		}
		i = at + int(size)
		r, ok := b.record(raw[:i:i], at)
		if !ok {
			yield(Record{}, errorf(InvalidRecord, "Found invalid record structure in record %d", n))
			return
		}
		if !yield(r, nil) {
			return
		}
	}
	if i != len(raw) {
		yield(Record{}, errorf(InvalidRecord, "%d bytes behind the last record", len(raw)-i))
	}
}

// record reads one that fills raw from i to its end.
func (b Batch) record(raw []byte, i int) (r Record, ok bool) {
	if i >= len(raw) {
		return r, false
	}
	r.Attributes = int8(raw[i])
	timestampDelta, i := varlong(raw, i+1)
	offsetDelta, i := varint(raw, i)
	r.Offset = b.BaseOffset() + int64(offsetDelta)
	r.Timestamp = b.BaseTimestamp() + timestampDelta
	if b.IsLogAppendTime() {
		r.Timestamp = b.MaxTimestamp()
	}
	if r.Key, i, ok = varBytes(raw, i); !ok {
		return r, false
	}
	if r.Value, i, ok = varBytes(raw, i); !ok {
		return r, false
	}
	count, i := varint(raw, i)
	if i > len(raw) || count < 0 || int(count) > (len(raw)-i)/2 {
		return r, false // each header takes two bytes at least
	}
	for ; count > 0; count-- {
		var h Header
		var key []byte
		if key, i, ok = varBytes(raw, i); !ok || key == nil {
			return r, false
		}
		if h.Value, i, ok = varBytes(raw, i); !ok {
			return r, false
		}
		h.Key = string(key)
		r.Headers = append(r.Headers, h)
	}
	return r, i == len(raw)
}

// varBytes reads bytes behind a varint size; a negative size is null.
func varBytes(b []byte, i int) ([]byte, int, bool) {
	size, i := varint(b, i)
	if i > len(b) || int(size) > len(b)-i {
		return nil, i, false
	}
	if size < 0 {
		return nil, i, true
	}
	return b[i : i+int(size) : i+int(size)], i + int(size), true
}
