package group

import "unicode/utf16"

// PartitionFor returns the partition of __consumer_offsets that holds a group: Java's String.hashCode of the id, over
// its UTF-16 units, made positive, modulo the number of partitions.
func PartitionFor(group string, partitions int32) int32 {
	h := int32(0)
	for _, r := range group {
		if r1, r2 := utf16.EncodeRune(r); r > 0xFFFF {
			h = 31*(31*h+r1) + r2
			continue
		}
		h = 31*h + r
	}
	if h < 0 {
		h = -h
	}
	if h < 0 {
		h = 0 // the least integer has no positive twin; Kafka says 0
	}
	return h % partitions
}

// utf16Len returns the length of s as Java counts.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
