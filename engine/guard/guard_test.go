package guard

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// header returns the first bytes of a batch.
func header(offset int64, size int) []byte {
	b := make([]byte, Summed)
	binary.BigEndian.PutUint64(b, uint64(offset))
	binary.BigEndian.PutUint32(b[8:], uint32(size-12))
	binary.BigEndian.PutUint32(b[12:], 7)
	b[16] = 2
	binary.BigEndian.PutUint32(b[17:], uint32(offset)*2654435761)
	return b
}

func TestASlotHasTheBytesThatItIsDrawnWith(t *testing.T) {
	p := Piece{Start: 0x100, End: 0x20000, Batches: 3, Sum: 0xdeadbeef, First: 42}
	const want = "000001000002000000000003deadbeef000000000000002a00000000" + "06fcc41b"
	got := p.Append([]byte{}, 40)
	if h := hex.EncodeToString(got); h != want {
		t.Errorf("%s, want %s", h, want)
	}
	if g := Decode(got, 40); !reflect.DeepEqual(g, Guard{Pieces: []Piece{p}, Slots: 1}) || g.End() != p.End {
		t.Errorf("%+v", g)
	}
	if g := Decode(got, 41); len(g.Pieces) != 0 || g.Bad != 1 {
		t.Errorf("taken for that of another segment: %+v", g)
	}
}

func TestAFlippedBitOfASlotTakesThatSlotAlone(t *testing.T) {
	pieces := []Piece{{0, 100, 1, 5, 0}, {100, 300, 2, 6, 1}, {300, 301, 3, 7, 3}}
	whole := Encode(0, pieces)
	for bit := range Width * 8 {
		b := append([]byte{}, whole...)
		b[Width+bit/8] ^= 1 << (bit % 8)
		if g := Decode(b, 0); len(g.Pieces) != 2 || g.Bad != 1 || g.End() != 301 {
			t.Errorf("bit %d: %+v", bit, g)
		}
	}
	for n := range len(whole) { // torn anywhere
		if g := Decode(whole[:n], 0); len(g.Pieces) != n/Width {
			t.Errorf("%d bytes: %+v", n, g)
		}
	}
	holed := append(make([]byte, Width), whole[Width:]...)
	if g := Decode(holed, 0); len(g.Pieces) != 2 || g.Bad != 0 || g.Slots != 3 {
		t.Errorf("%+v", g)
	}
}

func TestSlotsMayStandInAnyOrderAndOverlappingOnesAreNotBothBelieved(t *testing.T) {
	a, b, c := Piece{0, 100, 1, 1, 0}, Piece{100, 300, 2, 1, 1}, Piece{150, 160, 1, 1, 1}
	g := Decode(Encode(0, []Piece{b, c, a}), 0)
	if !reflect.DeepEqual(g.Pieces, []Piece{a, b}) || g.Bad != 1 {
		t.Errorf("%+v", g)
	}
}

// batches notes batches of random sizes, and returns them with where they end.
type batches struct {
	heads [][]byte
	sizes []int
	end   int64
}

func (s *batches) note(t *Tally, rng *rand.Rand, n int) {
	for range n {
		size := 61 + rng.IntN(30_000)
		b := header(int64(len(s.heads)), size)
		t.Note(0, s.end, b, size)
		s.heads, s.sizes, s.end = append(s.heads, b), append(s.sizes, size), s.end+int64(size)
	}
}

// check holds all batches against pieces.
func (s *batches) check(pieces []Piece) error {
	c, at := NewCheck(Guard{Pieces: pieces}), int64(0)
	for i, b := range s.heads {
		if err := c.Note(at, b, s.sizes[i]); err != nil {
			return err
		}
		at += int64(s.sizes[i])
	}
	if len(c.rest) > 0 {
		return errors.New("the batches end before the guard")
	}
	return nil
}

// covered returns how far the pieces go without a gap.
func covered(pieces []Piece) (end int64) {
	for _, p := range pieces {
		if p.Start == end {
			end = p.End
		}
	}
	return end
}

func TestATallyCoversWhatItNotedWheneverItIsTaken(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var tally Tally
		var s batches
		at := map[int64]Piece{}
		for range 20 {
			s.note(&tally, rng, rng.IntN(12))
			for _, p := range tally.Take() {
				at[p.Start] = p.Piece // one that comes again takes the place of what it was
			}
			var b []byte
			for _, p := range at {
				b = p.Append(b, 0)
			}
			g := Decode(b, 0)
			if end := covered(g.Pieces); end != s.end || g.Bad != 0 {
				t.Fatalf("seed %d: covered up to %d of %d", seed, end, s.end)
			}
			if err := s.check(g.Pieces); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if n := int64(len(at)); n > s.end/PieceBytes+1 {
			t.Errorf("seed %d: %d pieces for %d bytes", seed, n, s.end)
		}
		if again := tally.Take(); len(again) > 0 {
			t.Errorf("taken twice: %+v", again)
		}
	}
}

func TestACutTallyForgetsWhatIsBehind(t *testing.T) {
	var tally Tally
	note := func(base, at int64) { tally.Note(base, at, header(at, 100), 100) }
	note(0, 0)
	note(0, 100)
	note(5, 0) // the next segment
	note(5, 100)
	tally.Cut(5, 100)
	if got := tally.Take(); len(got) != 1 || got[0].Base != 0 || got[0].End != 200 {
		t.Errorf("%+v", got)
	}
	note(5, 100) // other records
	if got := tally.Take(); len(got) != 1 || got[0].Start != 100 || got[0].Batches != 1 {
		t.Errorf("%+v", got)
	}
	note(5, 200)
	tally.Cut(0, 0)
	if got := tally.Take(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestACheckFindsAFlippedBitInEachByteThatIsSummedUp(t *testing.T) {
	var tally Tally
	var s batches
	s.note(&tally, rand.New(rand.NewPCG(1, 1)), 10)
	var pieces []Piece
	for _, p := range tally.Take() {
		pieces = append(pieces, p.Piece)
	}
	for bit := range Summed * 8 {
		s.heads[4][bit/8] ^= 1 << (bit % 8)
		if m := (*Mismatch)(nil); !errors.As(s.check(pieces), &m) {
			t.Errorf("bit %d is not missed", bit)
		}
		s.heads[4][bit/8] ^= 1 << (bit % 8)
	}
	s.sizes[4]++
	if s.check(pieces) == nil {
		t.Error("a batch that moves is not missed")
	}
	s.sizes[4]--
	if err := s.check(pieces); err != nil {
		t.Error(err)
	}
}

func TestACheckBeginsAnywhereAndPassesWhatItSawOnlyAPartOf(t *testing.T) {
	pieces := []Piece{{Start: 0, End: 200, Batches: 2, Sum: 1, First: 0}, {Start: 300, End: 400, Batches: 1, Sum: 1, First: 3}}
	c := NewCheck(Guard{Pieces: pieces})
	for at := int64(100); at < 300; at += 100 {
		if err := c.Note(at, header(at, 100), 100); err != nil {
			t.Error(err)
		}
	}
	if c.Note(300, header(3, 100), 100) == nil {
		t.Error("a piece behind a gap is not looked at")
	}
}

func TestAGuardIsWrittenSlotBySlotAndCutForGood(t *testing.T) {
	disk := fs.NewCrash(1)
	must(t, disk.MkdirAll("/d"))
	disk.Settle()
	a, b, c := Piece{0, 100, 1, 1, 0}, Piece{100, 150, 1, 1, 1}, Piece{100, 300, 2, 9, 1}
	write := func(slot, want int64, pieces ...Piece) {
		t.Helper()
		if got, err := Write(disk, "/d", 0, slot, pieces); err != nil || got != want {
			t.Fatalf("slot %d, %v", got, err)
		}
	}
	has := func(disk fs.FS, want ...Piece) {
		t.Helper()
		if g, err := Read(disk, "/d", 0); err != nil || !reflect.DeepEqual(g.Pieces, want) && len(g.Pieces)+len(want) > 0 {
			t.Errorf("%+v, %v, want %+v", g, err, want)
		}
	}
	has(disk)
	write(-1, 0, a, b)
	write(1, 1, c) // what b has become
	has(disk, a, c)
	write(-1, 2, Piece{300, 400, 1, 1, 3})
	must(t, disk.SyncDir("/d"))
	cut := func(base int64) bool {
		t.Helper()
		g, err := Read(disk, "/d", base)
		must(t, err)
		cut, err := Cut(disk, "/d", base, g, 250)
		must(t, err)
		return cut
	}
	if !cut(0) {
		t.Error("nothing was cut")
	}
	has(disk.Clone(fs.DropUnflushed), a)
	if cut(0) {
		t.Error("cut again")
	}
	if cut(7) {
		t.Error("there is none")
	}
	must(t, disk.Remove(Name("/d", 0)))
	_, err := disk.Stat("/d/00000000000000000000.guard.deleted")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(3, []Piece{{0, 100, 1, 5, 3}, {100, 300, 2, 6, 4}, {50, 301, 3, 7, 5}}), int64(3))
	f.Add([]byte("short"), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, base int64) {
		g := Decode(b, base)
		end := int64(0)
		for _, p := range g.Pieces {
			if p.Start < end || p.End <= p.Start || p.Batches == 0 || p.First < base {
				t.Fatalf("%+v", g)
			}
			end = p.End
		}
		if end != g.End() || len(g.Pieces)+g.Bad > g.Slots {
			t.Fatalf("%+v", g)
		}
		if again := Decode(Encode(base, g.Pieces), base); again.Bad != 0 || len(again.Pieces) != len(g.Pieces) {
			t.Fatalf("%+v became %+v", g, again)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkNote is what a batch costs an append: a few nanoseconds of its microsecond.
func BenchmarkNote(b *testing.B) {
	var t Tally
	head := header(7, 1000)
	for at := int64(0); b.Loop(); at += 1000 {
		if at >= 1<<30 {
			at = 0
			t = Tally{}
		}
		t.Note(0, at, head, 1000)
	}
}

// As in a log that was compacted: the batches that had the offsets from the segment's base on are gone.
func TestTheFirstPieceBeginsWithTheOffsetThatIsThere(t *testing.T) {
	var tally Tally
	b := header(500, 300)
	tally.Note(0, 0, b, 300)
	took := tally.Take()
	if len(took) != 1 || took[0].First != 500 || took[0].Start != 0 || took[0].End != 300 {
		t.Fatalf("%+v", took)
	}
	tally.Cut(0, 0)
	tally.Note(0, 0, header(7, 100), 100)
	if took = tally.Take(); len(took) != 1 || took[0].First != 7 {
		t.Errorf("after a cut: %+v", took)
	}
	if err := NewCheck(Guard{Pieces: []Piece{took[0].Piece}}).Note(0, header(7, 100), 100); err != nil {
		t.Error(err)
	}
}
