package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// Span is a part of a file of batches: one batch, or bytes between batches that are none.
type Span struct {
	Position, End int64
	// Batch is the whole batch, valid until the next Span; nil where the bytes are not framed as one.
	Batch record.Batch
	// Err says what is wrong, nil for a good batch.
	Err error
	// Zeros says that the bytes, from here to the end of the file, are zeros: space that was laid ahead.
	Zeros bool
}

const (
	windowBytes = 1 << 20
	headerBytes = record.HeaderSize
	// maxBatch is more than any broker takes (max.message.bytes), and what a length is believed up to.
	maxBatch = 1 << 30
	// maxGap is how many offsets may be missing behind a bad place. It keeps bytes that only look like a batch from being
	// read and reckoned as one.
	maxGap = 1 << 40
)

// Scan visits a file of batches from its start to its end, behind damage too. Behind a bad place it goes on at the next
// batch with a right checksum. base is the offset in the file's name, or 0. An error is one of reading, or visit's.
func Scan(f io.ReaderAt, size, base int64, visit func(Span) error) error {
	return scanBelow(f, size, base, math.MaxInt64, visit)
}

// scanBelow is Scan for a file whose batches have offsets below a limit, by what is known from elsewhere.
func scanBelow(f io.ReaderAt, size, base, limit int64, visit func(Span) error) error {
	s := scanner{f: f, size: size, expected: max(base, 0), limit: limit}
	for at := int64(0); at < size; {
		span, err := s.next(at)
		if err != nil {
			return err
		}
		if err := visit(span); err != nil {
			return err
		}
		at = span.End
	}
	return nil
}

type scanner struct {
	f        io.ReaderAt
	size     int64
	buf      []byte // of the file from start
	start    int64
	expected int64 // the least offset that the next batch can have
	limit    int64 // above all offsets
}

// bytes returns n bytes at a position, from the window. They are valid until the next call.
func (s *scanner) bytes(at int64, n int) ([]byte, error) {
	if at < s.start || at+int64(n) > s.start+int64(len(s.buf)) {
		want := int(min(max(int64(n), windowBytes), s.size-at))
		if cap(s.buf) < want {
			s.buf = make([]byte, want)
		}
		s.buf, s.start = s.buf[:want], at
		if m, err := s.f.ReadAt(s.buf, at); m < want {
			return nil, fmt.Errorf("read %d bytes at position %d: %w", want, at, err)
		}
	}
	return s.buf[at-s.start:][:n], nil
}

// next returns the span at a position.
func (s *scanner) next(at int64) (Span, error) {
	size, reason, err := s.frame(at)
	if err != nil {
		return Span{}, err
	}
	if reason != nil {
		if old := segment.OldMessage(s.f, at, s.size); old != nil {
			reason = old
		}
		return s.gap(at, reason)
	}
	b, err := s.bytes(at, int(size))
	if err != nil {
		return Span{}, err
	}
	batch := record.Batch(b)
	if err := batch.Check(); err != nil {
		// The length may be what is wrong. If nothing looks like a batch where it ends, look for the next one.
		if end := at + size; end < s.size {
			if _, reason, rerr := s.frame(end); rerr != nil || reason != nil {
				return s.gap(at, err)
			}
			if batch, rerr := s.bytes(at, int(size)); rerr == nil {
				return Span{Position: at, End: end, Batch: batch, Err: err}, nil
			}
		}
		b, rerr := s.bytes(at, int(size))
		return Span{Position: at, End: at + size, Batch: b, Err: err}, rerr
	}
	if off, err := s.offsetIsWrong(batch, at+size); off != nil || err != nil {
		b, rerr := s.bytes(at, int(size)) // the look ahead may have moved the window
		return Span{Position: at, End: at + size, Batch: b, Err: off}, errors.Join(err, rerr)
	}
	if b, err = s.bytes(at, int(size)); err != nil {
		return Span{}, err
	}
	batch = record.Batch(b)
	s.expected = max(s.expected, batch.LastOffset()+1)
	return Span{Position: at, End: at + size, Batch: batch}, nil
}

// offsetIsWrong says what is wrong with the base offset of a good batch that ends at a position; its checksum does not
// cover it. It is wrong where it is ahead of what is expected, and offsets that come next, in the next good batch or in the
// next segment, are not behind it.
func (s *scanner) offsetIsWrong(b record.Batch, end int64) (wrong, err error) {
	base, last := b.BaseOffset(), b.LastOffset()
	switch {
	case base <= s.expected:
		return nil, nil
	case base-s.expected > maxGap || last < base:
		return fmt.Errorf("base offset %d", base), nil
	case last >= s.limit && s.expected < s.limit:
		return fmt.Errorf("base offset %d, and the next segment starts at %d", base, s.limit), nil
	}
	for ; end+record.HeaderSize <= s.size; end++ {
		good, err := s.goodAt(&end)
		if err != nil {
			return nil, err
		}
		if !good {
			continue
		}
		h, err := s.bytes(end, record.HeaderSize)
		if next := record.Batch(h); err == nil && next.BaseOffset() <= last {
			wrong = fmt.Errorf("base offset %d, and a batch behind it has %d", base, next.BaseOffset())
		}
		return wrong, err
	}
	return nil, nil
}

// frame returns the size of the batch at a position, or the reason why there can be none.
func (s *scanner) frame(at int64) (size int64, reason, err error) {
	if s.size-at < record.HeaderSize {
		return 0, fmt.Errorf("%d bytes are less than the header of a batch (%d)", s.size-at, record.HeaderSize), nil
	}
	h, err := s.bytes(at, record.HeaderSize)
	if err != nil {
		return 0, nil, err
	}
	b := record.Batch(h)
	switch size = int64(b.Size()); {
	case b.Magic() != 2:
		return 0, fmt.Errorf("magic %d where a batch has 2", b.Magic()), nil
	case size < record.HeaderSize || size > maxBatch:
		return 0, fmt.Errorf("a batch of %d bytes, which none has", size), nil
	case at+size > s.size:
		return 0, fmt.Errorf("a batch of %d bytes with %d left in the file", size, s.size-at), nil
	}
	return size, nil, nil
}

// gap returns the span from a bad place to the next good batch, or to the end of the file.
func (s *scanner) gap(at int64, reason error) (Span, error) {
	zeros, err := s.zerosToEnd(at)
	if err != nil {
		return Span{}, err
	}
	if zeros {
		return Span{Position: at, End: s.size, Err: reason, Zeros: true}, nil
	}
	end := at + 1
	for ; end+record.HeaderSize <= s.size; end++ {
		good, err := s.goodAt(&end)
		if err != nil {
			return Span{}, err
		}
		if good {
			return Span{Position: at, End: end, Err: reason}, nil
		}
	}
	return Span{Position: at, End: s.size, Err: reason}, nil
}

// goodAt reports whether a good batch starts at a position. It moves the position to the byte before the next one that
// could be the start of one.
func (s *scanner) goodAt(at *int64) (bool, error) {
	const magicAt = 16
	n := int(min(64<<10, s.size-*at))
	w, err := s.bytes(*at, n)
	if err != nil {
		return false, err
	}
	i := bytes.IndexByte(w[magicAt:], 2)
	if i < 0 {
		*at += int64(n) - magicAt - 1
		return false, nil
	}
	*at += int64(i)
	size, reason, err := s.frame(*at)
	if err != nil || reason != nil {
		return false, err
	}
	h, err := s.bytes(*at, record.HeaderSize)
	if err != nil {
		return false, err
	}
	if base := record.Batch(h).BaseOffset(); base < s.expected || base-s.expected > maxGap {
		return false, nil // no batch that could follow; and its checksum need not be reckoned
	}
	b, err := s.bytes(*at, int(size))
	return err == nil && record.Batch(b).Check() == nil, err
}

func (s *scanner) zerosToEnd(at int64) (bool, error) {
	for at < s.size {
		n := int(min(64<<10, s.size-at))
		b, err := s.bytes(at, n)
		if err != nil {
			return false, err
		}
		for _, c := range b {
			if c != 0 {
				return false, nil
			}
		}
		at += int64(n)
	}
	return true, nil
}
