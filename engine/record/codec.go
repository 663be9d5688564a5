package record

import "strconv"

// Codec is how the records of a batch are compressed: bits 0 to 2 of its attributes.
type Codec int8

const (
	// Producer stands in Rules for "as the producer sent it". No batch has it.
	Producer Codec = -1

	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// Known reports whether a batch may have c.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String returns Kafka's name of the codec, as in the topic property compression.type.
func (c Codec) String() string {
	switch c {
	case Producer:
		return "producer"
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "codec " + strconv.Itoa(int(c))
}

// ParseCodec returns the codec with one of Kafka's names. Kafka knows None as "uncompressed" in the topic property
// compression.type and as "none" in producers; both are taken.
func ParseCodec(name string) (Codec, bool) {
	if name == "uncompressed" {
		return None, true
	}
	for c := Producer; c <= Zstd; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}
