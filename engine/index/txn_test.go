package index

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

func newTxn(t *testing.T, base int64) *Txn {
	t.Helper()
	return NewTxn(fs.OS(), filepath.Join(t.TempDir(), "x.txnindex"), base)
}

func addTxns(t *testing.T, x *Txn, list ...AbortedTxn) {
	t.Helper()
	for _, a := range list {
		if err := x.Append(a); err != nil {
			t.Fatal(err)
		}
	}
}

func collected(t *testing.T, x *Txn, from, to int64) (list []AbortedTxn, done bool) {
	t.Helper()
	list, done, err := x.Collect(nil, from, to, false)
	if err != nil {
		t.Fatal(err)
	}
	return list, done
}

// some are transactions of three producers that overlap.
func some() []AbortedTxn {
	return []AbortedTxn{{2, 12, 15, 11}, {1, 11, 20, 16}, {3, 16, 21, 22}, {1, 30, 33, 34}}
}

func TestTheEntriesOfATransactionIndexAreThoseOfKafka(t *testing.T) {
	// The first entry that Kafka 4.4 wrote for t-txn-0 in ../../../shared/kafka/directories/killed.tar.gz has these fields.
	want := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8}
	a := AbortedTxn{6, 0, 7, 8}
	if got := a.AppendTo(nil); !slices.Equal(got, want) || len(got) != TxnWidth {
		t.Errorf("%v", got)
	}
	if version, got := ParseAbortedTxn(want); version != 0 || got != a {
		t.Errorf("version %d, %+v", version, got)
	}
}

func TestTransactionsAreFoundByTheOffsetsThatTheyHold(t *testing.T) {
	for _, state := range []string{"in memory", "flushed", "sealed", "opened", "sealed, and one more"} {
		x := newTxn(t, 10)
		list := some()
		last := len(list)
		if state == "sealed, and one more" {
			last--
		}
		addTxns(t, x, list[:last]...)
		var err error
		switch state {
		case "in memory":
		case "flushed":
			_, err = x.Flush()
		default:
			_, err = x.Seal()
		}
		if err != nil {
			t.Fatal(err)
		}
		if state == "opened" {
			if x, err = OpenTxn(fs.OS(), x.name, 10); err != nil {
				t.Fatal(err)
			}
		}
		addTxns(t, x, list[last:]...)
		for _, c := range []struct {
			from, to int64
			want     []AbortedTxn
			done     bool
		}{
			{10, 11, list[:0], true}, // nothing that ended so far began below 11
			{10, 12, list[1:2], true},
			{10, 13, list[:2], true},
			{16, 22, list[1:3], true},
			{21, 30, list[2:3], true},
			{22, 40, list[3:], false},
			{34, 40, nil, false},
		} {
			got, done := collected(t, x, c.from, c.to)
			if !slices.Equal(got, c.want) || done != c.done {
				t.Errorf("%s: [%d, %d): %v, %v; want %v, %v", state, c.from, c.to, got, done, c.want, c.done)
			}
		}
	}
}

func TestASealedTransactionIndexIsNotReadByWhoMustNotWait(t *testing.T) {
	x := newTxn(t, 10)
	addTxns(t, x, some()...)
	if made, err := x.Seal(); !made || err != nil {
		t.Fatal(made, err)
	}
	if _, _, err := x.Collect(nil, 10, 40, true); !errors.Is(err, fs.ErrWouldBlock) {
		t.Errorf("%v", err)
	}
	if list, _, err := x.Collect(nil, 34, 40, true); err != nil || len(list) != 0 { // all are before
		t.Errorf("%v, %v", list, err)
	}
}

func TestMarkersComeInOrder(t *testing.T) {
	x := newTxn(t, 10)
	addTxns(t, x, some()...)
	if err := x.Append(AbortedTxn{4, 31, 33, 34}); !errors.Is(err, ErrOrder) {
		t.Errorf("%v", err)
	}
	if err := newTxn(t, 10).Append(AbortedTxn{4, 1, 9, 10}); !errors.Is(err, ErrOrder) {
		t.Errorf("a marker of the segment before: %v", err)
	}
}

func TestATransactionIndexIsCutByItsMarkers(t *testing.T) {
	for at, left := range map[int64]int{10: 0, 15: 0, 16: 1, 21: 2, 22: 3, 33: 3, 34: 4} {
		for _, sealed := range []bool{false, true} {
			x := newTxn(t, 10)
			addTxns(t, x, some()...)
			if sealed {
				if _, err := x.Seal(); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.TruncateTo(at); err != nil {
				t.Fatal(err)
			}
			if _, err := x.Flush(); err != nil {
				t.Fatal(err)
			}
			if x.Entries() != left {
				t.Errorf("cut at %d: %d entries, want %d", at, x.Entries(), left)
			}
			if size := fileSize(t, x.name); size != int64(left*TxnWidth) && !(left == 0 && size == -1) {
				t.Errorf("cut at %d: the file has %d bytes, want %d entries", at, size, left)
			}
			addTxns(t, x, AbortedTxn{9, at, at + 50, at})
			if list, _ := collected(t, x, 0, at+51); len(list) != left+1 && at > 10 {
				t.Errorf("cut at %d: %v", at, list)
			}
		}
	}
}

func fileSize(t *testing.T, name string) int64 {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestManyAbortedTransactionsDoNotStayInMemory(t *testing.T) {
	x := newTxn(t, 0)
	want := []AbortedTxn{}
	for i := range int64(3*keptTxns + 7) {
		a := AbortedTxn{i, 10 * i, 10*i + 5, 10*i + 6}
		want = append(want, a)
		addTxns(t, x, a)
		if i%1000 == 0 {
			if _, err := x.Flush(); err != nil {
				t.Fatal(err)
			}
			if len(x.mem) > keptTxns {
				t.Fatalf("%d entries in memory", len(x.mem))
			}
		}
	}
	if got, _ := collected(t, x, 0, 1<<40); !slices.Equal(got, want) {
		t.Errorf("%d of %d transactions came back", len(got), len(want))
	}
}

func TestAnEmptiedTransactionIndexIsFilledAgain(t *testing.T) {
	x := newTxn(t, 10)
	addTxns(t, x, some()...)
	if _, err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := x.Reset(); err != nil {
		t.Fatal(err)
	}
	addTxns(t, x, some()[:2]...)
	if _, err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	y, err := OpenTxn(fs.OS(), x.name, 10)
	if err != nil || y.Entries() != 2 {
		t.Fatal(y, err)
	}
}

func TestWhatIsNoTransactionIndexIsCorrupt(t *testing.T) {
	var good []byte
	for _, a := range some() {
		good = a.AppendTo(good)
	}
	if list, err := ParseTxns(good, 10); err != nil || !slices.Equal(list, some()) {
		t.Fatal(list, err)
	}
	with := func(at int, v byte) []byte {
		b := slices.Clone(good)
		b[at] = v
		return b
	}
	for what, b := range map[string][]byte{
		"torn":                    good[:TxnWidth+3],
		"a later version":         with(1, 1),
		"an older one":            with(0, 0x80),
		"a producer that none is": with(2, 0x80),
		"first behind the marker": with(10, 1),
		"markers out of order":    with(TxnWidth+25, 15),
		"last stable too far":     with(26, 1),
		"zeros":                   make([]byte, TxnWidth),
	} {
		if _, err := ParseTxns(b, 10); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := ParseTxns(good, 16); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a marker below the base offset: %v", err)
	}
}

func TestTheEntryBehindAPositionIsAnUpperBound(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		x, err := OpenOffset(fs.OS(), filepath.Join(t.TempDir(), "x.index"), 100, 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := x.Behind(0); ok || err != nil {
			t.Fatal(ok, err)
		}
		for _, e := range [][2]int64{{110, 4000}, {120, 8000}, {130, 12000}} {
			if err := x.Append(e[0], int32(e[1])); err != nil {
				t.Fatal(err)
			}
		}
		if sealed {
			if err := x.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		for position, want := range map[int64]int64{0: 110, 3999: 110, 4000: 120, 4001: 120, 8000: 120, 11999: 130, 12000: 130, 12001: 0} {
			got, ok, err := x.Behind(position)
			if err != nil || ok != (want > 0) || ok && got != want {
				t.Errorf("behind %d: %d, %v, %v; want %d", position, got, ok, err, want)
			}
		}
	}
}

func FuzzTransactionIndex(f *testing.F) {
	var b []byte
	for _, a := range some() {
		b = a.AppendTo(b)
	}
	f.Add(b, int64(10))
	f.Add(b[:40], int64(10))
	f.Fuzz(func(t *testing.T, b []byte, base int64) {
		list, err := ParseTxns(b, base)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		var again []byte
		for _, a := range list {
			again = a.AppendTo(again)
		}
		if !slices.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
