package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// ID is a Kafka uuid: a topic id or a directory id. Its zero value means none.
type ID = [16]byte

// FormatID returns id as Kafka writes it: 22 characters of URL base64.
func FormatID(id ID) string {
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// ParseID is the reverse of FormatID; as in Kafka, padding may be there.
func ParseID(s string) (id ID, err error) {
	if len(s) > 24 { // 16 bytes with padding
		return ID{}, fmt.Errorf("id %q has more than 24 characters", clip(s))
	}
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(b) != len(id) {
		return ID{}, fmt.Errorf("id %q is not 16 bytes in URL base64", s)
	}
	return ID(b), nil
}
