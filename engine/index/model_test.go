package index

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// TestAnIndexAnswersLikeAListWhateverHappensToIt runs random operations beside a plain list of entries.
func TestAnIndexAnswersLikeAListWhateverHappensToIt(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	disk := fs.NewCrash(seed)
	const base = 1_000_000
	x := offsets(t, disk, "x", base)
	type entry struct {
		offset   int64
		position int32
	}
	list := []entry{}
	for range 5000 {
		switch op := r.IntN(20); {
		case op < 12:
			last := entry{base, 0}
			if len(list) > 0 {
				last = list[len(list)-1]
			}
			e := entry{last.offset + 1 + r.Int64N(20), last.position + 1 + r.Int32N(5000)}
			must(t, x.Append(e.offset, e.position))
			list = append(list, e)
		case op == 12:
			must(t, x.Flush(r.IntN(2) == 0))
		case op == 13:
			must(t, x.Seal())
		case op == 14 && r.IntN(4) == 0:
			to := base + r.Int64N(int64(len(list)*10)+10)
			must(t, x.TruncateTo(to))
			for len(list) > 0 && list[len(list)-1].offset >= to {
				list = list[:len(list)-1]
			}
		case op == 15:
			must(t, x.Seal())
			x = offsets(t, disk, "x", base)
			must(t, x.Check(1<<31-1))
		case op == 16 && r.IntN(4) == 0:
			// After a power cut the file is refused, or it is the beginning of what was appended.
			cut := disk.Clone(fs.Random)
			y := offsets(t, cut, "x", base)
			if err := y.Check(1<<31 - 1); err != nil {
				break
			}
			must(t, y.Activate())
			if y.Entries() > len(list) {
				t.Fatalf("%d entries after a power cut, %d before", y.Entries(), len(list))
			}
			for i, e := range list[:y.Entries()] {
				if o, p, err := y.Lookup(e.offset); err != nil || o != e.offset || p != e.position {
					t.Fatalf("entry %d after a power cut: %d at %d, %v; want %v", i, o, p, err, e)
				}
			}
		default:
			ask, want := base+r.Int64N(int64(len(list)*12)+20), entry{base, 0}
			for _, e := range list {
				if e.offset <= ask {
					want = e
				}
			}
			if o, p, err := x.Lookup(ask); err != nil || o != want.offset || p != want.position {
				t.Fatalf("lookup of %d: %d at %d, %v; want %v", ask, o, p, err, want)
			}
		}
		if x.Entries() != len(list) {
			t.Fatalf("%d entries, want %d", x.Entries(), len(list))
		}
	}
	if got := disk.ClosedUnflushed(); len(got) > 0 {
		t.Errorf("closed without a flush: %v", got)
	}
}

func FuzzOffset(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 9}, int64(1))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0}, int64(-1))
	f.Fuzz(func(t *testing.T, file []byte, ask int64) {
		disk := put(t, "x", file)
		x := offsets(t, disk, "x", 0)
		if _, _, err := x.Lookup(ask); err != nil {
			t.Fatal(err)
		}
		err := x.Check(1 << 30)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		want := int64(0)
		for i := 0; i < len(file); i += OffsetWidth {
			if k := key(file[i : i+OffsetWidth]); k <= ask {
				want = k
			}
		}
		if got, _, err := x.Lookup(ask); got != want || err != nil {
			t.Fatalf("lookup of %d: %d, %v; want %d", ask, got, err, want)
		}
		must(t, x.Activate())
		must(t, x.Seal())
		if got := get(t, disk, "x"); !bytes.Equal(got, file) {
			t.Fatalf("%x became %x", file, got)
		}
	})
}

func FuzzTime(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9}, int64(1))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, int64(-1))
	f.Fuzz(func(t *testing.T, file []byte, ask int64) {
		x := times(t, put(t, "x", file), "x", 0)
		if _, _, err := x.Lookup(ask); err != nil {
			t.Fatal(err)
		}
		err := x.Check()
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		want := int64(-1)
		for i := 0; i < len(file); i += TimeWidth {
			if k := key(file[i : i+TimeWidth]); k <= ask {
				want = k
			}
		}
		if got, _, err := x.Lookup(ask); got != want || err != nil {
			t.Fatalf("lookup of %d: %d, %v; want %d", ask, got, err, want)
		}
	})
}
