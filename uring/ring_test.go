package uring

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// owned returns a ring whose owner is the test's goroutine, locked to its thread. It skips where io_uring is refused.
func owned(t testing.TB, o Options) *Ring {
	t.Helper()
	runtime.LockOSThread()
	r, err := New(o)
	if err != nil {
		runtime.UnlockOSThread()
		t.Skipf("io_uring: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && err != ErrClosed {
			t.Errorf("close: %v", err)
		}
		runtime.UnlockOSThread()
	})
	return r
}

func tempFile(t testing.TB) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "ring")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pipe returns both ends of a blocking pipe, as descriptors.
func pipe(t testing.TB) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(p[0]); unix.Close(p[1]) })
	return p[0], p[1]
}

// results submits, waits for n completions and returns their results by user data. They must be all that is in flight.
func results(t testing.TB, r *Ring, n int) map[uint64]int32 {
	t.Helper()
	if _, err := r.SubmitAndWait(n); err != nil {
		t.Fatalf("wait for %d completions: %v", n, err)
	}
	got := make(map[uint64]int32)
	for _, c := range r.Reap(nil) {
		if _, twice := got[c.UserData]; twice {
			t.Fatalf("two completions for %d", c.UserData)
		}
		got[c.UserData] = c.Res
	}
	if len(got) != n || r.InFlight() != 0 {
		t.Fatalf("completions %v, want %d; %d in flight", got, n, r.InFlight())
	}
	return got
}

// result is results for one entry.
func result(t testing.TB, r *Ring) int32 {
	t.Helper()
	for _, res := range results(t, r, 1) {
		return res
	}
	return 0
}

// want compares results by user data 1, 2, ...
func want(t testing.TB, got map[uint64]int32, res ...int32) {
	t.Helper()
	for i, w := range res {
		if got[uint64(i+1)] != w {
			t.Errorf("entry %d completed with %d, want %d (all: %v)", i+1, got[uint64(i+1)], w, got)
		}
	}
}

// neg is the result of an operation that failed.
func neg(e unix.Errno) int32 { return -int32(e) }

// panics reports what f panicked with, and fails the test where it did not.
func panics(t testing.TB, f func()) (v any) {
	t.Helper()
	defer func() {
		if v = recover(); v == nil {
			t.Error("no panic")
		}
	}()
	f()
	return nil
}

func TestAWriteAndItsFsyncComplete(t *testing.T) {
	r := owned(t, Options{Entries: 8})
	f := tempFile(t)
	r.GetSQE().PrepWrite(int(f.Fd()), []byte("hello"), 3).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepFsync(int(f.Fd()), FsyncDatasync).SetUserData(2)
	want(t, results(t, r, 2), 5, 0)
	b, err := os.ReadFile(f.Name())
	if err != nil || string(b) != "\x00\x00\x00hello" {
		t.Fatalf("file holds %q: %v", b, err)
	}
}

func TestADurableWriteAndAReadGiveTheSameBytes(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepWrite(int(f.Fd()), []byte("0123456789"), 0).SetRWFlags(RWFDsync)
	if res := result(t, r); res != 10 {
		t.Fatalf("durable write: %d", res)
	}
	b := make([]byte, 20)
	r.GetSQE().PrepRead(int(f.Fd()), b, 4)
	if res := result(t, r); res != 6 || string(b[:6]) != "456789" {
		t.Fatalf("read: %d %q", res, b)
	}
}

func TestVectorsAreWrittenAndReadInOrder(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepWritev(int(f.Fd()), [][]byte{[]byte("ab"), nil, []byte("cde")}, 1)
	if res := result(t, r); res != 5 {
		t.Fatalf("writev: %d", res)
	}
	x, y := make([]byte, 3), make([]byte, 3)
	r.GetSQE().PrepReadv(int(f.Fd()), [][]byte{x, y}, 0)
	if res := result(t, r); res != 6 || string(x)+string(y) != "\x00abcde" {
		t.Fatalf("readv: %d %q %q", res, x, y)
	}
	r.GetSQE().PrepWritev(int(f.Fd()), nil, 0)
	if res := result(t, r); res != 0 {
		t.Fatalf("empty writev: %d", res)
	}
}

func TestFallocateGrowsTheFile(t *testing.T) {
	r := owned(t, Options{})
	f := tempFile(t)
	r.GetSQE().PrepFallocate(int(f.Fd()), 0, 100, 8000)
	if res := result(t, r); res == neg(unix.EOPNOTSUPP) {
		t.Skip("the file system has no fallocate")
	} else if res != 0 {
		t.Fatalf("fallocate: %d", res)
	}
	if st, err := f.Stat(); err != nil || st.Size() != 8100 {
		t.Fatalf("size %v: %v", st.Size(), err)
	}
}

func TestGetSQEReturnsNilWhenTheQueueIsFull(t *testing.T) {
	r := owned(t, Options{Entries: 3}) // rounded up to 4
	for round := range 3 {
		for i := range 4 {
			sqe := r.GetSQE()
			if sqe == nil {
				t.Fatalf("round %d: queue of 4 is full with %d", round, i)
			}
			sqe.PrepNop().SetUserData(uint64(i))
		}
		if r.GetSQE() != nil || r.SQSpaceLeft() != 0 || r.SQReady() != 4 {
			t.Fatalf("round %d: a fifth entry; space %d, ready %d", round, r.SQSpaceLeft(), r.SQReady())
		}
		results(t, r, 4)
	}
}

// The kernel reads op flags of a write as RWF_*: what an fsync left there would be RWF_HIPRI, and fail.
func TestASlotUsedAgainAfterFsyncLeaksNoFlags(t *testing.T) {
	r := owned(t, Options{Entries: 1})
	f := tempFile(t)
	for range 3 {
		r.GetSQE().PrepFsync(int(f.Fd()), FsyncDatasync).SetFlags(Async).SetUserData(7)
		if res := result(t, r); res != 0 {
			t.Fatalf("fsync: %d", res)
		}
		sqe := r.GetSQE()
		if *sqe.Entry() != (Entry{}) {
			t.Fatalf("entry is not zero: %+v", *sqe.Entry())
		}
		sqe.PrepWrite(int(f.Fd()), []byte("x"), 0)
		if res := result(t, r); res != 1 {
			t.Fatalf("write after fsync: %d", res)
		}
	}
}

// A buffer that the compiler could have put on the stack would move with it, and the kernel would write over whatever
// lies there afterwards.
func TestABufferOnTheStackDoesNotMove(t *testing.T) {
	r := owned(t, Options{})
	in, out := pipe(t)
	var b [64]byte
	r.GetSQE().PrepRead(in, b[:], 0)
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	growStack(200)
	if _, err := unix.Write(out, []byte("moved?")); err != nil {
		t.Fatal(err)
	}
	if res := result(t, r); res != 6 || string(b[:6]) != "moved?" {
		t.Fatalf("read: %d %q", res, b[:6])
	}
}

//go:noinline
func growStack(depth int) byte {
	var pad [1024]byte
	pad[depth%1024] = byte(depth)
	if depth == 0 {
		return pad[0]
	}
	return growStack(depth-1) + pad[depth%1024]
}

func TestNewRefusesSizesBeyondTheKernels(t *testing.T) {
	if _, err := New(Options{Entries: MaxEntries + 1}); err == nil {
		t.Error("too many entries")
	}
	if _, err := New(Options{CQEntries: MaxCQEntries + 1}); err == nil {
		t.Error("too many completions")
	}
	r := owned(t, Options{Entries: 100, CQEntries: 5})
	if r.Entries() != 128 || r.CQEntries() != 128 {
		t.Errorf("sizes %d and %d", r.Entries(), r.CQEntries())
	}
}
