package wire

import (
	"iter"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Stats count what is served of a table, for an operator. Without them (Server.Stats is nil) nothing is counted.
type Stats struct {
	byKey map[int16]*KeyStats
}

// NewStats returns the stats of a table.
func NewStats(t *Table) *Stats {
	s := &Stats{byKey: make(map[int16]*KeyStats, len(t.all))}
	for _, h := range t.all {
		answer := reflect.TypeOf(kmsg.RequestForKey(h.Key).ResponseKind()).Elem()
		s.byKey[h.Key] = &KeyStats{codes: codesOf(answer)}
	}
	return s
}

// All visits the stats of each API that is served, by its key.
func (s *Stats) All() iter.Seq2[int16, *KeyStats] {
	return func(yield func(int16, *KeyStats) bool) {
		for key, k := range s.byKey {
			if !yield(key, k) {
				return
			}
		}
	}
}

// KeyStats are those of one API.
type KeyStats struct {
	// Latency is from a request's start, in its turn, to its answer: waits for records, members and disks are in it, and
	// the time that the answer takes to leave is not. Requests that have no answer (acks=0) count, those whose connection was closed do not.
	Latency Histogram
	// In and Out are the bytes of requests and answers, with their sizes.
	In, Out atomic.Int64

	codes  *codes
	errors [maxCode + 2]atomic.Uint64 // from code -1 on
}

// maxCode is above all of Kafka's error codes.
const maxCode = 255

// Errors visits the error codes that answers had, and how many of each: one answer may have many, one for each partition.
func (k *KeyStats) Errors() iter.Seq2[int16, uint64] {
	return func(yield func(int16, uint64) bool) {
		for i := range k.errors {
			if n := k.errors[i].Load(); n > 0 && !yield(int16(i-1), n) {
				return
			}
		}
	}
}

func (k *KeyStats) failed(code int16) {
	if code != 0 && code >= -1 && code <= maxCode {
		k.errors[code+1].Add(1)
	}
}

// ended counts a request that was answered with so many bytes.
func (k *KeyStats) ended(began time.Time, out int) {
	k.Latency.Observe(time.Since(began))
	k.Out.Add(int64(out))
}

// codes is where an answer has its error codes: fields named ErrorCode, in it and in its lists.
type codes struct {
	own   []int // of fields
	lists []codeList
}

type codeList struct {
	field int
	codes *codes
}

// codesOf finds the error codes of a structure; nil where there are none.
func codesOf(t reflect.Type) *codes {
	c := &codes{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Name == "ErrorCode" && f.Type.Kind() == reflect.Int16:
			c.own = append(c.own, i)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			if in := codesOf(f.Type.Elem()); in != nil {
				c.lists = append(c.lists, codeList{i, in})
			}
		}
	}
	if len(c.own)+len(c.lists) == 0 {
		return nil
	}
	return c
}

// count counts the error codes of an answer.
func (k *KeyStats) count(c *codes, v reflect.Value) {
	if c == nil {
		return
	}
	for _, i := range c.own {
		k.failed(int16(v.Field(i).Int()))
	}
	for _, l := range c.lists {
		for list, i := v.Field(l.field), 0; i < list.Len(); i++ {
			k.count(l.codes, list.Index(i))
		}
	}
}
