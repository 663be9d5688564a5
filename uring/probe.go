package uring

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Report is what a kernel allows this process to do with io_uring.
type Report struct {
	Kernel   string     // release and machine, such as "6.18.44 x86_64"
	Sysctl   string     // value of kernel.io_uring_disabled: "0", "1", "2", or empty before 6.6
	Err      error      // why New fails, or nil; wraps ErrUnsupported and the errno
	Setup    SetupFlags // what New uses
	Features Features
	Ops      []Op // operations that the kernel has, in order of their codes
}

// Probe asks the kernel, by making a small ring, sending one entry through it and closing it again: a dozen system calls,
// far below a millisecond, and nothing stays behind. It needs no owner and may run anywhere.
func Probe() Report { return probe(0) }

func probe(without SetupFlags) Report {
	rep := Report{Kernel: kernelRelease(), Sysctl: sysctlValue()}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, err := New(Options{Entries: 4, Without: without})
	if err != nil {
		rep.Err = err
		return rep
	}
	rep.Setup, rep.Features = r.flags, r.features
	if rep.Ops, err = r.ops(); err == nil {
		err = r.tryOne()
	}
	if err = errors.Join(err, r.Close()); err != nil {
		// A sandbox may know one of the three system calls and not the others.
		rep.Err = fmt.Errorf("uring: %w: a ring can be made but not used: %w", ErrUnsupported, err)
	}
	return rep
}

// tryOne sends one entry through the ring.
func (r *Ring) tryOne() error {
	r.GetSQE().PrepNop()
	if _, err := r.SubmitAndWait(1); err != nil {
		return err
	}
	c, _ := r.PeekCQE()
	return c.Err()
}

// Allowed reports whether New works.
func (r Report) Allowed() bool { return r.Err == nil }

// Has reports whether the kernel has the operation.
func (r Report) Has(o Op) bool {
	for _, have := range r.Ops {
		if have == o {
			return true
		}
	}
	return false
}

// Lost names what this kernel makes slower or impossible next to the newest that the package knows, in plain words.
func (r Report) Lost() []string {
	if !r.Allowed() {
		return []string{"io_uring: writes go through pwritev2 and fdatasync, one at a time for each thread"}
	}
	var lost []string
	for _, x := range [...]struct {
		have bool
		text string
	}{
		{r.Setup&SetupDeferTaskrun != 0, "DEFER_TASKRUN (6.1): completions interrupt the owner"},
		{r.Setup&SetupSingleIssuer != 0, "SINGLE_ISSUER (6.0): the one-owner rule is not checked"},
		{r.Setup&SetupCoopTaskrun != 0 || r.Setup&SetupDeferTaskrun != 0, "cancelling everything at once (5.19)"},
		{r.Setup&SetupSubmitAll != 0, "SUBMIT_ALL and CQESkipSuccess (5.18)"},
		{r.Setup&SetupNoSQArray != 0, "NO_SQARRAY (6.6): one more indirection for each entry"},
	} {
		if !x.have {
			lost = append(lost, x.text)
		}
	}
	return lost
}

// String is a report for people, several lines without a newline at the end.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel     %s\n", r.Kernel)
	if !r.Allowed() {
		fmt.Fprintf(&b, "io_uring   no: %v", r.Err)
		return b.String()
	}
	fmt.Fprintf(&b, "io_uring   yes (sysctl kernel.io_uring_disabled: %s)\n", orNone(r.Sysctl))
	fmt.Fprintf(&b, "set-up     %v\n", r.Setup)
	fmt.Fprintf(&b, "features   %v\n", r.Features)
	fmt.Fprintf(&b, "operations %d, of ours missing: %s\n", len(r.Ops), r.missingOps())
	fmt.Fprintf(&b, "lost       %s", orNone(strings.Join(r.Lost(), "; ")))
	return b.String()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// missingOps names the operations that this package prepares and the kernel does not have.
func (r Report) missingOps() string {
	var missing []string
	for o := range opInvalid {
		if !strings.HasPrefix(o.String(), "op") && !r.Has(o) {
			missing = append(missing, o.String())
		}
	}
	return orNone(strings.Join(missing, " "))
}

// probeAnswer is struct io_uring_probe with room for all operations that can exist.
type probeAnswer struct {
	lastOp, opsLen uint8
	resv           uint16
	resv2          [3]uint32
	ops            [256]struct {
		op, resv uint8
		flags    uint16 // bit 0: the kernel has it
		resv2    uint32
	}
}

// ops asks the kernel for the operations that it has.
func (r *Ring) ops() ([]Op, error) {
	var a probeAnswer
	if _, err := r.register(registerProbe, unsafe.Pointer(&a), len(a.ops)); err != nil {
		return nil, fmt.Errorf("uring: ask for operations: %w", err)
	}
	var ops []Op
	for _, o := range a.ops[:a.opsLen] {
		if o.flags&1 != 0 {
			ops = append(ops, Op(o.op))
		}
	}
	return ops, nil
}

// kernelRelease returns uname's release and machine.
func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Machine[:])
}
