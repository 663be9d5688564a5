package record

import (
	"encoding/binary"
	"slices"
)

// NeedsDecompression reports from headers alone whether Prepare has to compress, decompress or convert records: work
// of up to milliseconds, which an event loop hands to a worker. It is false for what Prepare refuses at once.
func NeedsDecompression(input []byte, r Rules) bool {
	if r.Origin == Replication {
		return false
	}
	for len(input) > 0 {
		size, err := frame(input)
		if err != nil {
			return false
		}
		b := Batch(input[:size])
		if b.Magic() != currentMagic {
			return true
		}
		if c := b.Codec(); c != None || r.target(c, b.IsControl()) != c {
			return true
		}
		input = input[size:]
	}
	return false
}

// open returns a feed of what c compressed, on the budget of this call. The caller takes over what is left of that and
// releases the feed.
func (p *Prepared) open(c Codec, compressed []byte, magic int8) (*feed, error) {
	src, err := openSource(c, compressed, magic, p.budget)
	if err != nil {
		return nil, err
	}
	p.feed = feed{src: src, codec: c, left: p.budget}
	return &p.feed, nil
}

// compressed checks a compressed batch that is to stay so, piece by piece, and keeps its bytes.
func (p *Prepared) compressed(b Batch, r *Rules, w *walk) error {
	f, err := p.open(b.Codec(), b.records(), currentMagic)
	if err != nil {
		return err
	}
	err = w.stream(f, b.Count())
	p.budget = f.left
	f.release()
	if err == nil {
		err = w.verdict()
	}
	if err != nil {
		return err
	}
	p.keep(b, r, w)
	return nil
}

// recode checks a batch and adds it with its records compressed by target, in memory of its own.
func (p *Prepared) recode(b Batch, r *Rules, w *walk, target Codec) error {
	raw, err := p.decompress(b)
	if err != nil {
		return err
	}
	if err = w.plain(raw, b.Count()); err == nil {
		err = w.verdict()
	}
	if err != nil {
		return err
	}
	base := b.BaseTimestamp()
	if w.gaps || w.stamped { // gaps: of uncompressed records only, else there is a verdict
		raw, base = p.renumber(raw, b, w)
	}
	max, at := w.max, w.maxAt
	if r.LogAppendTime {
		max, at = r.Now, 0
	}
	start := p.rewrite()
	p.buf = append(p.buf, b[:HeaderSize]...)
	if p.buf, err = Compress(p.buf, raw, target, r.CompressionLevel); err != nil {
		return err
	}
	out := Batch(p.buf[start:])
	if err := checkSize(len(out), r); err != nil {
		return err
	}
	out.setHeader(attributes(target, r.LogAppendTime, b.IsTransactional(), b.IsControl()), base, max)
	p.add(out, max, at)
	return nil
}

// keptAtOnce is how many decompressed bytes are kept as they come. More are counted first: so a bomb, which is above the
// budget, does not take what the budget would let it have.
const keptAtOnce = 8 << 20

// decompress returns the records of b as they are, or in p.raw.
func (p *Prepared) decompress(b Batch) ([]byte, error) {
	if b.Codec() == None {
		return b.records(), nil
	}
	size, err := p.unpack(b, keptAtOnce)
	if err == nil && size > len(p.raw) {
		p.budget += size
		p.raw = slices.Grow(p.raw[:0], size)
		_, err = p.unpack(b, size)
	}
	return p.raw, err
}

// unpack decompresses the records of b, of which it keeps most bytes in p.raw, and returns their size.
func (p *Prepared) unpack(b Batch, most int) (size int, err error) {
	f, err := p.open(b.Codec(), b.records(), currentMagic)
	if err != nil {
		return 0, err
	}
	p.raw = p.raw[:0]
	for len(p.raw) < most && f.fill() {
		p.raw = append(p.raw, f.buf...)
		f.buf = nil
	}
	size = len(p.raw)
	for f.fill() {
		size += len(f.buf)
		f.buf = nil
	}
	p.budget = f.left
	if f.err != nil {
		err = f.err
	}
	f.release()
	return size, err
}

// renumber encodes the records of b, which a walk has found good, anew in p.fresh: with deltas 0, 1, 2, ... and, where
// the producer had stamped the batch as if it were a broker, that time in each.
func (p *Prepared) renumber(raw []byte, b Batch, w *walk) (fresh []byte, base int64) {
	base = b.BaseTimestamp()
	if w.stamped {
		base = w.stamp
	}
	p.fresh = p.fresh[:0]
	for n := int64(0); len(raw) > 0; n++ {
		size, at := varint(raw, 0)
		rec := raw[at : at+int(size)]
		raw = raw[at+int(size):]
		delta, i := varlong(rec, 1)
		_, i = varint(rec, i)
		if w.stamped {
			delta = 0
		}
		body := rec[i:] // key, value and headers
		p.fresh = appendVarint(p.fresh, int64(1+sizeVarint(delta)+sizeVarint(n)+len(body)))
		p.fresh = append(p.fresh, 0)
		p.fresh = appendVarint(p.fresh, delta)
		p.fresh = appendVarint(p.fresh, n)
		p.fresh = append(p.fresh, body...)
	}
	return p.fresh, base
}

// rewrite makes the outcome one in p.buf, with the batches so far, and returns where the next one begins there. The
// caller appends it to p.buf and adds it.
func (p *Prepared) rewrite() int {
	if !p.copied {
		p.buf = append(p.buf[:0], p.Bytes[:p.end()]...)
		p.copied = true
	}
	return len(p.buf)
}

// attributes makes the attributes of a magic 2 batch.
func attributes(c Codec, logAppendTime, transactional, control bool) int16 {
	a := int16(c)
	if logAppendTime {
		a |= logAppendTimeBit
	}
	if transactional {
		a |= transactionalBit
	}
	if control {
		a |= controlBit
	}
	return a
}

// setHeader fills in what depends on the finished records, and the CRC.
func (b Batch) setHeader(attributes int16, baseTimestamp, maxTimestamp int64) {
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthOverhead))
	binary.BigEndian.PutUint16(b[attributesAt:], uint16(attributes))
	binary.BigEndian.PutUint64(b[baseTimestampAt:], uint64(baseTimestamp))
	binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(maxTimestamp))
	b.seal()
}
