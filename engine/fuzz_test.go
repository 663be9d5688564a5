package engine

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// validPrefix returns how many bytes of a log file are whole, good batches in the order of their offsets, and the offset
// behind them: what no recovery may lose, found in the plainest way.
func validPrefix(b []byte) (size int, next int64) {
	for rest := b; ; {
		batch, more, err := record.Next(rest)
		if err != nil || batch.Check() != nil || batch.BaseOffset() < next || batch.LastOffset() < batch.BaseOffset() ||
			batch.LastOffset() == math.MaxInt64 {
			return size, next
		}
		size, next, rest = size+len(batch), batch.LastOffset()+1, more
	}
}

// soup is a log file of some good batches.
func soup(n int) []byte {
	var b []byte
	for i := range n {
		p := batchOf(batchID(int64(i)), 1+i%3, 20*i, testNow+int64(i), int64(i%2)*7-int64(1-i%2), int32(i))
		batch := record.Batch(p.Bytes)
		batch.SetBaseOffset(int64(3 * i))
		b = append(b, batch...)
	}
	return b
}

func FuzzARecoveryKeepsWhateverIsGood(f *testing.F) {
	good := soup(6)
	f.Add([]byte{}, []byte{})
	f.Add(good, []byte{})
	f.Add(good[:len(good)-1], []byte("index"))
	f.Add(append(bytes.Clone(good), make([]byte, 5000)...), bytes.Repeat([]byte{0xff}, 16))
	f.Add(append(append(bytes.Clone(good), "garbage"...), good...), make([]byte, 24))
	far := record.Batch(batchOf("x", 1, 0, testNow, -1, 0).Bytes)
	far.SetBaseOffset(math.MaxInt64)
	f.Add(append(bytes.Clone(good), far...), []byte{})
	f.Fuzz(func(t *testing.T, log, index []byte) {
		disk := crashDisk(1)
		must(t, disk.MkdirAll("/data/t-0"))
		overwrite(t, disk, firstLog, log)
		overwrite(t, disk, segment.Name("/data/t-0", 0, segment.IndexSuffix), index)
		overwrite(t, disk, segment.Name("/data/t-0", 0, segment.TimeSuffix), index)
		overwrite(t, disk, segment.Name("/data/t-0", 0, segment.SnapshotSuffix), index)
		size, next := validPrefix(log)
		for range 2 {
			e := open(t, crashOptions(disk, ways[0]))
			l, ok := e.Log(Name{"t", 0})
			if !ok || l.Err() != nil {
				t.Fatalf("no log: %v", l.Err())
			}
			if got := read(t, disk, firstLog); !bytes.Equal(got, log[:size]) {
				t.Fatalf("%d of %d bytes are left, %d are good", len(got), len(log), size)
			}
			if l.LogEndOffset() != next {
				t.Fatalf("the log ends at %d, want %d", l.LogEndOffset(), next)
			}
			if err := readThrough(l); err != nil && !strings.Contains(err.Error(), "asked for") { // holes are as they came
				t.Fatal(err)
			}
			must(t, e.Close())
		}
		rest := log[size:]
		if allZero(rest) {
			return
		}
		for _, name := range list(t, disk, "/data/t-0") {
			if strings.Contains(name, tornSuffix) && bytes.Equal(read(t, disk, "/data/t-0/"+name), rest) {
				return
			}
		}
		t.Fatalf("the %d bytes behind the good ones are not kept", len(rest))
	})
}

func FuzzRecoveryCheckpoint(f *testing.F) {
	f.Add(appendPoints(nil, map[Name]point{{"a", 0}: {1, 0, 5, 0, 1}, {"b", 1}: pointAt(9)}))
	f.Add([]byte("0\n00000000\n0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		points, err := parsePoints(b)
		if err != nil {
			return
		}
		again, err := parsePoints(appendPoints(nil, points))
		if err != nil || len(again) != len(points) {
			t.Fatalf("%v became %v, %v", points, again, err)
		}
	})
}
