package index

import (
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func offsets(t testing.TB, disk fs.FS, name string, base int64) *Offset {
	t.Helper()
	x, err := OpenOffset(disk, name, base, 1<<20)
	must(t, err)
	return x
}

func times(t testing.TB, disk fs.FS, name string, base int64) *Time {
	t.Helper()
	x, err := OpenTime(disk, name, base, 1<<20)
	must(t, err)
	return x
}

func TestALookupFindsTheGreatestEntryAtOrBelow(t *testing.T) {
	x := offsets(t, fs.NewCrash(1), "x", 100)
	must(t, x.Append(110, 1000))
	must(t, x.Append(120, 2000))
	must(t, x.Append(130, 3000))
	check := func(state string) {
		t.Helper()
		for _, c := range []struct{ ask, offset, position int64 }{
			{99, 100, 0}, {100, 100, 0}, {109, 100, 0}, {110, 110, 1000}, {119, 110, 1000},
			{120, 120, 2000}, {130, 130, 3000}, {1 << 40, 130, 3000},
		} {
			offset, position, err := x.Lookup(c.ask)
			if err != nil || offset != c.offset || int64(position) != c.position {
				t.Errorf("%s: lookup of %d found %d at %d, %v", state, c.ask, offset, position, err)
			}
		}
	}
	check("active")
	must(t, x.Seal())
	check("at rest")
	must(t, x.Append(140, 4000))
	if offset, _, err := x.Lookup(140); err != nil || offset != 140 {
		t.Errorf("active again: found %d, %v", offset, err)
	}
}

func TestAnEmptyIndexAnswersWithTheStartOfTheSegment(t *testing.T) {
	disk := fs.NewCrash(1)
	x, y := offsets(t, disk, "x", 100), times(t, disk, "y", 100)
	if o, p, err := x.Lookup(105); o != 100 || p != 0 || err != nil {
		t.Errorf("offset %d, position %d, %v", o, p, err)
	}
	if ts, o, err := y.Lookup(105); ts != -1 || o != 100 || err != nil {
		t.Errorf("timestamp %d, offset %d, %v", ts, o, err)
	}
	if ts, o, ok := y.Last(); ts != -1 || o != 100 || ok {
		t.Errorf("last: timestamp %d, offset %d, %v", ts, o, ok)
	}
}

func TestOffsetEntriesThatDoNotRiseAreRefused(t *testing.T) {
	x := offsets(t, fs.NewCrash(1), "x", 100)
	must(t, x.Append(110, 1000))
	for offset, want := range map[int64]error{
		110: ErrOrder, 109: ErrOrder, 99: ErrRange, 100 + 1<<31: ErrRange, 1 << 62: ErrRange,
	} {
		if err := x.Append(offset, 2000); !errors.Is(err, want) {
			t.Errorf("offset %d: %v, want %v", offset, err, want)
		}
	}
	must(t, x.Append(100+1<<31-1, 2000))
	if offset, position, ok := x.Last(); offset != 100+1<<31-1 || position != 2000 || !ok {
		t.Errorf("last %d at %d", offset, position)
	}
}

func TestTimeEntriesThatAreNotNewerArePassedOver(t *testing.T) {
	x := times(t, fs.NewCrash(1), "x", 0)
	must(t, x.MaybeAppend(-1, 0)) // records without timestamp
	must(t, x.MaybeAppend(10, 5))
	must(t, x.MaybeAppend(10, 5))
	must(t, x.MaybeAppend(10, 7))
	must(t, x.MaybeAppend(20, 7))
	must(t, x.MaybeAppend(30, 7))
	if n := x.Entries(); n != 3 {
		t.Errorf("%d entries", n)
	}
	if err := x.MaybeAppend(40, 6); !errors.Is(err, ErrOrder) {
		t.Errorf("smaller offset: %v", err)
	}
	if err := x.MaybeAppend(29, 8); !errors.Is(err, ErrOrder) {
		t.Errorf("smaller timestamp: %v", err)
	}
	if err := x.MaybeAppend(40, 1<<31); !errors.Is(err, ErrRange) {
		t.Errorf("far offset: %v", err)
	}
}

func TestAFullTimeIndexHasPlaceForTheEntryOfTheRoll(t *testing.T) {
	disk := fs.NewCrash(1)
	x, err := OpenTime(disk, "x", 0, 2)
	must(t, err)
	if x.Full() {
		t.Error("empty index of two places is full")
	}
	must(t, x.MaybeAppend(1, 1))
	if !x.Full() {
		t.Error("one entry of two: not full")
	}
	must(t, x.MaybeAppend(2, 2))
	if err := x.MaybeAppend(3, 3); !errors.Is(err, ErrFull) {
		t.Errorf("third entry: %v", err)
	}
	y, err := OpenOffset(disk, "y", 0, 1)
	must(t, err)
	must(t, y.Append(1, 1))
	if err := y.Append(2, 2); !y.Full() || !errors.Is(err, ErrFull) {
		t.Errorf("second entry: %v", err)
	}
}

func TestFlushWritesOnlyWhatIsNewAndKeepsNoFileOpen(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	for i := range int64(100) {
		must(t, x.Append(i+1, int32(i+1)))
	}
	must(t, x.Flush(true))
	must(t, x.Append(200, 200))
	before := disk.Counts().WrittenBytes
	must(t, x.Flush(true))
	if wrote := disk.Counts().WrittenBytes - before; wrote != OffsetWidth {
		t.Errorf("wrote %d bytes for one entry", wrote)
	}
	opens := disk.Counts().Opens
	must(t, x.Flush(true))
	if disk.Counts().Opens != opens {
		t.Error("a flush of nothing opened the file")
	}
	if x.act.file != nil {
		t.Error("the file is still open")
	}
	if got := disk.ClosedUnflushed(); len(got) > 0 {
		t.Errorf("closed without a flush: %v", got)
	}
}

func TestAFileWithUnflushedWritesIsFlushedBeforeItIsClosed(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	must(t, x.Append(1, 1))
	must(t, x.Flush(false))
	must(t, x.Append(2, 2))
	must(t, x.Close())
	if got := disk.ClosedUnflushed(); len(got) > 0 {
		t.Errorf("closed without a flush: %v", got)
	}
	if offset, _, ok := x.Last(); !ok || offset != 1 || x.Entries() != 1 {
		t.Errorf("a closed index has %d entries to %d, want what its file has", x.Entries(), offset)
	}
}

// A checkpoint writes entries and does not flush them. After a kill -9 they are in the page cache alone, whoever comes next.
func TestEntriesOfAKilledProcessAreFlushedByTheNextOne(t *testing.T) {
	for name, end := range map[string]func(x *Offset) error{
		"flush": func(x *Offset) error { return x.Flush(true) },
		"seal":  func(x *Offset) error { return errors.Join(x.Activate(), x.Seal()) },
		"rest":  func(x *Offset) error { return x.Seal() },
		"close": func(x *Offset) error { return x.Close() },
	} {
		disk := fs.NewCrash(1)
		x := offsets(t, disk, "x", 0)
		must(t, x.Append(10, 100))
		must(t, x.Flush(false))
		must(t, disk.SyncDir("."))
		x = offsets(t, disk, "x", 0) // another process
		x.Found()
		must(t, end(x))
		if n := offsets(t, disk.Clone(fs.DropUnflushed), "x", 0).Entries(); n != 1 {
			t.Errorf("%s: %d entries after a power cut", name, n)
		}
	}
}

func TestAnIndexThatWasRemovedIsNotMadeAgainByItsEnd(t *testing.T) {
	for name, end := range map[string]func(x *Offset) error{
		"flush": func(x *Offset) error { return x.Flush(true) },
		"seal":  func(x *Offset) error { return x.Seal() },
		"close": func(x *Offset) error { return x.Close() },
	} {
		disk := fs.NewCrash(1)
		x := offsets(t, disk, "x", 0)
		must(t, x.Append(10, 100))
		must(t, x.Flush(true))
		x = offsets(t, disk, "x", 0) // another process
		x.Found()
		must(t, disk.Rename("x", "x.deleted"))
		must(t, end(x))
		if _, err := disk.Stat("x"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file is there again: %v", name, err)
		}
	}
}

func TestAppendsAndLookupsDoNotWaitForAFlush(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	must(t, x.Append(1, 1))
	calls := 0
	disk.SetHook(func(op fs.Op, _ string, _ int) error { // runs in the middle of the flush
		if calls++; op == fs.OpWrite || op == fs.OpDatasync {
			must(t, x.Append(int64(calls+10), int32(calls+10)))
			if offset, _, err := x.Lookup(1000); err != nil || offset != int64(calls+10) {
				t.Errorf("found %d, %v", offset, err)
			}
		}
		return nil
	})
	must(t, x.Flush(true))
	disk.SetHook(nil)
	must(t, x.Seal())
	if x.Entries() != 3 {
		t.Errorf("%d entries", x.Entries())
	}
	must(t, x.Check(1000))
}

func TestAnIndexWithoutEntriesHasAnEmptyFile(t *testing.T) {
	disk := fs.NewCrash(1)
	must(t, offsets(t, disk, "x", 0).Flush(true))
	if b := get(t, disk, "x"); len(b) != 0 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestTruncationRemovesEntriesFromTheOffsetOn(t *testing.T) {
	for _, c := range []struct {
		to int64
		n  int
	}{{1000, 3}, {31, 3}, {30, 2}, {21, 2}, {20, 1}, {10, 0}, {0, 0}} {
		for _, rest := range []bool{false, true} {
			disk := fs.NewCrash(1)
			x, y := offsets(t, disk, "x", 0), times(t, disk, "y", 0)
			for i := range int64(3) {
				must(t, x.Append(10*(i+1), int32(i+1)))
				must(t, y.MaybeAppend(i, 10*(i+1)))
			}
			if rest {
				must(t, x.Seal())
				must(t, y.Seal())
			}
			must(t, x.TruncateTo(c.to))
			must(t, y.TruncateTo(c.to))
			if x.Entries() != c.n || y.Entries() != c.n {
				t.Errorf("at rest %v: to %d left %d and %d entries, want %d", rest, c.to, x.Entries(), y.Entries(), c.n)
			}
			if last, _, ok := x.Last(); ok && last >= c.to {
				t.Errorf("last is %d after truncation to %d", last, c.to)
			}
			must(t, x.Append(max(c.to, 40), 100))
		}
	}
}

func TestACutIndexStaysCutAfterAPowerFailure(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	for i := range int64(10) {
		must(t, x.Append(i+1, int32(i+1)))
	}
	must(t, x.Seal())
	must(t, disk.SyncDir("."))
	must(t, x.TruncateTo(5))
	if b := get(t, disk.Clone(fs.DropUnflushed), "x"); len(b) != 4*OffsetWidth {
		t.Errorf("%d bytes, want %d", len(b), 4*OffsetWidth)
	}
	must(t, x.Reset())
	if b := get(t, disk.Clone(fs.DropUnflushed), "x"); len(b) != 0 {
		t.Errorf("%d bytes after Reset", len(b))
	}
}

func TestDamagedIndexesAreFoundAndBuiltAgain(t *testing.T) {
	whole := make([]byte, 0, 1000*OffsetWidth)
	wholeTime := make([]byte, 0, 1000*TimeWidth)
	for i := range uint32(1000) {
		whole = binary.BigEndian.AppendUint32(whole, i+1)
		whole = binary.BigEndian.AppendUint32(whole, 100*(i+1))
		wholeTime = binary.BigEndian.AppendUint64(wholeTime, uint64(i+1))
		wholeTime = binary.BigEndian.AppendUint32(wholeTime, i)
	}
	fill := func(b []byte, v byte) []byte {
		b = append([]byte(nil), b...)
		for i := range b {
			b[i] = v
		}
		return b
	}
	damage := map[string]func([]byte) []byte{
		"half an entry":     func(b []byte) []byte { return b[:len(b)-4] },
		"less than one":     func(b []byte) []byte { return b[:4] },
		"zeros":             func(b []byte) []byte { return fill(b, 0) },
		"one entry, zeros":  func(b []byte) []byte { return fill(b[:len(b)/1000], 0) },
		"0xFF":              func(b []byte) []byte { return fill(b, 0xff) },
		"zeros at the end":  func(b []byte) []byte { return append(append([]byte(nil), b...), make([]byte, 24)...) },
		"a hole":            func(b []byte) []byte { b = append([]byte(nil), b...); clear(b[4800:5400]); return b },
		"entries exchanged": func(b []byte) []byte { return append(append([]byte(nil), b[24:48]...), b[:24]...) },
	}
	for name, f := range damage {
		x := offsets(t, put(t, "x", f(whole)), "x", 0)
		if err := x.Check(1 << 30); !errors.Is(err, ErrCorrupt) {
			t.Errorf("offset index, %s: %v", name, err)
		}
		must(t, x.Reset())
		must(t, x.Append(7, 700))
		must(t, x.Seal())
		must(t, x.Check(1<<30))
		y := times(t, put(t, "y", f(wholeTime)), "y", 0)
		if err := y.Check(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("time index, %s: %v", name, err)
		}
		must(t, y.Reset())
		must(t, y.MaybeAppend(7, 700))
		must(t, y.Seal())
		must(t, y.Check())
	}
	x := offsets(t, put(t, "x", whole), "x", 0)
	must(t, x.Check(100*1000+1))
	if err := x.Check(100 * 1000); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a position at the end of the log: %v", err)
	}
	must(t, times(t, put(t, "y", wholeTime), "y", 0).Check())
}

func TestAnIndexAtRestIsSmall(t *testing.T) {
	for _, x := range []any{Offset{}, Time{}} {
		if size := reflect.TypeOf(x).Size(); size > 200 {
			t.Errorf("%T has %d bytes", x, size)
		}
	}
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	must(t, x.Append(1, 1))
	must(t, x.Seal())
	y := offsets(t, disk, "x", 0)
	if x.act != nil || x.view != nil || y.act != nil || y.view != nil {
		t.Error("an index at rest holds memory")
	}
}

func TestARenamedIndexIsFoundUnderItsNewName(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	must(t, x.Append(5, 50))
	must(t, x.Seal())
	must(t, disk.Rename("x", "x.deleted"))
	if _, _, err := x.Lookup(5); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a missing file: %v", err)
	}
	x.Renamed("x.deleted")
	if offset, position, err := x.Lookup(5); offset != 5 || position != 50 || err != nil {
		t.Errorf("found %d at %d, %v", offset, position, err)
	}
}
