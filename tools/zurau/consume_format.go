package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// printer appends what is printed of a record.
type printer func(dst []byte, r *kgo.Record) []byte

const formatHelp = `  %v %s   value          %V %S   its length in bytes, -1 for null
  %k      key            %K      its length in bytes, -1 for null
  %t      topic          %p      partition
  %o      offset         %T      timestamp in ms
  %h      headers, key=value,key=value
  %%      a percent sign
  \n \t \r \0 \e \\ \xHH`

// fields are the letters of a format.
var fields = map[byte]printer{
	'v': func(b []byte, r *kgo.Record) []byte { return append(b, r.Value...) },
	'k': func(b []byte, r *kgo.Record) []byte { return append(b, r.Key...) },
	'V': func(b []byte, r *kgo.Record) []byte { return appendLength(b, r.Value) },
	'K': func(b []byte, r *kgo.Record) []byte { return appendLength(b, r.Key) },
	't': func(b []byte, r *kgo.Record) []byte { return append(b, r.Topic...) },
	'p': func(b []byte, r *kgo.Record) []byte { return strconv.AppendInt(b, int64(r.Partition), 10) },
	'o': func(b []byte, r *kgo.Record) []byte { return strconv.AppendInt(b, r.Offset, 10) },
	'T': func(b []byte, r *kgo.Record) []byte { return strconv.AppendInt(b, r.Timestamp.UnixMilli(), 10) },
	'h': appendHeaders,
	'%': func(b []byte, _ *kgo.Record) []byte { return append(b, '%') },
}

func appendLength(b, of []byte) []byte {
	if of == nil {
		return append(b, "-1"...)
	}
	return strconv.AppendInt(b, int64(len(of)), 10)
}

func appendHeaders(b []byte, r *kgo.Record) []byte {
	for i, h := range r.Headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, h.Key...), '='), h.Value...)
	}
	return b
}

// parseFormat compiles a template of kcat's kind.
func parseFormat(s string) (printer, error) {
	fields := func(c byte) (printer, bool) {
		if c == 's' || c == 'S' { // kcat's letters for the value
			c += 'v' - 's'
		}
		p, ok := fields[c]
		return p, ok
	}
	var parts []printer
	literal := func(s string) error {
		text, err := unescape(s)
		if err != nil {
			return err
		}
		if text != "" {
			parts = append(parts, func(b []byte, _ *kgo.Record) []byte { return append(b, text...) })
		}
		return nil
	}
	begin := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++ // whatever follows is not the start of a field
			continue
		}
		if s[i] != '%' {
			continue
		}
		if i+1 == len(s) {
			return nil, fmt.Errorf("it ends in a single %%")
		}
		p, ok := fields(s[i+1])
		if !ok {
			return nil, fmt.Errorf("unknown field %%%c", s[i+1])
		}
		if err := literal(s[begin:i]); err != nil {
			return nil, err
		}
		parts = append(parts, p)
		i++
		begin = i + 1
	}
	if err := literal(s[begin:]); err != nil {
		return nil, err
	}
	return func(b []byte, r *kgo.Record) []byte {
		for _, p := range parts {
			b = p(b, r)
		}
		return b
	}, nil
}

// printLines prints values, each with a newline; with a separator, keys before them; with a marker, it for null.
func printLines(separator, null []byte) printer {
	return func(b []byte, r *kgo.Record) []byte {
		if len(separator) > 0 {
			b = append(append(b, r.Key...), separator...)
		}
		if r.Value == nil {
			return append(append(b, null...), '\n')
		}
		return append(append(b, r.Value...), '\n')
	}
}

// printRaw prints values and nothing between them.
func printRaw(b []byte, r *kgo.Record) []byte { return append(b, r.Value...) }

// jsonRecord is what --json prints. Bytes that are not UTF-8 are in the field of base64 in place of the other.
type jsonRecord struct {
	Topic       string       `json:"topic"`
	Partition   int32        `json:"partition"`
	Offset      int64        `json:"offset"`
	Timestamp   int64        `json:"timestamp"` // ms
	Key         *string      `json:"key"`
	KeyBase64   string       `json:"keyBase64,omitempty"`
	Value       *string      `json:"value"`
	ValueBase64 string       `json:"valueBase64,omitempty"`
	Headers     []jsonHeader `json:"headers,omitempty"`
}

type jsonHeader struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 string  `json:"valueBase64,omitempty"`
}

func printJSON(b []byte, r *kgo.Record) []byte {
	j := jsonRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli()}
	j.Key, j.KeyBase64 = text(r.Key)
	j.Value, j.ValueBase64 = text(r.Value)
	for _, h := range r.Headers {
		jh := jsonHeader{Key: h.Key}
		jh.Value, jh.ValueBase64 = text(h.Value)
		j.Headers = append(j.Headers, jh)
	}
	line, err := json.Marshal(j)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(append(b, line...), '\n')
}

// text returns b as a string where it is one, else as base64.
func text(b []byte) (*string, string) {
	switch {
	case b == nil:
		return nil, ""
	case utf8.Valid(b):
		s := string(b)
		return &s, ""
	}
	return nil, base64.StdEncoding.EncodeToString(b)
}
