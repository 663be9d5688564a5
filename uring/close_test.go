package uring

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCloseEndsWhatIsInFlight(t *testing.T) {
	for _, without := range []SetupFlags{0, SetupDeferTaskrun, SetupTaskrunFlag} { // the last cannot cancel all at once
		t.Run("without "+without.String(), func(t *testing.T) {
			r := owned(t, Options{Entries: 4, Without: without})
			in, out := pipe(t)
			b := []byte("untouched")
			for i := range uint64(3) { // more than the queue has room for to cancel them at once
				r.GetSQE().PrepRead(in, b, 0).SetUserData(10 + i)
				r.GetSQE().PrepPollAdd(in, unix.POLLIN, PollAddMulti).SetUserData(20)
				r.GetSQE().PrepTimeout(time.Hour, 0, 0).SetUserData(30 + i)
				r.GetSQE().PrepNop()
				if _, err := r.Submit(); err != nil {
					t.Fatal(err)
				}
			}
			r.GetSQE().PrepRead(in, b, 0).SetFlags(IOHardlink) // one starts when the one before ends
			r.GetSQE().PrepRead(in, b, 0)
			if _, err := r.Submit(); err != nil {
				t.Fatal(err)
			}
			r.GetSQE().PrepWrite(out, []byte("dropped"), 0)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			unix.Write(out, []byte("overwrite"))
			if string(b) != "untouched" {
				t.Errorf("buffer holds %q", b)
			}
			got := make([]byte, 100)
			if n, err := unix.Read(in, got); err != nil || string(got[:n]) != "overwrite" {
				t.Errorf("pipe holds %q: %v", got[:n], err)
			}
		})
	}
}

func TestCloseWaitsForWrites(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	b, err := Alloc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(8) {
		r.GetSQE().PrepWrite(int(f.Fd()), b.Bytes(), i<<20).SetRWFlags(RWFDsync)
	}
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b.Free() // the kernel is done with it
}

func TestAClosedRingSaysSo(t *testing.T) {
	r := owned(t, Options{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, submit := r.Submit()
	_, wait := r.SubmitAndWait(1)
	for _, err := range []error{r.Close(), submit, wait, r.RegisterFiles(nil), r.RegisterRingFd()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
	}
	if r.GetSQE() != nil || r.CQReady() != 0 || len(r.Reap(nil)) != 0 {
		t.Error("a closed ring gives entries")
	}
	if _, ok := r.PeekCQE(); ok {
		t.Error("a closed ring gives completions")
	}
}

func TestCloseOfARingThatNobodyUsed(t *testing.T) {
	r := owned(t, Options{})
	r.GetSQE().PrepNop()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
