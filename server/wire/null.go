package wire

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errNullList closes a connection, as in Kafka.
var errNullList = errors.New("a list is null, which it must not be")

// nullList reports whether a body has null where req, which was read from it, must have a list. kmsg takes such a null for
// an empty list, so the structure does not tell; but written again it has the empty list where the body has null, and the
// two are the same before that:
//
//	lengths of 4 bytes   ff ff ff ff, and what else is negative, is null; 00 00 00 00 is an empty list
//	compact lengths      00 is null; 01 is an empty list
//
// Nothing else is read from the first and written as the second. Behind something that is written otherwise for another reason
// (a tag that is not known or has its default) a null passes for an empty list, which does no harm: the rule is what clients
// are held to, not what the broker rests on.
func nullList(body []byte, req kmsg.Request) bool {
	h := GetHead()
	defer h.Release()
	h.B = req.AppendTo(h.B)
	for i, b := range h.B {
		switch {
		case i == len(body):
			return false
		case body[i] == b:
		case req.IsFlexible():
			return body[i] == 0 && b == 1
		default:
			return body[i]&0x80 != 0 && b == 0
		}
	}
	return false
}
