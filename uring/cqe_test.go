package uring

import "testing"

// fill puts n entries through the ring without reaping, numbered from 0.
func fill(t *testing.T, r *Ring, n int) {
	t.Helper()
	for i := range uint64(n) {
		sqe := r.GetSQE()
		if sqe == nil {
			if _, err := r.Submit(); err != nil {
				t.Fatal(err)
			}
			sqe = r.GetSQE()
		}
		sqe.PrepNop().SetUserData(i)
	}
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
}

// inOrder checks that got is the completions of fill.
func inOrder(t *testing.T, got []CQE, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d completions, want %d", len(got), n)
	}
	for i, c := range got {
		if c != (CQE{UserData: uint64(i)}) {
			t.Fatalf("completion %d is %+v", i, c)
		}
	}
}

func TestCompletionsBeyondTheQueueAreNotLost(t *testing.T) {
	for _, without := range []SetupFlags{0, SetupDeferTaskrun, SetupTaskrunFlag} {
		r := owned(t, Options{Entries: 4, CQEntries: 4, Without: without})
		fill(t, r, 50)
		if r.InFlight() != 50 {
			t.Fatalf("%d in flight", r.InFlight())
		}
		inOrder(t, r.Reap(nil), 50)
		if r.InFlight() != 0 {
			t.Fatalf("%d in flight", r.InFlight())
		}
	}
}

func TestAWaitForMoreThanTheQueueHolds(t *testing.T) {
	r := owned(t, Options{Entries: 4, CQEntries: 4})
	fill(t, r, 10)
	if _, err := r.SubmitAndWait(10); err != nil {
		t.Fatal(err)
	}
	if r.CQReady() != 10 {
		t.Fatalf("%d ready", r.CQReady())
	}
	inOrder(t, r.Reap(nil), 10)
}

func TestPeekedCompletionsStayUntilAdvance(t *testing.T) {
	r := owned(t, Options{Entries: 8})
	if c, ok := r.PeekCQE(); ok {
		t.Fatalf("a completion of nothing: %+v", c)
	}
	fill(t, r, 3)
	if _, err := r.SubmitAndWait(3); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		for range 2 {
			if c, ok := r.PeekCQE(); !ok || c.UserData != i {
				t.Fatalf("peeked %+v, %v", c, ok)
			}
		}
		r.Advance(1)
	}
	panics(t, func() { r.Advance(1) })
}

// What io_uring_enter's EBUSY does: completions saved in Go memory stay in front of those in the queue.
func TestSpilledCompletionsComeFirst(t *testing.T) {
	r := owned(t, Options{Entries: 8})
	fill(t, r, 5)
	if _, err := r.SubmitAndWait(5); err != nil {
		t.Fatal(err)
	}
	if !r.spill() || r.spill() {
		t.Fatal("spill moves what is there, once")
	}
	for i := range uint64(3) {
		r.GetSQE().PrepNop().SetUserData(5 + i)
	}
	if _, err := r.SubmitAndWait(8); err != nil {
		t.Fatal(err)
	}
	c, _ := r.PeekCQE()
	r.Advance(1)
	got := []CQE{c, r.at(0), r.at(1), r.at(2)}
	r.Advance(3)
	inOrder(t, r.Reap(got), 8)
}
