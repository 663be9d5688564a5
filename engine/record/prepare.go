package record

import (
	"encoding/binary"
	"math"
)

// Prepared is the outcome of Prepare: batches that a log can append once it has put base offsets and leader epochs in
// place. It owns the memory that it needed for rewriting and reuses it; one goroutine uses it at a time. The zero value
// is ready.
type Prepared struct {
	// Bytes are the batches, one behind the other. They alias the input where nothing but header fields had to
	// change, else memory of the Prepared. Valid until the next Prepare or Reset, and while the input is.
	Bytes []byte
	// Batches describes each, in order.
	Batches []Info
	// MaxTimestamp is the largest of the batches' in ms, -1 where there is none.
	MaxTimestamp int64
	// LogAppendTimeMs is Rules.Now where that is the records' time, else -1.
	LogAppendTimeMs int64

	buf    []byte // holds Bytes where they are not the input's
	copied bool   // Bytes are in buf
	rules  Rules
	budget int // bytes that this call may still decompress
	feed   feed
	raw    []byte // records of a batch that is rewritten, decompressed
	fresh  []byte // and encoded anew
}

// Info is what a log needs to know of a batch, so that it does not have to read the header again.
type Info struct {
	Position, Size         int // within Prepared.Bytes, in bytes
	LastOffsetDelta, Count int32
	MaxTimestamp           int64 // ms
	OffsetDeltaOfMax       int32 // of the first record with MaxTimestamp; 0 with Replication, which does not look at records
	ProducerID             int64 // -1: not idempotent
	ProducerEpoch          int16
	BaseSequence           int32
	LastSequence           int32
	Transactional, Control bool
	Codec                  Codec
}

// Reset forgets the batches and keeps the memory, but for buffers that one large request would leave behind for good.
func (p *Prepared) Reset() {
	for _, b := range []*[]byte{&p.buf, &p.raw, &p.fresh} {
		if cap(*b) > maxPooledBuffer {
			*b = nil
		}
	}
	p.Bytes, p.Batches, p.copied = nil, p.Batches[:0], false
	p.MaxTimestamp, p.LogAppendTimeMs = noTimestamp, -1
}

// Batch returns the bytes of batch i.
func (p *Prepared) Batch(i int) Batch {
	in := &p.Batches[i]
	return Batch(p.Bytes[in.Position : in.Position+in.Size])
}

// Prepare checks input, the records of one partition in a request, against r and makes them what is to be stored. It
// may change input in place (timestamps, attributes and CRC of batches whose timestamp type or maximum is not the
// log's). For an uncompressed magic 2 batch it reads the bytes once for the CRC and the fields around keys and values
// once, and does not allocate. See NeedsDecompression for when it takes longer.
//
// An error is always an *Error, and then p is empty: it is all or nothing. Which error comes for which fault, and in
// what order, is that of Kafka's LogValidator and UnifiedLog.analyzeAndValidateRecords, with these differences:
//   - several magic 2 batches are allowed (a produce request's one batch is the server's rule);
//   - bytes behind the last whole batch are refused: Kafka cuts them off and says that all is well;
//   - an offset delta outside the batch is refused: Kafka stores it, and a consumer that commits that offset skips
//     records. Deltas that are only in a wrong order are stored as Kafka does, unless Rules.OrderedDeltas;
//   - compressed records whose sizes or deltas are wrong are refused: Kafka takes the first, which no consumer can
//     read, and stumbles over the second (UNKNOWN_SERVER_ERROR).
func (p *Prepared) Prepare(input []byte, r Rules) error {
	p.Reset()
	p.Bytes = input
	p.rules = r // here and not on the stack, where a pointer to it would not stay
	err := p.prepare(input, &p.rules)
	if err != nil {
		p.Reset()
		return err
	}
	if p.copied {
		p.Bytes = p.buf
	}
	if r.LogAppendTime && r.Origin != Replication {
		p.LogAppendTimeMs = r.Now
	}
	return nil
}

// prepare returns an error interface and not an *Error, so that nil stays nil.
func (p *Prepared) prepare(input []byte, r *Rules) error {
	if len(input) == 0 {
		return errorf(InvalidRecord, "Record batch has no batches at all")
	}
	p.budget = r.maxDecompressed()
	for rest := input; len(rest) > 0; {
		size, err := frame(rest)
		if err != nil {
			return err
		}
		b := Batch(rest[:size:size])
		switch {
		case b.Magic() != Batch(input).Magic():
			return errorf(InvalidRecord, "Batch magic %d is not the same as the first batch's magic byte %d", b.Magic(), Batch(input).Magic())
		case r.Origin == Replication:
			err = p.replicate(b)
		case b.Magic() != currentMagic:
			return p.convert(input, r)
		default:
			err = p.one(b, r)
		}
		if err != nil {
			return err
		}
		rest = rest[size:]
	}
	return nil
}

// frame returns the size of the batch or message, of any magic, that b begins with. A length that cannot be is Corrupt;
// bytes that end within a batch are an InvalidRecord, as in Kafka, where such a request has no batch at all.
func frame(b []byte) (int, error) {
	if len(b) < lengthOverhead {
		return 0, errorf(InvalidRecord, "%d bytes are not a record batch", len(b))
	}
	length := int(int32(binary.BigEndian.Uint32(b[lengthAt:])))
	if length < minLegacyOverhead {
		return 0, errorf(Corrupt, "Record size %d is less than the minimum record overhead (%d)", length, minLegacyOverhead)
	}
	if len(b) < upToMagic {
		return 0, errorf(InvalidRecord, "%d bytes are not a record batch", len(b))
	}
	magic := int8(b[magicAt])
	if magic < 0 || magic > currentMagic {
		return 0, errorf(Corrupt, "Invalid magic found in record: %d", magic)
	}
	size := length + lengthOverhead
	if size > len(b) {
		return 0, errorf(InvalidRecord, "record batch of %d bytes ends after %d", size, len(b))
	}
	if magic == currentMagic && size < HeaderSize {
		return 0, errorf(Corrupt, "Record batch is corrupt (the size %d is smaller than the minimum allowed overhead %d)", size, HeaderSize)
	}
	return size, nil
}

// replicate takes a batch as it is.
func (p *Prepared) replicate(b Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	p.add(b, b.MaxTimestamp(), 0)
	return nil
}

// one checks a magic 2 batch and adds it, rewritten where the log wants it otherwise.
func (p *Prepared) one(b Batch, r *Rules) error {
	if err := admit(b, r); err != nil {
		return err
	}
	w := newWalk(b, r)
	codec := b.Codec()
	if target := r.target(codec, b.IsControl()); target != codec {
		return p.recode(b, r, &w, target)
	}
	if codec != None {
		return p.compressed(b, r, &w)
	}
	if err := w.plain(b.records(), b.Count()); err != nil {
		return err
	}
	if err := w.verdict(); err != nil {
		return err
	}
	p.keep(b, r, &w)
	return nil
}

// admit checks all of a magic 2 batch but its records.
func admit(b Batch, r *Rules) error {
	client := r.Origin == Client
	if client && b.BaseOffset() != 0 {
		return errorf(InvalidRecord, "The baseOffset of the record batch should be 0, but it is %d", b.BaseOffset())
	}
	if err := checkSize(len(b), r); err != nil {
		return err
	}
	if sum := b.checksum(); sum != b.CRC() {
		return errorf(Corrupt, "Record is corrupt (stored crc = %d, computed crc = %d)", b.CRC(), sum)
	}
	if !b.Codec().Known() {
		return errorf(UnsupportedCompression, "Unknown compression type id: %d", b.Codec())
	}
	delta, count := b.LastOffsetDelta(), b.Count()
	switch {
	case delta < 0 || delta == math.MaxInt32:
		return errorf(InvalidRecord, "Batch has an invalid offset range: [%d, %d]", b.BaseOffset(), b.LastOffset())
	case count <= 0:
		return errorf(InvalidRecord, "Invalid reported count for record batch: %d", count)
	case delta != count-1:
		return errorf(InvalidRecord, "Inconsistent batch offset range [%d, %d] and count of records %d", b.BaseOffset(), b.LastOffset(), count)
	case client && b.IsControl():
		return errorf(InvalidRecord, "Clients are not allowed to write control records")
	case client && b.ProducerID() > noProducerID && b.BaseSequence() < 0:
		return errorf(InvalidRecord, "Invalid sequence number %d in record batch with producerId %d", b.BaseSequence(), b.ProducerID())
	}
	return nil
}

// checkSize is asked for what was sent and again for what was rewritten.
func checkSize(size int, r *Rules) error {
	if r.MaxBatchBytes > 0 && size > int(r.MaxBatchBytes) {
		return errorf(TooLarge, "The record batch size is %d bytes which exceeds the maximum configured value of %d", size, r.MaxBatchBytes)
	}
	return nil
}

// keep adds a batch whose records stay as they are. Its timestamp type and maximum become the log's.
func (p *Prepared) keep(b Batch, r *Rules, w *walk) {
	max, at := w.max, w.maxAt
	if r.LogAppendTime {
		max, at = r.Now, 0
	}
	if b.IsLogAppendTime() != r.LogAppendTime || b.MaxTimestamp() != max {
		low := b[attributesAt+1] &^ (logAppendTimeBit | 0x80)
		if r.LogAppendTime {
			low |= logAppendTimeBit
		}
		b[attributesAt], b[attributesAt+1] = 0, low
		binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(max))
		b.seal()
	}
	p.add(b, max, at)
}

// end is the position behind the last batch so far.
func (p *Prepared) end() int {
	if n := len(p.Batches); n > 0 {
		return p.Batches[n-1].Position + p.Batches[n-1].Size
	}
	return 0
}

// add appends b to the outcome. It is copied only behind one that was rewritten, and not if it is there already:
// see rewrite.
func (p *Prepared) add(b Batch, max int64, maxAt int32) {
	at := p.end()
	if p.copied && at == len(p.buf) {
		p.buf = append(p.buf, b...)
	}
	if max > p.MaxTimestamp {
		p.MaxTimestamp = max
	}
	p.Batches = append(p.Batches, Info{
		Position: at, Size: len(b),
		LastOffsetDelta: b.LastOffsetDelta(), Count: b.Count(),
		MaxTimestamp: max, OffsetDeltaOfMax: maxAt,
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		Transactional: b.IsTransactional(), Control: b.IsControl(), Codec: b.Codec(),
	})
}
