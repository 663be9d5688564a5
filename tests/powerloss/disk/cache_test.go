package disk

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// memory is an image.
type memory []byte

func (m memory) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m memory) WriteAt(p []byte, at int64) (int, error) { return copy(m[at:], p), nil }

func sectors(n int, with byte) []byte { return bytes.Repeat([]byte{with}, n*Sector) }

func newCache(t *testing.T, n int) (*Cache, memory) {
	t.Helper()
	m := memory(make([]byte, n*Sector))
	return NewCache(m), m
}

func put(t *testing.T, c *Cache, p []byte, sector int64) {
	t.Helper()
	if _, err := c.WriteAt(p, sector*Sector); err != nil {
		t.Fatal(err)
	}
}

func TestAReaderSeesTheNewestVersionAndTheImageOnlyWhatWasFlushed(t *testing.T) {
	c, image := newCache(t, 4)
	put(t, c, sectors(2, 1), 0)
	put(t, c, sectors(2, 2), 1)
	got := make([]byte, 4*Sector)
	if _, err := c.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	want := append(append(sectors(1, 1), sectors(2, 2)...), sectors(1, 0)...)
	if !bytes.Equal(got, want) {
		t.Error("not the newest versions")
	}
	if !bytes.Equal(image, sectors(4, 0)) {
		t.Error("the image has what was not flushed")
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(image, want) {
		t.Error("the image lacks what was flushed")
	}
}

func TestAWriteWithinASectorKeepsTheRestOfIt(t *testing.T) {
	c, image := newCache(t, 3)
	put(t, c, sectors(3, 1), 0)
	if _, err := c.WriteAt([]byte("within"), Sector-2); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	want := sectors(3, 1)
	copy(want[Sector-2:], "within")
	if !bytes.Equal(image, want) {
		t.Error("a write that is no whole sectors changed others")
	}
}

func TestACutNeverTakesWhatWasFlushed(t *testing.T) {
	for _, p := range Policies() {
		for seed := range uint64(50) {
			c, image := newCache(t, 8)
			put(t, c, sectors(8, 1), 0)
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			put(t, c, sectors(4, 2), 4)
			if err := c.Cut(p, seed); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(image[:4*Sector], sectors(4, 1)) {
				t.Fatalf("%v, seed %d: flushed sectors changed", p, seed)
			}
			for s := 4; s < 8; s++ {
				if got := image[s*Sector:][:Sector]; !bytes.Equal(got, sectors(1, 1)) && !bytes.Equal(got, sectors(1, 2)) {
					t.Fatalf("%v, seed %d: sector %d is no version of it", p, seed, s)
				}
			}
		}
	}
}

// Three writes of one block of eight sectors. Any of the versions may be there after a cut, in each sector another one.
func TestACutLandsAnyVersionOfEachSector(t *testing.T) {
	seen := map[byte]int{}
	mixed := 0
	for seed := range uint64(100) {
		c, image := newCache(t, 8)
		for v := byte(1); v <= 3; v++ {
			put(t, c, sectors(8, v), 0)
		}
		if err := c.Cut(Any, seed); err != nil {
			t.Fatal(err)
		}
		of := map[byte]bool{}
		for s := range 8 {
			v := image[s*Sector]
			if !bytes.Equal(image[s*Sector:][:Sector], sectors(1, v)) {
				t.Fatalf("seed %d: sector %d is torn", seed, s)
			}
			seen[v]++
			of[v] = true
		}
		if len(of) > 1 {
			mixed++
		}
	}
	for v := range byte(4) {
		if seen[v] < 100 { // of 800
			t.Errorf("version %d was landed %d times", v, seen[v])
		}
	}
	if mixed < 90 {
		t.Errorf("%d of 100 cuts tore the block", mixed)
	}
}

func TestTheSameSeedLandsTheSame(t *testing.T) {
	for _, p := range Policies() {
		var images [2]memory
		for i := range images {
			c, image := newCache(t, 16)
			for v := byte(1); v < 9; v++ {
				put(t, c, sectors(8, v), int64(v))
			}
			if err := c.Cut(p, 7); err != nil {
				t.Fatal(err)
			}
			images[i] = image
		}
		if !bytes.Equal(images[0], images[1]) {
			t.Errorf("%v: two cuts with one seed differ", p)
		}
	}
}

func TestPoliciesLandWhatTheySay(t *testing.T) {
	whole, reordered := true, false
	for seed := range uint64(200) {
		c, image := newCache(t, 4)
		put(t, c, sectors(2, 1), 0)
		put(t, c, sectors(2, 2), 2)
		if err := c.Cut(Writes, seed); err != nil {
			t.Fatal(err)
		}
		whole = whole && image[0] == image[Sector] && image[2*Sector] == image[3*Sector]
		reordered = reordered || image[0] == 0 && image[2*Sector] == 2
	}
	if !whole || !reordered {
		t.Errorf("writes landed whole: %v, the later one alone: %v", whole, reordered)
	}
	for seed := range uint64(200) {
		c, image := newCache(t, 3)
		for s := range int64(3) {
			put(t, c, sectors(1, 1), s)
		}
		if err := c.Cut(Prefix, seed); err != nil {
			t.Fatal(err)
		}
		if image[Sector] == 1 && image[0] == 0 || image[2*Sector] == 1 && image[Sector] == 0 {
			t.Fatalf("seed %d: a later write is there and an earlier one is not", seed)
		}
	}
	c, image := newCache(t, 1)
	put(t, c, sectors(1, 1), 0)
	if err := c.Cut(None, 1); err != nil {
		t.Fatal(err)
	}
	if image[0] != 0 {
		t.Error("policy none landed something")
	}
}

func TestADiskWithoutPowerDoesNothingAndForgetsWhatItDidNotLand(t *testing.T) {
	c, _ := newCache(t, 1)
	put(t, c, sectors(1, 1), 0)
	if err := c.Cut(None, 1); err != nil {
		t.Fatal(err)
	}
	_, werr := c.WriteAt(sectors(1, 2), 0)
	_, rerr := c.ReadAt(make([]byte, Sector), 0)
	for _, err := range []error{werr, rerr, c.Flush()} {
		if !errors.Is(err, ErrOff) {
			t.Errorf("%v, want %v", err, ErrOff)
		}
	}
	c.On()
	got := make([]byte, Sector)
	if _, err := c.ReadAt(got, 0); err != nil || got[0] != 0 {
		t.Errorf("read %d, %v", got[0], err)
	}
}

func TestAFullCacheWritesWhatHasWaitedForLongest(t *testing.T) {
	c, image := newCache(t, 4)
	put(t, c, sectors(2, 1), 0)
	put(t, c, sectors(2, 2), 1)
	if err := c.destage(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3*Sector)
	if _, err := c.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(image[:2*Sector], sectors(2, 1)) || got[0] != 1 || got[Sector] != 2 || got[2*Sector] != 2 {
		t.Error("not what was written")
	}
	if n := c.Counts().Destaged; n != 1 {
		t.Errorf("%d writes destaged", n)
	}
}
