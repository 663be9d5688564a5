package uring

import (
	"os"
	"os/exec"
	"os/signal"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAFailedEntryCancelsTheRestOfItsChainAndNoOther(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepWrite(-1, []byte("x"), 0).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepFsync(int(f.Fd()), FsyncDatasync).SetUserData(2).SetFlags(IOLink)
	r.GetSQE().PrepNop().SetUserData(3)
	r.GetSQE().PrepNop().SetUserData(4)
	want(t, results(t, r, 4), neg(unix.EBADF), neg(unix.ECANCELED), neg(unix.ECANCELED), 0)
}

func TestAHardLinkSurvivesAFailure(t *testing.T) {
	r := owned(t, Options{})
	r.GetSQE().PrepRead(-1, make([]byte, 1), 0).SetUserData(1).SetFlags(IOHardlink)
	r.GetSQE().PrepNop().SetUserData(2)
	got := results(t, r, 2)
	// An entry that fails before it is queued fails its chain hard (5.x), else the link holds.
	if got[1] != neg(unix.EBADF) || got[2] != 0 && got[2] != neg(unix.ECANCELED) {
		t.Errorf("completions %v", got)
	}
}

func TestAShortReadCancelsTheRestOfItsChain(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	if _, err := f.WriteString("four"); err != nil {
		t.Fatal(err)
	}
	r.GetSQE().PrepRead(int(f.Fd()), make([]byte, 8), 0).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepNop().SetUserData(2)
	want(t, results(t, r, 2), 4, neg(unix.ECANCELED))
}

// RLIMIT_FSIZE belongs to the whole process, so a child of its own makes the short write.
func TestAShortWriteCancelsItsFsync(t *testing.T) {
	const variable = "URING_TEST_SHORT_WRITE"
	if os.Getenv(variable) != "" {
		shortWrite(t)
		return
	}
	owned(t, Options{}) // skips where there is no io_uring
	cmd := exec.Command(os.Args[0], "-test.run=^TestAShortWriteCancelsItsFsync$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
}

func shortWrite(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	signal.Ignore(unix.SIGXFSZ)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 5000, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &old) // the coverage report is longer
	fd := int(f.Fd())
	r.GetSQE().PrepWrite(fd, make([]byte, 8192), 0).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepFsync(fd, FsyncDatasync).SetUserData(2)
	want(t, results(t, r, 2), 5000, neg(unix.ECANCELED))
	// The same without completions of successes: a short write counts as a failure and is told.
	if r.Features()&FeatCQESkip == 0 || r.Flags()&SetupSubmitAll == 0 {
		return
	}
	r.GetSQE().PrepWrite(fd, make([]byte, 8192), 0).SetUserData(1).SetFlags(IOLink | CQESkipSuccess)
	r.GetSQE().PrepFsync(fd, FsyncDatasync).SetUserData(2)
	want(t, results(t, r, 1), 5000)
}

func TestAChainThatSkipsSuccessesHasOneCompletion(t *testing.T) {
	r := owned(t, Options{})
	if r.Features()&FeatCQESkip == 0 || r.Flags()&SetupSubmitAll == 0 {
		t.Skip("kernel before 5.18")
	}
	f := tempFile(t)
	const quiet = IOLink | CQESkipSuccess
	for _, x := range []struct {
		name string
		fds  [3]int
		tag  uint64
		res  int32
	}{
		{"success", [3]int{int(f.Fd()), int(f.Fd()), int(f.Fd())}, 3, 0},
		{"first fails", [3]int{-1, int(f.Fd()), int(f.Fd())}, 1, neg(unix.EBADF)},
		{"second fails", [3]int{int(f.Fd()), -1, int(f.Fd())}, 2, neg(unix.EBADF)},
		{"last fails", [3]int{int(f.Fd()), int(f.Fd()), -1}, 3, neg(unix.EBADF)},
	} {
		r.GetSQE().PrepWrite(x.fds[0], []byte("a"), 0).SetUserData(1).SetFlags(quiet)
		r.GetSQE().PrepWrite(x.fds[1], []byte("b"), 1).SetUserData(2).SetFlags(quiet)
		r.GetSQE().PrepFsync(x.fds[2], 0).SetUserData(3)
		if got := results(t, r, 1); len(got) != 1 || got[x.tag] != x.res {
			t.Errorf("%s: completions %v, want %d: %d", x.name, got, x.tag, x.res)
		}
	}
}

func TestAMisusedChainPanics(t *testing.T) {
	for name, flags := range map[string][]Flags{
		"skip and hard link":   {IOHardlink | CQESkipSuccess, 0},
		"no end":               {IOLink},
		"no end, hard":         {0, IOHardlink},
		"skip without a link":  {CQESkipSuccess},
		"last one skips":       {IOLink | CQESkipSuccess, CQESkipSuccess},
		"only first skips":     {IOLink | CQESkipSuccess, IOLink, 0},
		"only second skips":    {IOLink, IOLink | CQESkipSuccess, 0},
		"last alone skips":     {IOLink, CQESkipSuccess},
		"chain after another":  {0, IOLink, 0, IOLink | CQESkipSuccess},
		"skip and then nobody": {IOLink | CQESkipSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			r := owned(t, Options{})
			for _, f := range flags {
				r.GetSQE().PrepNop().SetFlags(f)
			}
			panics(t, func() { r.Submit() })
		})
	}
	t.Run("skip and link timeout", func(t *testing.T) {
		r := owned(t, Options{})
		r.GetSQE().PrepNop().SetFlags(IOLink | CQESkipSuccess)
		r.GetSQE().PrepLinkTimeout(time.Second, 0)
		panics(t, func() { r.Submit() })
	})
}

// The kernel can run out of memory between two entries of a chain. Entering with a smaller count does the same.
func TestTheRestOfASplitChainFailsInsteadOfRunningAlone(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepNop().SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepWrite(int(f.Fd()), []byte("x"), 0).SetUserData(2).SetFlags(IOLink)
	r.GetSQE().PrepFsync(int(f.Fd()), 0).SetUserData(3)
	r.GetSQE().PrepNop().SetUserData(4)
	if err := r.bind(); err != nil {
		t.Fatal(err)
	}
	r.publish()
	if n, errno := r.enterOnce(1, 0, time.Time{}); n != 1 || errno != 0 {
		t.Fatalf("took %d: %v", n, errno)
	}
	got := results(t, r, 4)
	if got[1] != 0 || got[2] >= 0 || got[3] >= 0 || got[4] != 0 {
		t.Errorf("completions %v", got)
	}
	if st, err := f.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("the write ran: size %d, %v", st.Size(), err)
	}
}

func TestALinkTimeoutEndsTheEntryBeforeIt(t *testing.T) {
	r := owned(t, Options{})
	in, _ := pipe(t)
	r.GetSQE().PrepRead(in, make([]byte, 1), 0).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepLinkTimeout(time.Millisecond, 0).SetUserData(2)
	got := results(t, r, 2)
	// A read that a kernel worker was blocked in may say EINTR.
	if got[1] != neg(unix.ECANCELED) && got[1] != neg(unix.EINTR) || got[2] != neg(unix.ETIME) {
		t.Errorf("completions %v", got)
	}
}

func TestALinkTimeoutThatIsNotNeededIsCancelled(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepWrite(int(f.Fd()), []byte("in time"), 0).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepLinkTimeout(time.Hour, 0).SetUserData(2)
	want(t, results(t, r, 2), 7, neg(unix.ECANCELED))
}

func TestADrainWaitsForAllBeforeIt(t *testing.T) {
	r := owned(t, Options{})
	in, out := pipe(t)
	r.GetSQE().PrepRead(in, make([]byte, 1), 0).SetUserData(1)
	r.GetSQE().PrepNop().SetUserData(2).SetFlags(IODrain)
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	if c, ok := r.PeekCQE(); ok {
		t.Fatalf("completed early: %+v", c)
	}
	if _, err := unix.Write(out, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SubmitAndWait(2); err != nil {
		t.Fatal(err)
	}
	got := r.Reap(nil)
	if len(got) != 2 || got[0].UserData != 1 || got[1].UserData != 2 {
		t.Errorf("completions %+v", got)
	}
}
