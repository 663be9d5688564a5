package logfile

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zurau/zurau/engine/record"
)

// Item is one thing in a file. It prints itself for people on one line, and is encoded as a JSON object whose field
// "type" names what it is.
type Item fmt.Stringer

// FileItem opens what Dump gives of a file.
type FileItem struct {
	Type  string `json:"type"` // file
	File  string `json:"file"`
	Kind  Kind   `json:"kind"`
	Bytes int64  `json:"bytes"`
}

func (i FileItem) String() string { return fmt.Sprintf("%s: %s, %d bytes", i.File, i.Kind, i.Bytes) }

// BatchItem is a record batch.
type BatchItem struct {
	Type            string `json:"type"` // batch
	Position        int64  `json:"position"`
	Bytes           int    `json:"bytes"`
	BaseOffset      int64  `json:"baseOffset"`
	LastOffset      int64  `json:"lastOffset"`
	Count           int32  `json:"count"`
	LeaderEpoch     int32  `json:"leaderEpoch"`
	Codec           string `json:"codec"`
	BaseTimestamp   int64  `json:"baseTimestamp"`
	MaxTimestamp    int64  `json:"maxTimestamp"`
	TimestampType   string `json:"timestampType"`
	ProducerID      int64  `json:"producerId"`
	ProducerEpoch   int16  `json:"producerEpoch"`
	BaseSequence    int32  `json:"baseSequence"`
	LastSequence    int32  `json:"lastSequence"`
	Transactional   bool   `json:"transactional"`
	Control         bool   `json:"control"`
	DeleteHorizonMs *int64 `json:"deleteHorizonMs,omitempty"`
	CRC             uint32 `json:"crc"`
	Error           string `json:"error,omitempty"`
}

func batchItem(s Span) BatchItem {
	b := s.Batch
	i := BatchItem{Type: "batch", Position: s.Position, Bytes: len(b), BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(),
		Count: b.Count(), LeaderEpoch: b.PartitionLeaderEpoch(), Codec: codecName(b.Codec()), BaseTimestamp: b.BaseTimestamp(),
		MaxTimestamp: b.MaxTimestamp(), TimestampType: "CreateTime", ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(), Transactional: b.IsTransactional(), Control: b.IsControl(),
		CRC: b.CRC()}
	if b.IsLogAppendTime() {
		i.TimestampType = "LogAppendTime"
	}
	if b.HasDeleteHorizon() {
		at := b.BaseTimestamp()
		i.DeleteHorizonMs = &at
	}
	if s.Err != nil {
		i.Error = s.Err.Error()
	}
	return i
}

func codecName(c record.Codec) string {
	if c == record.None {
		return "none"
	}
	return c.String()
}

func (i BatchItem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "position %d batch of %d bytes offsets %d to %d count %d epoch %d codec %s %s %d to %d", i.Position, i.Bytes,
		i.BaseOffset, i.LastOffset, i.Count, i.LeaderEpoch, i.Codec, i.TimestampType, i.BaseTimestamp, i.MaxTimestamp)
	if i.ProducerID >= 0 {
		fmt.Fprintf(&b, " producer %d epoch %d sequences %d to %d", i.ProducerID, i.ProducerEpoch, i.BaseSequence, i.LastSequence)
	}
	if i.Transactional {
		b.WriteString(" transactional")
	}
	if i.Control {
		b.WriteString(" control")
	}
	if i.DeleteHorizonMs != nil {
		fmt.Fprintf(&b, " delete horizon %d", *i.DeleteHorizonMs)
	}
	fmt.Fprintf(&b, " crc %08x", i.CRC)
	if i.Error != "" {
		b.WriteString(" BAD: " + i.Error)
	}
	return b.String()
}

// BytesItem is a part of a file that is not what the file holds.
type BytesItem struct {
	Type     string `json:"type"` // bytes
	Position int64  `json:"position"`
	Bytes    int64  `json:"bytes"`
	Zeros    bool   `json:"zeros"`
	Error    string `json:"error,omitempty"`
}

func (i BytesItem) String() string {
	if i.Zeros {
		return fmt.Sprintf("position %d %d bytes of zeros to the end", i.Position, i.Bytes)
	}
	return fmt.Sprintf("position %d %d bytes BAD: %s", i.Position, i.Bytes, i.Error)
}

// RecordItem is a record of a batch.
type RecordItem struct {
	Type      string       `json:"type"` // record
	Offset    int64        `json:"offset"`
	Timestamp int64        `json:"timestamp"`
	Key       *Data        `json:"key"`
	Value     *Data        `json:"value"`
	Headers   []HeaderItem `json:"headers,omitempty"`
	// Marker is what a control record of a transaction says: commit or abort.
	Marker string `json:"marker,omitempty"`
	most   int    // bytes to print
}

// HeaderItem is a header of a record.
type HeaderItem struct {
	Key   string `json:"key"`
	Value *Data  `json:"value"`
}

func (i RecordItem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  offset %d timestamp %d", i.Offset, i.Timestamp)
	if i.Marker != "" {
		b.WriteString(" marker " + i.Marker)
		return b.String()
	}
	fmt.Fprintf(&b, " key %s value %s", i.Key.print(i.most), i.Value.print(i.most))
	for _, h := range i.Headers {
		fmt.Fprintf(&b, " header %s=%s", strconv.Quote(h.Key), h.Value.print(i.most))
	}
	return b.String()
}

// Data is bytes of a record; nil is null. In JSON it is a string where the bytes are UTF-8, else an object with the
// field base64.
type Data []byte

func dataOf(b []byte) *Data {
	if b == nil {
		return nil
	}
	return (*Data)(&b)
}

// MarshalJSON implements json.Marshaler.
func (d Data) MarshalJSON() ([]byte, error) {
	if utf8.Valid(d) {
		return jsonString(string(d)), nil
	}
	return []byte(`{"base64":"` + base64.StdEncoding.EncodeToString(d) + `"}`), nil
}

// print returns at most so many bytes (0: all), quoted where they are printable text, else in hexadecimal.
func (d *Data) print(most int) string {
	if d == nil {
		return "null"
	}
	b, rest := []byte(*d), ""
	if most > 0 && len(b) > most {
		for b = b[:most]; len(b) > 0 && !utf8.Valid(b) && most-len(b) < utf8.UTFMax; {
			b = b[:len(b)-1] // a character that the limit cut
		}
		if len(b) == 0 || !utf8.Valid(b) {
			b = []byte(*d)[:most]
		}
		rest = fmt.Sprintf("... of %d bytes", len(*d))
	}
	if printable(b) {
		return strconv.Quote(string(b)) + rest
	}
	return "0x" + hex.EncodeToString(b) + rest
}

func printable(b []byte) bool {
	return utf8.Valid(b) && strings.IndexFunc(string(b), func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r'
	}) < 0
}
