package uring

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheProbeAgreesWithNew(t *testing.T) {
	rep := Probe()
	r, err := New(Options{})
	if (err == nil) != rep.Allowed() {
		t.Fatalf("New: %v, probe: %v", err, rep.Err)
	}
	if err != nil {
		if !strings.Contains(rep.String(), "io_uring   no") {
			t.Errorf("report does not say no:\n%v", rep)
		}
		t.Skipf("io_uring: %v", err)
	}
	defer r.Close()
	if r.Flags() != rep.Setup || r.Features() != rep.Features {
		t.Errorf("ring has %v and %v, probe %v and %v", r.Flags(), r.Features(), rep.Setup, rep.Features)
	}
	for _, o := range []Op{OpNop, OpWrite, OpFsync, OpReadFixed, OpLinkTimeout, OpAsyncCancel} {
		if !rep.Has(o) {
			t.Errorf("%v is not among %v", o, rep.Ops)
		}
	}
	if rep.Has(opInvalid) {
		t.Error("the kernel has the invalid operation")
	}
	t.Logf("\n%v", rep)
}

func TestEachRungOfTheLadderMakesAWorkingRing(t *testing.T) {
	for _, without := range []SetupFlags{0, SetupNoSQArray, SetupDeferTaskrun, SetupSingleIssuer, SetupTaskrunFlag, SetupSubmitAll} {
		t.Run("without "+without.String(), func(t *testing.T) {
			r := owned(t, Options{Entries: 4, Without: without})
			if r.Flags()&without != 0 {
				t.Fatalf("ring has %v", r.Flags())
			}
			for i := range uint64(11) { // past the end of the queue, to see indexes wrap
				r.GetSQE().PrepNop().SetUserData(i)
				if _, err := r.SubmitAndWait(1); err != nil {
					t.Fatal(err)
				}
				if got := r.Reap(nil); len(got) != 1 || got[0] != (CQE{UserData: i}) {
					t.Fatalf("completion %d: %+v", i, got)
				}
			}
		})
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	for _, x := range []struct {
		errno unix.Errno
		final bool
		says  string
	}{
		{unix.ENOSYS, true, "no io_uring"},
		{unix.EPERM, true, "s"}, // seccomp or sysctl, as this machine has it
		{unix.EINVAL, true, "set-up flags"},
		{unix.ENOMEM, false, "RLIMIT_MEMLOCK"},
		{unix.EMFILE, false, "too many open files"},
	} {
		err := refusal(x.errno)
		if !errors.Is(err, x.errno) || errors.Is(err, ErrUnsupported) != x.final || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%v: %v", x.errno, err)
		}
		rep := Report{Kernel: "k", Err: err}
		if !strings.Contains(rep.String(), err.Error()) || len(rep.Lost()) != 1 {
			t.Errorf("report:\n%v", rep)
		}
	}
}

func TestAnOldKernelsReportNamesWhatIsLost(t *testing.T) {
	rep := probe(SetupSubmitAll)
	if !rep.Allowed() {
		t.Skip(rep.Err)
	}
	if len(rep.Lost()) != 5 || !strings.Contains(rep.String(), "DEFER_TASKRUN (6.1)") {
		t.Errorf("report:\n%v", rep)
	}
}

func TestFlagsPrintTheirNames(t *testing.T) {
	for got, want := range map[string]string{
		(SetupSingleIssuer | SetupDeferTaskrun).String(): "SINGLE_ISSUER DEFER_TASKRUN",
		SetupFlags(0).String():                           "none",
		(FeatNoDrop | 1<<31).String():                    "NODROP 0x80000000",
		OpWriteFixed.String():                            "write_fixed",
		Op(200).String():                                 "op200",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		if rep := Probe(); rep.Err != nil {
			b.Skip(rep.Err)
		}
	}
	if per := b.Elapsed() / time.Duration(b.N); per > 2*time.Millisecond {
		b.Logf("a probe takes %v", per)
	}
}
