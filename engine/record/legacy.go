package record

import (
	"encoding/binary"
	"hash/crc32"
)

// message is one message of magic 0 or 1, with its offset and length in front: see doc.go.
type message []byte

const (
	messageCRCAt        = 12
	messageAttributesAt = 17
	messageTimestampAt  = 18 // magic 1 only
	messageKeyAt0       = 18
	messageKeyAt1       = 26
)

func (m message) offset() int64 { return int64(binary.BigEndian.Uint64(m)) }
func (m message) magic() int8   { return int8(m[magicAt]) }
func (m message) codec() Codec  { return Codec(m[messageAttributesAt] & codecMask) }
func (m message) logAppendTime() bool {
	return m.magic() == 1 && m[messageAttributesAt]&logAppendTimeBit != 0
}

// timestamp is in ms; magic 0 has none.
func (m message) timestamp() int64 {
	if m.magic() == 0 {
		return noTimestamp
	}
	return int64(binary.BigEndian.Uint64(m[messageTimestampAt:]))
}

// intact checks the CRC, a plain CRC-32 of everything behind it, and that the fixed fields are there.
func (m message) intact() error {
	sum, stored := crc32.ChecksumIEEE(m[magicAt:]), binary.BigEndian.Uint32(m[messageCRCAt:])
	if sum != stored {
		return errorf(Corrupt, "Record is corrupt (stored crc = %d, computed crc = %d)", stored, sum)
	}
	if m.magic() == 1 && len(m) < messageKeyAt1+8 {
		return errorf(Corrupt, "Record is corrupt (%d bytes of magic 1)", len(m))
	}
	return nil
}

// OldHead is how many bytes of a stored message OldSize looks at.
const OldHead = upToMagic

// OldSize returns the size of the message of magic 0 or 1 that begins with head, 0 where there is none.
func OldSize(head []byte) int {
	size := Batch(head).Size()
	if magic := Batch(head).Magic(); magic < 0 || magic >= currentMagic || size < lengthOverhead+minLegacyOverhead {
		return 0
	}
	return size
}

// IsOld reports whether b is one whole message of magic 0 or 1 with a right CRC, as Kafka stored them before 0.11.
func IsOld(b []byte) bool {
	return len(b) >= upToMagic && OldSize(b) == len(b) && message(b).intact() == nil
}

// content returns key and value, nil where null. It reports false when they do not fill the message exactly.
func (m message) content() (key, value []byte, ok bool) {
	at := messageKeyAt0
	if m.magic() == 1 {
		at = messageKeyAt1
	}
	if key, at, ok = sized(m, at); !ok {
		return nil, nil, false
	}
	value, at, ok = sized(m, at)
	return key, value, ok && at == len(m)
}

// sized reads bytes behind their 32-bit size; a negative size is null.
func sized(b []byte, at int) ([]byte, int, bool) {
	if len(b)-at < 4 {
		return nil, at, false
	}
	size := int(int32(binary.BigEndian.Uint32(b[at:])))
	at += 4
	if size < 0 {
		return nil, at, true
	}
	if size > len(b)-at {
		return nil, at, false
	}
	return b[at : at+size : at+size], at + size, true
}

// conversion makes one magic 2 batch of messages.
type conversion struct {
	p     *Prepared
	w     walk
	count int32
	base  int64 // timestamp of the first record
}

// convert makes one magic 2 batch of all messages in input, magic 0 or 1: any number of uncompressed ones, or one
// wrapper that holds compressed ones. Kafka 4 takes such messages from no client any more (the server refuses them by
// the request's version); what it does where it meets them is what is done here.
func (p *Prepared) convert(input []byte, r *Rules) error {
	c := conversion{p: p, w: walk{rules: r, max: noTimestamp}}
	p.fresh = p.fresh[:0]
	codec := None
	for rest := input; len(rest) > 0; {
		size, err := frame(rest)
		if err != nil {
			return err
		}
		m := message(rest[:size:size])
		rest = rest[size:]
		if err := checkMessage(m, message(input), r); err != nil {
			return err
		}
		if m.codec() == None {
			err = c.take(m, m.timestamp(), m.logAppendTime())
		} else if codec = m.codec(); len(rest) > 0 || size < len(input) {
			err = errorf(InvalidRecord, "Compressed outer record has more than one batch")
		} else {
			err = c.unwrap(m)
		}
		if err != nil {
			return err
		}
	}
	if err := c.w.verdict(); err != nil {
		return err
	}
	return c.finish(r.target(codec, false))
}

// checkMessage is admit for an outer message.
func checkMessage(m, first message, r *Rules) error {
	if m.magic() != first.magic() {
		return errorf(InvalidRecord, "Batch magic %d is not the same as the first batch's magic byte %d", m.magic(), first.magic())
	}
	if err := checkSize(len(m), r); err != nil {
		return err
	}
	if err := m.intact(); err != nil {
		return err
	}
	if !m.codec().Known() {
		return errorf(UnsupportedCompression, "Unknown compression type id: %d", m.codec())
	}
	return nil
}

// unwrap takes the messages that wrapper m holds. Their offsets, relative in magic 1 and absolute in 0, give way to new
// ones; a stamped wrapper's time stands for theirs.
func (c *conversion) unwrap(m message) error {
	if m.codec() == Zstd {
		return errorf(InvalidRecord, "Invalid wrapper compressionType found in legacy deep record iterator %d", m.magic())
	}
	_, value, ok := m.content()
	if !ok || value == nil {
		return errorf(InvalidRecord, "Found invalid compressed record set with null value (magic = %d)", m.magic())
	}
	f, err := c.p.open(m.codec(), value, m.magic())
	if err != nil {
		return err
	}
	c.p.raw, err = f.rest(c.p.raw[:0])
	c.p.budget = f.left
	f.release()
	if err != nil {
		return err
	}
	last := int64(0)
	for rest := c.p.raw; len(rest) > 0; {
		size, err := frame(rest)
		if err != nil {
			return err
		}
		inner := message(rest[:size:size])
		rest = rest[size:]
		last = inner.offset()
		if err := c.inner(inner, m); err != nil {
			return err
		}
	}
	if c.count == 0 {
		return errorf(InvalidRecord, "Found invalid compressed record set with no inner records")
	}
	// Offset 0 is what some versions of librdkafka send.
	if m.magic() == 1 && m.offset() != 0 && m.offset() < last {
		return errorf(InvalidRecord, "Found invalid wrapper offset in compressed v1 message set, wrapper offset '%d' is less than the last inner message offset '%d' and it is not zero.", m.offset(), last)
	}
	return nil
}

// inner takes one message from wrapper m. It cannot be a wrapper again: nesting would multiply what comes out.
func (c *conversion) inner(in, m message) error {
	if in.magic() != m.magic() {
		return errorf(InvalidRecord, "Compressed message magic %d does not match wrapper magic %d", in.magic(), m.magic())
	}
	if err := in.intact(); err != nil {
		return err
	}
	if in.codec() != None {
		return errorf(InvalidRecord, "Inner messages must not be compressed")
	}
	if m.logAppendTime() {
		return c.take(in, m.timestamp(), true)
	}
	return c.take(in, in.timestamp(), false)
}

// take checks one message and appends it as a record to p.fresh.
func (c *conversion) take(m message, ts int64, stamped bool) error {
	key, value, ok := m.content()
	if !ok {
		return errorf(InvalidRecord, "Found invalid record structure in record %d", c.count)
	}
	if c.count == 0 {
		c.base = ts
	}
	c.w.base, c.w.stamp, c.w.stamped = c.base, ts, stamped
	c.w.see(c.count, head{timestampDelta: ts - c.base, offsetDelta: c.count, noKey: key == nil})
	c.p.fresh = appendRecord(c.p.fresh, ts-c.base, c.count, key, value, nil)
	c.count++
	return nil
}

// finish adds the batch.
func (c *conversion) finish(target Codec) error {
	p, r := c.p, c.w.rules
	max, at := c.w.max, c.w.maxAt
	if r.LogAppendTime {
		max, at = r.Now, 0
	}
	start := p.rewrite()
	p.buf = appendHeader(p.buf, c.count)
	var err error
	if p.buf, err = Compress(p.buf, p.fresh, target, r.CompressionLevel); err != nil {
		return err
	}
	out := Batch(p.buf[start:])
	if err := checkSize(len(out), r); err != nil {
		return err
	}
	out.setHeader(attributes(target, r.LogAppendTime, false, false), c.base, max)
	p.add(out, max, at)
	return nil
}
