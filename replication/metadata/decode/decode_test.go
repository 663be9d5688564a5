package decode

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestFieldsAreReadInOrderAndTheFirstFailureSticks(t *testing.T) {
	f := Fields{B: []byte{1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0x85, 1, 5, 'a', 'b', 'c'}}
	if a, b, c, d := f.Uint8(), f.Uint16(), f.Uint32(), f.Uint64(); a != 1 || b != 2 || c != 3 || d != 4 || f.Err != nil {
		t.Errorf("%d %d %d %d, %v", a, b, c, d, f.Err)
	}
	if v, z := f.Uvarint(math.MaxUint64), f.Varint(); v != 133 || z != -3 || f.Err != nil {
		t.Errorf("%d %d, %v", v, z, f.Err)
	}
	if n := f.Count(3, 1); n != 3 || string(f.Take(n)) != "abc" || len(f.B) != 0 {
		t.Errorf("%d, %d left", n, len(f.B))
	}
	if v := f.Uint64(); v != 0 || !errors.Is(f.Err, ErrShort) {
		t.Errorf("behind the end: %d, %v", v, f.Err)
	}
	f.Fail(errors.New("another"))
	if f.B = []byte{1}; !errors.Is(f.Err, ErrShort) {
		t.Errorf("the first failure did not stick: %v", f.Err)
	}
}

func TestALengthIsHeldAgainstWhatIsLeft(t *testing.T) {
	for name, read := range map[string]func(f *Fields){
		"a count":              func(f *Fields) { f.Count(3, 2) },
		"a count beyond int":   func(f *Fields) { f.Count(math.MaxUint64, 1) },
		"bytes":                func(f *Fields) { f.Take(6) },
		"a negative length":    func(f *Fields) { f.Take(-1) },
		"a number that is cut": func(f *Fields) { f.Uvarint(math.MaxUint64) },
		"a number too large":   func(f *Fields) { f.B = []byte{200, 1}; f.Uvarint(199) },
		"a signed one":         func(f *Fields) { f.Varint() },
	} {
		f := &Fields{B: []byte{0x80, 0x80, 0x80, 0x80, 0x80}}
		if read(f); !errors.Is(f.Err, ErrShort) || f.B != nil {
			t.Errorf("%s: %v, %d left", name, f.Err, len(f.B))
		}
	}
}

func TestAListOfNothingIsNil(t *testing.T) {
	next := 0
	read := func() int { next++; return next }
	if List(0, read) != nil || !slices.Equal(List(3, read), []int{1, 2, 3}) {
		t.Error("it is not")
	}
}
