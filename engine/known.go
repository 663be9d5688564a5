package engine

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// knownName is our own file at the root: what a start would find in the folders of logs that it need not look at. Kafka passes it
// over. Its absence is never an error, and nothing in it is believed but
//
//   - after an orderly stop, where it names the very .kafka_cleanshutdown that is there: nobody has used the directory since;
//   - after a kill, where it was written in this run of the machine: the page cache has all that the killed process wrote;
//
// and then of a log whose folder and whose newest files are what they were when its entry was written, by their stamps, and
// whose recovery point is where the entry ends. The others are opened from their folders.
//
//	 0            8         12        16
//	+------------+---------+---------+------------------+---------+---- ...
//	| "zurauKL1" | length  | CRC-32C | kind and payload | length  | ...
//	+------------+---------+---------+------------------+---------+---- ...
//
// Numbers are little endian, the checksum is that of kind and payload, and the file ends with the first frame that is not whole. The
// kinds are the run of the machine that it is written in (fs.FS.Boot), an entry of a log (the last one counts), and the stamp
// of .kafka_cleanshutdown.
const knownName = "zurau-logs"

const (
	knownMagic  = "zurauKL1"
	frameHeader = 8

	bootFrame byte = 1
	logFrame  byte = 2
	markFrame byte = 3
)

// appendFrame appends one frame.
func appendFrame(b []byte, kind byte, payload []byte) []byte {
	o := binary.LittleEndian
	sum := crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
	b = o.AppendUint32(b, uint32(1+len(payload)))
	b = o.AppendUint32(b, sum)
	return append(append(b, kind), payload...)
}

// eachFrame tells of the whole frames of a file's content, and returns where they end.
func eachFrame(b []byte, visit func(kind byte, payload []byte)) (end int) {
	if len(b) < len(knownMagic) || string(b[:len(knownMagic)]) != knownMagic {
		return 0
	}
	o := binary.LittleEndian
	for end = len(knownMagic); len(b)-end >= frameHeader; {
		n := int64(o.Uint32(b[end:]))
		if n < 1 || n > int64(len(b)-end-frameHeader) {
			break
		}
		frame := b[end+frameHeader:][:n]
		if crc32.Checksum(frame, castagnoli) != o.Uint32(b[end+4:]) {
			break
		}
		visit(frame[0], frame[1:])
		end += frameHeader + int(n)
	}
	return end
}

// A knownLog is what a start finds in the folder of a log that is at rest: everything below its end is flushed.
type knownLog struct {
	name   Name
	id     [16]byte
	stamps [4]fs.Stamp // of the folder, and of the last segment's log file, offset index and time index
	end    int64
	stored int64 // offset of the newest producer snapshot
	// producers is their state at the end, as a snapshot has it.
	producers []byte
	epochs    []checkpoint.Epoch
	segments  []segment.Kept // ascending, the last one is active
}

var errKnown = errors.New("not an entry of a log")

// appendKnown appends an entry: numbers are varints, strings follow their length.
func appendKnown(b []byte, k *knownLog) []byte {
	num := func(list ...int64) {
		for _, v := range list {
			b = binary.AppendVarint(b, v)
		}
	}
	b = append(appendName(b, k.name), k.id[:]...)
	for _, s := range k.stamps {
		b = appendStamp(b, s)
	}
	num(k.end, k.stored, int64(len(k.producers)))
	b = append(b, k.producers...)
	num(int64(len(k.epochs)))
	for _, e := range k.epochs {
		num(int64(e.Epoch), e.StartOffset)
	}
	num(int64(len(k.segments)))
	for i := range k.segments {
		s := &k.segments[i]
		num(s.Base, s.Size, s.FirstTimestamp, s.MaxTimestamp, s.OffsetOfMax, s.SinceIndex, int64(s.Index.Entries), int64(s.Times.Entries))
		b = append(append(b, s.Index.Last[:]...), s.Times.Last[:]...)
		b = append(b, flag(s.Aborted))
	}
	return b
}

// appendName appends what an entry begins with. By itself it is an entry that nobody believes: it takes the place of the one before.
func appendName(b []byte, n Name) []byte {
	b = append(binary.AppendVarint(b, int64(len(n.Topic))), n.Topic...)
	return binary.AppendVarint(b, int64(n.Partition))
}

// appendStamp appends a stamp, which is all that the frame of the mark has.
func appendStamp(b []byte, s fs.Stamp) []byte {
	b = binary.AppendVarint(b, int64(s.File))
	return binary.AppendVarint(binary.AppendVarint(b, s.Changed), s.Size)
}

func flag(yes bool) byte {
	if yes {
		return 1
	}
	return 0
}

// fields takes an entry apart. After the first that is not there all are zero, and bad is set.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) num() int64 {
	v, n := binary.Varint(f.b)
	if n <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[n:]
	return v
}

// count returns a number of things that have at least one byte each.
func (f *fields) count() int {
	n := f.num()
	if n < 0 || n > int64(len(f.b)) {
		f.bad, f.b = true, nil
		return 0
	}
	return int(n)
}

func (f *fields) bytes(n int) []byte {
	if n > len(f.b) {
		f.bad, f.b = true, nil
		return make([]byte, n)
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) string() string { return string(f.bytes(f.count())) }

// knownNameOf returns the log that an entry is of.
func knownNameOf(entry []byte) (Name, bool) {
	f := &fields{b: entry}
	n := Name{f.string(), 0}
	p := f.num()
	n.Partition = int32(p)
	return n, !f.bad && p <= math.MaxInt32 && checkName(n) == nil
}

// parseKnown reads an entry. What it returns shares the entry's bytes.
func parseKnown(entry []byte) (*knownLog, error) {
	f := &fields{b: entry}
	k := &knownLog{}
	k.name.Topic = f.string()
	k.name.Partition = int32(f.num())
	copy(k.id[:], f.bytes(16))
	for i := range k.stamps {
		k.stamps[i] = fs.Stamp{File: uint64(f.num()), Changed: f.num(), Size: f.num()}
	}
	k.end, k.stored = f.num(), f.num()
	k.producers = f.bytes(f.count())
	k.epochs = make([]checkpoint.Epoch, f.count())
	for i := range k.epochs {
		k.epochs[i] = checkpoint.Epoch{Epoch: int32(f.num()), StartOffset: f.num()}
	}
	k.segments = make([]segment.Kept, f.count())
	for i, e := range k.epochs {
		if e.Epoch < 0 || e.StartOffset < 0 || i > 0 && (e.Epoch <= k.epochs[i-1].Epoch || e.StartOffset <= k.epochs[i-1].StartOffset) {
			return nil, errKnown
		}
	}
	next := int64(0)
	for i := range k.segments {
		s := &k.segments[i]
		s.Base, s.Size, s.FirstTimestamp, s.MaxTimestamp = f.num(), f.num(), f.num(), f.num()
		s.OffsetOfMax, s.SinceIndex = f.num(), f.num()
		s.Index.Entries, s.Times.Entries = int32(f.num()), int32(f.num())
		copy(s.Index.Last[:], f.bytes(len(s.Index.Last)))
		copy(s.Times.Last[:], f.bytes(len(s.Times.Last)))
		s.Aborted = f.bytes(1)[0] == 1
		if s.Base < next || s.Size <= 0 || s.Index.Entries < 0 || s.Times.Entries < 0 {
			return nil, errKnown
		}
		next = s.Base + 1
	}
	if f.bad || len(f.b) > 0 || len(k.segments) == 0 || k.end < next || k.stored > k.end {
		return nil, errKnown
	}
	return k, nil
}
