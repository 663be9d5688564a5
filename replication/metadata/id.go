package metadata

import (
	"encoding/base64"
	"fmt"
	"io"
)

// ID is a UUID: a topic's, a log directory's, a broker incarnation's. The zero ID means none, as in Kafka.
type ID [16]byte

// String returns Kafka's text form: base64 with the URL alphabet and no padding, 22 characters.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports whether the ID is absent.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads Kafka's text form.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(id) {
		return ID{}, fmt.Errorf("id %q: not 22 characters of URL-safe base64", s)
	}
	copy(id[:], b)
	return id, nil
}

// NewID reads a random version 4 UUID from rand, and never one of those that Kafka keeps for itself: the first
// hundred values (log directory states live there) and those whose text starts with a dash (they look like an option
// on a command line).
func NewID(rand io.Reader) (ID, error) {
	for {
		var id ID
		if _, err := io.ReadFull(rand, id[:]); err != nil {
			return ID{}, fmt.Errorf("random id: %w", err)
		}
		id[6] = id[6]&0x0f | 0x40 // version 4
		id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
		// The version bits keep it out of Kafka's reserved first hundred.
		if id.String()[0] != '-' {
			return id, nil
		}
	}
}
