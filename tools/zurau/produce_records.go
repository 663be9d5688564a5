package main

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// cutting says how the input becomes records.
type cutting struct {
	separator []byte // between key and value; empty: no keys
	marker    []byte // stands for the value null, if marked
	marked    bool
	size      int // of each record in bytes; 0: lines
	headers   []kgo.RecordHeader
	limit     int // largest line or record in bytes
}

// Bounds of what a batch of one record needs beside the record's key and value: the header of the batch (61 bytes),
// what the client adds in its own reckoning (5), and the varints around the record (30).
const (
	recordOverhead = 100
	headerOverhead = 10
)

// fit sets the limit for batches of a topic that may have so many bytes.
func (c *cutting) fit(topic string, batch int) error {
	c.limit = batch - recordOverhead
	for _, h := range c.headers {
		c.limit -= headerOverhead + len(h.Key) + len(h.Value)
	}
	if c.limit < 1 || c.size > c.limit {
		return usagef("--record-bytes %d: a batch of topic %s may have %d bytes, and with what is around it a record may have %d; "+
			"cut smaller, or raise the topic's max.message.bytes", c.size, topic, batch, max(c.limit, 0))
	}
	return nil
}

// cutter cuts the input, which comes piece by piece, into records. Their bytes alias the pieces.
type cutter struct {
	cutting
	number int64  // of the record, from 1
	carry  []byte // the begin of a record that the pieces so far do not end
}

// take cuts the records out of a piece and gives them to emit.
func (c *cutter) take(piece []byte, emit func(key, value []byte) error) error {
	for len(piece) > 0 {
		n, skip := c.end(piece)
		if n < 0 {
			c.carry = append(c.carry, piece...)
			if len(c.carry) > c.limit {
				return c.tooLong()
			}
			return nil
		}
		whole := piece[:n:n]
		if len(c.carry) > 0 {
			whole = append(c.carry, whole...)
			c.carry = nil
		}
		if err := c.record(whole, emit); err != nil {
			return err
		}
		piece = piece[n+skip:]
	}
	return nil
}

// end returns where in piece the record ends, -1 for not there, and how many bytes divide it from the next.
func (c *cutter) end(piece []byte) (n, skip int) {
	if c.size == 0 {
		return bytes.IndexByte(piece, '\n'), 1
	}
	if n = c.size - len(c.carry); n > len(piece) {
		n = -1
	}
	return n, 0
}

// finish emits the record that the input ends in: a last line without a newline, or less than a whole size.
func (c *cutter) finish(emit func(key, value []byte) error) error {
	if len(c.carry) == 0 {
		return nil
	}
	return c.record(c.carry, emit)
}

func (c *cutter) record(whole []byte, emit func(key, value []byte) error) error {
	c.number++
	if len(whole) > c.limit {
		c.number--
		return c.tooLong()
	}
	var key []byte
	value := whole
	if len(c.separator) > 0 {
		var ok bool
		if key, value, ok = bytes.Cut(whole, c.separator); !ok {
			return fmt.Errorf("line %d has no key separator %q", c.number, c.separator)
		}
	}
	if value == nil {
		value = []byte{} // nil would be null
	}
	if c.marked && bytes.Equal(value, c.marker) {
		value = nil
	}
	return emit(key, value)
}

func (c *cutter) tooLong() error {
	return fmt.Errorf("line %d is longer than %d bytes, the most that the topic's max.message.bytes or --batch-bytes allow", c.number+1, c.limit)
}
