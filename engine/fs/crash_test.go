package fs

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// cuts is how many random power cuts a test looks at: enough that an outcome of probability 1/10 is missed once in 10^13.
const cuts = 300

// sometimes runs random cuts and says what may, must and must not come out. outcome gives a cut's name.
func sometimes(t *testing.T, c *Crash, outcome func(cut *Crash) string, want ...string) {
	t.Helper()
	seen := map[string]int{}
	for range cuts {
		seen[outcome(c.Clone(Random))]++
	}
	for got, n := range seen {
		if !slices.Contains(want, got) {
			t.Errorf("%d of %d cuts left %q, which is none of %q", n, cuts, got, want)
		}
	}
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("none of %d cuts left %q", cuts, w)
		}
	}
}

// settledFile returns a file whose name and content are on stable storage.
func settledFile(t *testing.T, c *Crash, name string, b []byte) File {
	t.Helper()
	f := create(t, c, name)
	must(t, f.Write(b, 0, true))
	c.Settle()
	return f
}

func fill(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

// summary writes runs of equal bytes as letter and length in sectors, the last one in bytes where it is no whole sector.
func summary(b []byte) (s string) {
	for len(b) > 0 {
		n := 1
		for n < len(b) && b[n] == b[0] {
			n++
		}
		letter := b[0]
		if letter == 0 {
			letter = '0'
		}
		if n%sector == 0 {
			s += fmt.Sprintf("%c%d ", letter, n/sector)
		} else {
			s += fmt.Sprintf("%c(%d) ", letter, n)
		}
		b = b[n:]
	}
	return s
}

func TestWhatIsNotFlushedIsDroppedOrKept(t *testing.T) {
	c, dir := newDisk(t, 1)
	name := dir + "/a"
	f := settledFile(t, c, name, []byte("old"))
	must(t, f.Write([]byte("new and longer"), 0, false))
	same(t, "dropped", content(t, c.Clone(DropUnflushed), name), []byte("old"))
	same(t, "kept", content(t, c.Clone(KeepAll), name), []byte("new and longer"))
	must(t, f.Datasync())
	same(t, "flushed", content(t, c.Clone(DropUnflushed), name), []byte("new and longer"))
}

func TestADurableWriteSurvivesAndNothingOlderLiesOverIt(t *testing.T) {
	c, dir := newDisk(t, 2)
	f := settledFile(t, c, dir+"/a", fill('a', BlockSize))
	must(t, f.Write(fill('b', BlockSize), 0, false))
	must(t, f.Write(fill('c', 2*sector), sector, true))
	for range cuts {
		b := content(t, c.Clone(Random), dir+"/a")
		same(t, "durable sectors", b[sector:3*sector], fill('c', 2*sector))
	}
	must(t, f.Write(fill('d', 100), 3*BlockSize, true))
	b := content(t, c.Clone(DropUnflushed), dir+"/a")
	same(t, "the size with it", b[BlockSize:], append(make([]byte, 2*BlockSize), fill('d', 100)...))
}

func TestABlockIsTornBetweenSectorsOnly(t *testing.T) {
	c, dir := newDisk(t, 3)
	f := settledFile(t, c, dir+"/a", fill('a', BlockSize))
	must(t, f.Write(fill('b', BlockSize), 0, false))
	torn := 0
	for range cuts {
		b := content(t, c.Clone(Random), dir+"/a")
		for s := 0; s < BlockSize; s += sector {
			if part := b[s : s+sector]; !bytes.Equal(part, fill('a', sector)) && !bytes.Equal(part, fill('b', sector)) {
				t.Fatalf("sector at %d is torn: %s", s, summary(part))
			}
		}
		if bytes.Contains(b, []byte("ab")) || bytes.Contains(b, []byte("ba")) {
			torn++
		}
	}
	if torn == 0 {
		t.Error("no cut tore the block")
	}
}

func TestVersionsOfABlockLandInAnyOrderAndBlocksInAny(t *testing.T) {
	c, dir := newDisk(t, 4)
	f := settledFile(t, c, dir+"/a", append(fill('a', sector), make([]byte, BlockSize)...))
	for _, v := range "bcd" {
		must(t, f.Write(fill(byte(v), sector), 0, false))
	}
	first := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")[:sector]) }
	sometimes(t, c, first, "a1 ", "b1 ", "c1 ", "d1 ")
	must(t, f.Datasync())
	must(t, f.Write(fill('e', sector), 0, false))
	must(t, f.Write(fill('f', sector), BlockSize, false)) // of the next block, only one sector counts
	two := func(cut *Crash) string {
		b := content(t, cut, dir+"/a")
		return summary(b[:sector]) + summary(b[BlockSize:BlockSize+sector])
	}
	sometimes(t, c, two, "d1 01 ", "d1 f1 ", "e1 f1 ", "e1 01 ")
}

func TestSizeAndContentLandApart(t *testing.T) {
	c, dir := newDisk(t, 5)
	f := settledFile(t, c, dir+"/a", fill('a', sector))
	must(t, f.Write(fill('b', sector), sector, false))
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	sometimes(t, c, whole, "a1 ", "a1 b1 ", "a1 01 ")
}

func TestAGrowthStopsAtAnyBlock(t *testing.T) {
	c, dir := newDisk(t, 6)
	f := settledFile(t, c, dir+"/a", []byte("a"))
	must(t, f.Write(fill('b', 2*BlockSize+9), 1, false))
	size := func(cut *Crash) string {
		info, err := cut.Stat(dir + "/a")
		must(t, err)
		return fmt.Sprint(info.Size())
	}
	sometimes(t, c, size, "1", "4096", "8192", "8202")
}

func TestALostTruncateShowsOldBytesBehindNewOnes(t *testing.T) {
	c, dir := newDisk(t, 7)
	f := settledFile(t, c, dir+"/a", fill('a', 3*sector))
	must(t, f.Truncate(sector))
	must(t, f.Write(fill('b', sector), sector, false))
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	sometimes(t, c, whole, "a3 ", "a1 b1 a1 ", "a1 ", "a1 b1 ", "a1 01 ")

	must(t, f.Datasync())
	same(t, "flushed", content(t, c.Clone(DropUnflushed), dir+"/a"), append(fill('a', sector), fill('b', sector)...))
	must(t, f.Truncate(sector))
	must(t, f.Datasync())
	must(t, f.Write(fill('c', sector), sector, false))
	sometimes(t, c, whole, "a1 ", "a1 c1 ", "a1 01 ")
}

// The size on disk covers the write already, so that the truncate may still be pending; when it lands, what brought the
// write back under the end of the file lands with it.
func TestATruncateThatLandsLateTakesNoDurableWriteWithIt(t *testing.T) {
	c, dir := newDisk(t, 8)
	f := settledFile(t, c, dir+"/a", fill('a', 4*sector))
	must(t, f.Truncate(sector))
	must(t, f.Write(fill('b', sector), sector, true))
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	sometimes(t, c, whole, "a1 b1 a2 ", "a1 b1 ")
	must(t, f.Write(fill('c', 4*sector), 2*sector, true)) // beyond the size on disk: now all of it has to land
	sometimes(t, c, whole, "a1 b1 c4 ")
}

func TestAFailedDatasyncIsNotMadeGoodByALaterOne(t *testing.T) {
	c, dir := newDisk(t, 9)
	f := settledFile(t, c, dir+"/a", fill('a', sector))
	must(t, f.Write(fill('b', sector), 0, false))
	c.SetHook(func(op Op, _ string, _ int) error {
		if op == OpDatasync {
			return unix.EIO
		}
		return nil
	})
	wantErr(t, "datasync", f.Datasync(), unix.EIO)
	c.SetHook(nil)
	must(t, f.Datasync()) // Linux lies, and so does the twin
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	sometimes(t, c, whole, "a1 ", "b1 ")
	must(t, f.Write(fill('c', sector), 0, true))
	sometimes(t, c, whole, "c1 ")
}

func TestAFailedWriteLeavesAnyPrefix(t *testing.T) {
	seen := map[int64]bool{}
	for seed := range uint64(100) {
		c, dir := newDisk(t, seed)
		f := create(t, c, dir+"/a")
		c.SetHook(func(Op, string, int) error { return unix.EIO })
		wantErr(t, "write", f.Write(fill('a', 3*sector), 0, true), unix.EIO)
		c.SetHook(nil)
		size, err := f.Size()
		must(t, err)
		seen[size] = true
	}
	for _, n := range []int64{0, 1, 2} {
		if !seen[n*sector] {
			t.Errorf("no failed write left %d sectors", n)
		}
	}
}
