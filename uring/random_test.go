package uring

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Whatever the order of preparing, submitting, waiting and reaping, each entry completes exactly once, and the ring's
// counts say how many are where.
func TestEachEntryCompletesExactlyOnceInAnyOrderOfCalls(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, o := range []Options{
		{Entries: 4, CQEntries: 4},
		{Entries: 16},
		{Entries: 4, Without: SetupDeferTaskrun},
		{Entries: 4, CQEntries: 4, Without: SetupSubmitAll},
	} {
		r := owned(t, o)
		m := &model{r: r, rnd: rand.New(rand.NewPCG(seed, 1)), open: make(map[uint64]bool)}
		for range 3000 {
			if err := m.step(); err != nil {
				t.Fatalf("%+v after %d entries: %v", o, m.next, err)
			}
		}
		if _, err := r.SubmitAndWait(r.InFlight() + r.SQReady()); err != nil {
			t.Fatal(err)
		}
		m.took(r.Reap(nil))
		if len(m.open) != 0 || r.InFlight() != 0 || m.unknown != 0 {
			t.Fatalf("%+v: never completed: %v; completed twice: %d; in flight: %d", o, m.open, m.unknown, r.InFlight())
		}
	}
}

// model is what the test knows: entries by user data that were prepared and whose completion was not seen.
type model struct {
	r       *Ring
	rnd     *rand.Rand
	next    uint64
	open    map[uint64]bool
	unknown int
}

func (m *model) step() error {
	switch m.rnd.IntN(6) {
	case 0, 1:
		m.prepare()
	case 2:
		_, err := m.r.Submit()
		return err
	case 3:
		_, err := m.r.SubmitAndWait(m.rnd.IntN(len(m.open) + 1))
		return err
	case 4:
		_, err := m.r.SubmitAndWaitTimeout(1, time.Duration(m.rnd.IntN(1000)))
		if errors.Is(err, unix.ETIME) || len(m.open) == 0 && errors.Is(err, ErrIdle) {
			return nil
		}
		return err
	case 5:
		m.reap()
	}
	if got := m.r.InFlight() + m.r.SQReady(); got != len(m.open) {
		return errors.New("the counts are wrong")
	}
	return nil
}

// prepare adds an entry or a chain of two, some of which fail.
func (m *model) prepare() {
	chain := 1 + m.rnd.IntN(2)
	if m.r.SQSpaceLeft() < chain {
		return
	}
	for i := range chain {
		sqe := m.r.GetSQE().PrepNop()
		if m.rnd.IntN(5) == 0 {
			sqe.PrepFsync(-1, 0)
		}
		sqe.SetUserData(m.next)
		if i+1 < chain {
			sqe.SetFlags(IOLink)
		}
		m.open[m.next] = true
		m.next++
	}
}

func (m *model) reap() {
	if m.rnd.IntN(2) == 0 {
		m.took(m.r.Reap(nil))
		return
	}
	if c, ok := m.r.PeekCQE(); ok {
		m.r.Advance(1)
		m.took([]CQE{c})
	}
}

func (m *model) took(cs []CQE) {
	for _, c := range cs {
		if !m.open[c.UserData] {
			m.unknown++
		}
		delete(m.open, c.UserData)
	}
}
