package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// errShort is returned for a frame that ends before its header does.
var errShort = errors.New("request header is cut off")

// apiVersions is the key whose requests are answered whatever their version, and whose answers have a header without
// tags.
const apiVersions = 18

// header is the start of a request.
type header struct {
	key, version int16
	correlation  int32
	clientID     *string
}

// peek reads key and version, which decide how the rest is laid out.
func peek(frame []byte) (h header, err error) {
	if len(frame) < 8 {
		return h, errShort
	}
	h.key = int16(binary.BigEndian.Uint16(frame))
	h.version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	return h, nil
}

// rest reads what follows, and returns the body. A client id that is that of the request before is not copied again.
func (h *header) rest(frame []byte, flexible bool, before *string) (body []byte, err error) {
	r := kbin.Reader{Src: frame[8:]}
	switch n := r.Int16(); {
	case n >= 0:
		b := r.Span(int(n))
		if h.clientID = before; before == nil || *before != string(b) {
			s := string(b)
			h.clientID = &s
		}
	case n < -1:
		r.Span(-1) // fails
	}
	if flexible {
		skipTags(&r)
	}
	if !r.Ok() {
		return nil, fmt.Errorf("header of key %d, version %d: %w", h.key, h.version, errShort)
	}
	return r.Src, nil
}

// skipTags passes over tagged fields: unknown ones are ignored (KIP-482).
func skipTags(r *kbin.Reader) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		r.Uvarint()
		r.Span(int(r.Uvarint()))
	}
}

// appendHeader appends the start of an answer, with room for its size.
func appendHeader(b []byte, correlation int32, tags bool) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	if tags {
		b = append(b, 0)
	}
	return b
}
