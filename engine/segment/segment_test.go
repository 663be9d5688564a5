package segment

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

func TestOffsetsAndTimesAreFoundBelowTheGivenEnd(t *testing.T) {
	s := written(t, newDisk(t), 50, 100, nil)
	f, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	var places []Place
	if err := Headers(f, 0, s.Size(), func(p Place, _ record.Batch) bool { places = append(places, p); return true }); err != nil {
		t.Fatal(err)
	}
	for i, want := range places {
		end := s.Size()
		if p, err := s.Find(f, want.BaseOffset, end); err != nil || p != want {
			t.Fatalf("offset %d: %+v %v", want.BaseOffset, p, err)
		}
		if p, err := s.FindTime(f, int64(1000+i), 0, end); err != nil || p != want {
			t.Fatalf("time %d: %+v %v", 1000+i, p, err)
		}
		if p, err := s.FindTime(f, 0, want.BaseOffset, end); err != nil || p != want {
			t.Fatalf("time 0 from offset %d: %+v %v", want.BaseOffset, p, err)
		}
		// Appended behind the end is as if not there.
		if _, err := s.Find(f, want.BaseOffset, want.Position); err != io.EOF {
			t.Fatalf("offset %d below position %d: %v", want.BaseOffset, want.Position, err)
		}
		if _, err := s.FindTime(f, int64(1000+i), 0, want.Position); err != io.EOF {
			t.Fatalf("time %d below position %d: %v", 1000+i, want.Position, err)
		}
	}
	if _, err := s.Find(f, 150, s.Size()); err != io.EOF {
		t.Errorf("behind the last offset: %v", err)
	}
}

func TestAnIndexThatTheLogDoesNotBearOutIsCorrupt(t *testing.T) {
	disk := newDisk(t)
	s := written(t, disk, 0, 100, nil)
	other := written(t, disk, 1000, 300, nil)
	s.index, other.index = other.index, s.index
	f, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	s.index.Append(0, 0) // refused: it has an own order
	wrong := 0
	for offset := range int64(1000) {
		p, err := s.Find(f, offset, s.Size())
		switch {
		case errors.Is(err, index.ErrCorrupt):
			wrong++
		case err == io.EOF && offset >= 100, err == nil && p.BaseOffset == offset:
		default:
			t.Fatalf("offset %d: %+v %v", offset, p, err)
		}
	}
	if p, err := FindFrom(f, 0, 77, s.Size()); err != nil || p.BaseOffset != 77 {
		t.Errorf("without the index: %+v %v", p, err)
	}
	if _, err := s.Rebuild(f, s.Size(), 200); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d look-ups saw it", wrong)
}

func TestBatchesStopsAtTheFirstBadByteAndSaysWhy(t *testing.T) {
	disk := newDisk(t)
	s := written(t, disk, 0, 10, nil)
	size := s.Size()
	one := size / 10
	all := func(record.Batch) error { return nil }
	scan := func(size int64, visit func(record.Batch) error) (int64, error) {
		f, err := disk.Open(s.Path(), os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return Batches(f, 0, size, func(_ int64, b record.Batch) error { return visit(b) })
	}
	if at, err := scan(size, all); at != size || err != nil {
		t.Errorf("whole: %d %v", at, err)
	}
	for cut := int64(1); cut < one; cut++ {
		if at, err := scan(9*one+cut, all); at != 9*one || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut in the last batch: %d %v", at, err)
		}
	}
	stop := errors.New("stop")
	n := 0
	if at, err := scan(size, func(record.Batch) error { n++; return map[bool]error{n == 4: stop}[true] }); at != 3*one || err != stop {
		t.Errorf("stopped by the visitor: %d %v", at, err)
	}
	f, err := s.Writer(0)
	if err != nil {
		t.Fatal(err)
	}
	for p := 5 * one; p < 6*one; p++ {
		if p >= 5*one+12 && p < 5*one+16 || p < 5*one+8 {
			continue // leader epoch and base offset are not covered by the CRC
		}
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, p); err != nil {
			t.Fatal(err)
		}
		f.Write([]byte{b[0] ^ 0x40}, p, false)
		if at, err := scan(size, all); at != 5*one || err == nil {
			t.Errorf("byte %d of the sixth batch flipped: %d %v", p-5*one, at, err)
		}
		f.Write(b, p, false)
	}
}

func TestASegmentComesBackAsItWas(t *testing.T) {
	disk := newDisk(t)
	for _, n := range []int{0, 1, 2, 3, 10, 200} {
		base := int64(1000 * n)
		s := written(t, disk, base, n, nil)
		want := s.stats
		if err := errors.Join(s.Flush(), s.SealIndexes(), s.Close()); err != nil {
			t.Fatal(err)
		}
		for _, known := range []*Known{nil, {Offset: -1}, {base + int64(n), want.maxTimestamp, want.offsetOfMax}} {
			again, err := New(disk, "/data", base, Limits{Bytes: 1 << 20, IndexBytes: 1 << 10, IndexInterval: 200})
			if err != nil {
				t.Fatal(err)
			}
			next, err := again.Load(s.Size(), 200, true, known)
			if err != nil || next != base+int64(n) {
				t.Fatalf("%d batches: next offset %d, %v", n, next, err)
			}
			got := again.stats
			got.sinceIndex = want.sinceIndex // may be shorter by what an entry that is there already says
			if got != want {
				t.Errorf("%d batches: %+v, want %+v", n, got, want)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestIndexesOfSeveralBatchesThatWereAppendedTogetherAreSound(t *testing.T) { // by a follower, before Kafka 4.0
	disk := newDisk(t)
	s := written(t, disk, 0, 60, nil)
	f, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := errors.Join(s.index.Reset(), s.times.Reset()); err != nil {
		t.Fatal(err)
	}
	err = Headers(f, 0, s.Size(), func(p Place, _ record.Batch) bool {
		if p.BaseOffset%10 == 0 && p.BaseOffset > 0 { // ten at a time: the first one's position, the last one's offset
			if err := errors.Join(s.index.Append(p.BaseOffset+9, int32(p.Position)), s.times.MaybeAppend(1000+p.BaseOffset+9, p.BaseOffset+9)); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for offset := range int64(60) {
		if p, err := s.Find(f, offset, s.Size()); err != nil || p.BaseOffset != offset {
			t.Errorf("offset %d: %+v %v", offset, p, err)
		}
		if p, err := s.FindTime(f, 1000+offset, 0, s.Size()); err != nil || p.BaseOffset != offset {
			t.Errorf("time %d: %+v %v", 1000+offset, p, err)
		}
	}
	if err := s.FlushIndexes(true); err != nil {
		t.Fatal(err)
	}
	if sound, err := s.soundIndexes(f, s.Size(), true); err != nil || !sound {
		t.Errorf("sound: %t %v", sound, err)
	}
}

// shortFile is a file whose reads end before it does.
type shortFile struct{ io.ReaderAt }

func (f shortFile) ReadAt(p []byte, at int64) (int, error) {
	n, _ := f.ReaderAt.ReadAt(p[:len(p)/2], at)
	return n, io.EOF
}

func TestAReadThatEndsBeforeTheFileDoesIsNoTornBatch(t *testing.T) {
	f, size := shortFile{bytes.NewReader(make([]byte, 1000))}, int64(1000)
	if _, err := Batches(f, 0, size, nil); !errors.Is(err, ErrShortRead) {
		t.Errorf("batches: %v", err)
	}
	if err := Headers(f, 0, size, nil); !errors.Is(err, ErrShortRead) {
		t.Errorf("headers: %v", err)
	}
	if err := ReadFull(f.ReaderAt, make([]byte, 1000), 0); err != nil {
		t.Errorf("all of the file: %v", err)
	}
}

// A start may have ten thousand logs of a few records to look at.
func TestAScanOfAFewBatchesTakesLittleMemory(t *testing.T) {
	s := written(t, newDisk(t), 0, 3, nil)
	f, err := s.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	const scans, most = 100, 16 << 10 // bytes for each
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range scans {
		if _, err := Batches(f, 0, s.Size(), func(int64, record.Batch) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / scans; n > most {
		t.Errorf("%d bytes for a scan of %d", n, s.Size())
	}
}
