package uring

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// untilWaiting returns once thread tid is blocked in io_uring_enter.
func untilWaiting(t testing.TB, tid int) {
	t.Helper()
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		if err != nil {
			t.Skipf("cannot see what a thread waits in: %v", err)
		}
		if strings.HasPrefix(string(b), fmt.Sprintf("%d ", unix.SYS_IO_URING_ENTER)) {
			return
		}
		runtime.Gosched()
	}
}

func TestSignalsDoNotEndAWait(t *testing.T) {
	for name, wait := range map[string]func(r *Ring) (int, error){
		"without a timeout": func(r *Ring) (int, error) { return r.SubmitAndWait(1) },
		"with a timeout":    func(r *Ring) (int, error) { return r.SubmitAndWaitTimeout(1, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			r := owned(t, Options{})
			in, out := pipe(t)
			seen := make(chan os.Signal, 1)
			signal.Notify(seen, unix.SIGUSR1)
			defer signal.Stop(seen)

			b := make([]byte, 8)
			r.GetSQE().PrepRead(in, b, 0)
			tid := unix.Gettid()
			go func() {
				for range 20 {
					untilWaiting(t, tid)
					if err := unix.Tgkill(os.Getpid(), tid, unix.SIGUSR1); err != nil {
						t.Error(err)
					}
					<-seen
				}
				untilWaiting(t, tid)
				unix.Write(out, []byte("done"))
			}()
			if _, err := wait(r); err != nil {
				t.Fatal(err)
			}
			if got := r.Reap(nil); len(got) != 1 || got[0].Res != 4 {
				t.Fatalf("completions %+v", got)
			}
		})
	}
}

func TestAWaitGivesUpAfterItsTimeout(t *testing.T) {
	r := owned(t, Options{})
	in, out := pipe(t)
	r.GetSQE().PrepRead(in, make([]byte, 1), 0)
	for _, d := range []time.Duration{time.Millisecond, 0, -time.Second} {
		if _, err := r.SubmitAndWaitTimeout(1, d); !errors.Is(err, unix.ETIME) {
			t.Fatalf("%v: %v", d, err)
		}
	}
	if r.InFlight() != 1 {
		t.Fatalf("%d in flight", r.InFlight())
	}
	unix.Write(out, []byte("x"))
	if res := result(t, r); res != 1 {
		t.Fatalf("read: %d", res)
	}
}

func TestAWaitForMoreThanCanComeReturnsErrIdle(t *testing.T) {
	r := owned(t, Options{})
	if _, err := r.SubmitAndWait(1); !errors.Is(err, ErrIdle) {
		t.Errorf("nothing prepared: %v", err)
	}
	r.GetSQE().PrepNop()
	if n, err := r.SubmitAndWait(2); n != 1 || !errors.Is(err, ErrIdle) {
		t.Errorf("one of two: %d, %v", n, err)
	}
	if _, err := r.SubmitAndWait(2); !errors.Is(err, ErrIdle) {
		t.Errorf("one not reaped: %v", err)
	}
	if got := r.Reap(nil); len(got) != 1 {
		t.Errorf("completions %+v", got)
	}
}

func TestTimeoutsFireInTheOrderOfTheirTimes(t *testing.T) {
	r := owned(t, Options{Entries: 4})
	// All in one submission: each needs a time of its own until then.
	for i, d := range []time.Duration{30, 20, 10} {
		r.GetSQE().PrepTimeout(d*time.Millisecond, 0, 0).SetUserData(uint64(i))
	}
	if _, err := r.SubmitAndWait(3); err != nil {
		t.Fatal(err)
	}
	got := r.Reap(nil)
	for i := range got {
		if len(got) != 3 || got[i] != (CQE{UserData: uint64(2 - i), Res: neg(unix.ETIME)}) {
			t.Fatalf("completions %+v", got)
		}
	}
}

func TestATimeoutEndsWhenEnoughOthersHaveCompleted(t *testing.T) {
	r := owned(t, Options{})
	r.GetSQE().PrepTimeout(time.Hour, 2, 0).SetUserData(1)
	r.GetSQE().PrepNop().SetUserData(2)
	r.GetSQE().PrepNop().SetUserData(3)
	want(t, results(t, r, 3), 0, 0, 0)
}

func TestARemovedTimeoutIsCancelled(t *testing.T) {
	r := owned(t, Options{})
	r.GetSQE().PrepTimeout(time.Hour, 0, 0).SetUserData(1)
	r.GetSQE().PrepTimeoutRemove(1).SetUserData(2)
	r.GetSQE().PrepTimeoutRemove(99).SetUserData(3)
	want(t, results(t, r, 3), neg(unix.ECANCELED), 0, neg(unix.ENOENT))
}

func TestACancelledReadSaysSoAndLeavesItsBuffer(t *testing.T) {
	r := owned(t, Options{})
	in, out := pipe(t)
	b := []byte("untouched")
	r.GetSQE().PrepRead(in, b, 0).SetUserData(1)
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	r.GetSQE().PrepAsyncCancel(1, 0).SetUserData(2)
	r.GetSQE().PrepAsyncCancel(77, 0).SetUserData(3)
	want(t, results(t, r, 3), neg(unix.ECANCELED), 0, neg(unix.ENOENT))
	unix.Write(out, []byte("overwrite"))
	if string(b) != "untouched" {
		t.Errorf("buffer holds %q", b)
	}
}

func TestAllEntriesOfADescriptorAreCancelled(t *testing.T) {
	r := owned(t, Options{})
	if !r.cancelAny {
		t.Skip("kernel before 5.19")
	}
	in, _ := pipe(t)
	r.GetSQE().PrepPollAdd(in, unix.POLLIN, 0).SetUserData(1)
	r.GetSQE().PrepPollAdd(in, unix.POLLIN, 0).SetUserData(2)
	r.GetSQE().PrepAsyncCancelFd(in, CancelAll).SetUserData(3)
	want(t, results(t, r, 3), neg(unix.ECANCELED), neg(unix.ECANCELED), 2)
}

func TestAPollTellsOfEventsUntilItIsRemoved(t *testing.T) {
	r := owned(t, Options{})
	in, out := pipe(t)
	r.GetSQE().PrepPollAdd(in, unix.POLLIN, 0)
	unix.Write(out, []byte("x"))
	if res := result(t, r); res != unix.POLLIN {
		t.Fatalf("poll: %d", res)
	}
	unix.Read(in, make([]byte, 1))

	r.GetSQE().PrepPollAdd(in, unix.POLLIN, PollAddMulti).SetUserData(1)
	for range 3 {
		if _, err := r.Submit(); err != nil {
			t.Fatal(err)
		}
		unix.Write(out, []byte("x"))
		if _, err := r.SubmitAndWait(1); err != nil {
			t.Fatal(err)
		}
		if got := r.Reap(nil); len(got) != 1 || !got[0].More() || r.InFlight() != 1 {
			t.Fatalf("completions %+v, %d in flight", got, r.InFlight())
		}
		unix.Read(in, make([]byte, 1))
	}
	r.GetSQE().PrepPollRemove(1).SetUserData(2)
	want(t, results(t, r, 2), neg(unix.ECANCELED), 0)
}
