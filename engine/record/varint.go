package record

// Varints are Protocol Buffers' zigzag ones, as Kafka writes them: up to 5 bytes for 32 bits, 10 for 64; more is an
// error, bits that do not fit are dropped, encodings longer than needed are read.
//
// The functions take the slice and the position of a varint and return its value and the position behind it. At a fault
// they return len(b)+1, and given such a position they return it again: a reader of several fields checks once at its end.

// varint reads 32 bits. One byte, the usual case, is inlined.
func varint(b []byte, i int) (int32, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int32(b[i]>>1) ^ -int32(b[i]&1), i + 1
	}
	return varintLong(b, i)
}

//go:noinline
func varintLong(b []byte, i int) (int32, int) {
	var u uint32
	for shift := 0; shift < 35 && uint(i) < uint(len(b)); shift += 7 {
		c := b[i]
		i++
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i
		}
	}
	return 0, len(b) + 1
}

// varlong reads 64 bits.
func varlong(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return varlongLong(b, i)
}

//go:noinline
func varlongLong(b []byte, i int) (int64, int) {
	var u uint64
	for shift := 0; shift < 70 && uint(i) < uint(len(b)); shift += 7 {
		c := b[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i
		}
	}
	return 0, len(b) + 1
}

// appendVarint appends v, 32 or 64 bits alike.
func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// sizeVarint is the number of bytes that appendVarint appends.
func sizeVarint(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
