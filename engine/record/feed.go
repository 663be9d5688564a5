package record

import (
	"encoding/binary"
	"io"
)

// feed hands the bytes of a source to a walk and counts them against a budget.
type feed struct {
	src   source
	codec Codec
	buf   []byte // what is left of the current piece
	taken int    // bytes handed out so far but for buf
	left  int    // of the budget
	err   *Error // what ended the feed, but for its regular end
}

// release gives the source back. The feed is over.
func (f *feed) release() {
	f.src.release()
	f.src, f.buf = nil, nil
}

// fill gets the next piece once buf is empty. It reports false at the end and at an error, which f.err tells apart.
func (f *feed) fill() bool {
	for f.err == nil {
		b, err := f.src.next()
		f.left -= len(b)
		if f.left < 0 {
			err = errBomb
		}
		if len(b) > 0 && (err == nil || err == io.EOF) {
			f.buf = b
			return true
		}
		if err == io.EOF {
			return false
		}
		if err != nil {
			f.err = decodeError(f.codec, err)
		}
	}
	return false
}

// short is the error where the feed ends before the records do.
func (f *feed) short() error {
	if f.err == nil {
		f.err = errorf(InvalidRecord, "Incorrect declared batch size, premature EOF reached")
	}
	return f.err
}

func (f *feed) byte() (byte, bool) {
	if len(f.buf) == 0 && !f.fill() {
		return 0, false
	}
	c := f.buf[0]
	f.buf = f.buf[1:]
	f.taken++
	return c, true
}

// varlong reads a varint of at most most bytes, 5 for 32 bits and 10 for 64. It reports false at the end, at an error
// and at a varint that is too long.
func (f *feed) varlong(most int) (int64, bool) {
	var u uint64
	for shift := 0; shift < 7*most; shift += 7 {
		c, ok := f.byte()
		if !ok {
			return 0, false
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if most == 5 {
				u = uint64(uint32(u))
			}
			return int64(u>>1) ^ -int64(u&1), true
		}
	}
	return 0, false
}

func (f *feed) varint() (int32, bool) {
	v, ok := f.varlong(5)
	return int32(v), ok
}

// skip passes over n bytes, none where n is negative: that is null.
func (f *feed) skip(n int32) bool {
	for n > 0 {
		if len(f.buf) == 0 && !f.fill() {
			return false
		}
		k := min(int(n), len(f.buf))
		f.buf = f.buf[k:]
		f.taken += k
		n -= int32(k)
	}
	return true
}

// rest appends everything that is left to dst.
func (f *feed) rest(dst []byte) ([]byte, error) {
	for {
		dst = append(dst, f.buf...)
		f.buf = nil
		if !f.fill() {
			break
		}
	}
	if f.err != nil {
		return dst, f.err
	}
	return dst, nil
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// stream walks the records that f hands out, which must be exactly count, as plain does for those in memory.
func (w *walk) stream(f *feed, count int32) error {
	for n := int32(0); n < count; n++ {
		// Most records lie within one piece.
		size, at := varint(f.buf, 0)
		if at > len(f.buf) || size < 0 || int(size) > len(f.buf)-at {
			if err := w.streamSlow(f, n); err != nil {
				return err
			}
			continue
		}
		end := at + int(size)
		h, ok := readHead(f.buf[:end], at)
		if !ok {
			return errorf(InvalidRecord, "Found invalid record structure in record %d", n)
		}
		f.buf = f.buf[end:]
		w.see(n, h)
	}
	if len(f.buf) > 0 || f.fill() {
		return errorf(InvalidRecord, "Incorrect declared batch size, records still remaining in file behind %d records", count)
	}
	if f.err != nil {
		return f.err
	}
	return nil
}

// streamSlow reads a record that reaches over the end of a piece, or is bad.
func (w *walk) streamSlow(f *feed, n int32) error {
	size, ok := f.varint()
	if !ok {
		return f.short()
	}
	start := f.taken
	h, ok := f.head()
	if f.err != nil {
		return f.err
	}
	if !ok || f.taken-start != int(size) {
		return errorf(InvalidRecord, "Found invalid record structure in record %d", n)
	}
	w.see(n, h)
	return nil
}

// head reads a record behind its length.
func (f *feed) head() (h head, ok bool) {
	if _, ok = f.byte(); !ok {
		return h, false
	}
	if h.timestampDelta, ok = f.varlong(10); !ok {
		return h, false
	}
	if h.offsetDelta, ok = f.varint(); !ok {
		return h, false
	}
	key, ok := f.varint()
	h.noKey = key < 0
	if !ok || !f.skip(key) {
		return h, false
	}
	value, ok := f.varint()
	if !ok || !f.skip(value) {
		return h, false
	}
	headers, ok := f.varint()
	if !ok || headers < 0 {
		return h, false
	}
	for ; headers > 0; headers-- {
		key, ok := f.varint()
		if !ok || key < 0 || !f.skip(key) {
			return h, false
		}
		value, ok := f.varint()
		if !ok || !f.skip(value) {
			return h, false
		}
	}
	return h, true
}
