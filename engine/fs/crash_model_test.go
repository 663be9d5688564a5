package fs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// byteModel is a second, slower account of one file: for each byte, every value that a power cut may leave there.
type byteModel struct {
	may  [][]byte // by position: the values that may be on the disk; a byte that may be beyond the end is in short
	size int
	need int // the end of what was flushed and not truncated since: no cut is shorter
}

func (m *byteModel) at(i int) *[]byte {
	for len(m.may) <= i {
		m.may = append(m.may, []byte{0})
	}
	return &m.may[i]
}

func (m *byteModel) write(p []byte, at int, durable bool) {
	for i, b := range p {
		v := m.at(at + i)
		if durable {
			*v = []byte{b}
		} else if !slices.Contains(*v, b) {
			*v = append(*v, b)
		}
	}
	m.size = max(m.size, at+len(p))
	if durable {
		m.need = max(m.need, at+len(p))
	}
}

func (m *byteModel) truncate(size int) {
	for i := size; i < len(m.may); i++ {
		if v := m.at(i); !slices.Contains(*v, 0) {
			*v = append(*v, 0)
		}
	}
	m.size = size
	m.need = min(m.need, size)
}

// flush leaves the values that the process sees.
func (m *byteModel) flush(seen []byte) {
	m.may = nil
	for _, b := range seen {
		m.may = append(m.may, []byte{b})
	}
	m.need, m.size = len(seen), len(seen)
}

// check compares a cut with the model. A durable write rounds up to its sector, so the model's values are a superset
// only where durable writes are whole sectors: the test makes them so.
func (m *byteModel) check(b []byte) error {
	if len(b) < m.need {
		return fmt.Errorf("%d bytes are left of %d that were flushed", len(b), m.need)
	}
	for i, v := range b {
		if i < len(m.may) && !slices.Contains(m.may[i], v) {
			return fmt.Errorf("byte %d is %q, may be %q", i, v, m.may[i])
		}
		if i >= len(m.may) && v != 0 {
			return fmt.Errorf("byte %d is %q and was never written", i, v)
		}
	}
	return nil
}

func TestACutLeavesNothingThatTheModelForbids(t *testing.T) {
	for seed := range uint64(25) {
		if err := modelRun(t, seed, Faults{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheModelNoticesPlantedBugs(t *testing.T) {
	for _, faults := range []Faults{{IgnoreDatasync: true}, {IgnoreDurable: true}} {
		caught := 0
		for seed := range uint64(10) {
			if modelRun(t, seed, faults) != nil {
				caught++
			}
		}
		if caught < 8 {
			t.Errorf("%+v: noticed in %d of 10 runs", faults, caught)
		}
	}
}

// modelRun makes random changes of one file and checks cuts after each.
func modelRun(t *testing.T, seed uint64, faults Faults) error {
	const steps, span = 40, 20 // span in sectors
	rng := rand.New(rand.NewPCG(seed, 0))
	c, dir := newDisk(t, seed)
	f := settledFile(t, c, dir+"/a", nil)
	c.SetFaults(faults)
	m, trace := &byteModel{}, ""
	for step := range steps {
		n, at, letter := 1+rng.IntN(4), rng.IntN(span), byte('a'+step%26)
		switch op := rng.IntN(10); {
		case op < 6:
			durable := op >= 4
			must(t, f.Write(fill(letter, n*sector), int64(at*sector), durable))
			m.write(fill(letter, n*sector), at*sector, durable)
			trace += fmt.Sprintf("write %c%d at %d, durable %v; ", letter, n, at, durable)
		case op < 8:
			must(t, f.Truncate(int64(at*sector+n)))
			m.truncate(at*sector + n)
			trace += fmt.Sprintf("truncate to %d; ", at*sector+n)
		default:
			must(t, f.Datasync())
			m.flush(content(t, c, dir+"/a"))
			trace += "datasync; "
		}
		for _, p := range []Policy{DropUnflushed, KeepAll, Random, Random, Random, Random, Random, Random} {
			b := content(t, c.Clone(p), dir+"/a")
			if err := m.check(b); err != nil {
				return fmt.Errorf("seed %d, policy %d: %s%w", seed, p, trace, err)
			}
			if p == KeepAll {
				same(t, "kept after "+trace, b, content(t, c, dir+"/a"))
			}
		}
	}
	return nil
}
