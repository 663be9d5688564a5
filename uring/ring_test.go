package uring

import (
	"os"
	"runtime"
	"testing"
)

// owned returns a ring whose owner is the test's goroutine, locked to its thread. It skips where io_uring is refused.
func owned(t testing.TB, o Options) *Ring {
	t.Helper()
	runtime.LockOSThread()
	r, err := New(o)
	if err != nil {
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

func TestAWriteAndItsFsyncComplete(t *testing.T) {
	r := owned(t, Options{Entries: 8})
	f := tempFile(t)
	r.GetSQE().PrepWrite(int(f.Fd()), []byte("hello"), 3).SetUserData(1).SetFlags(IOLink)
	r.GetSQE().PrepFsync(int(f.Fd()), FsyncDatasync).SetUserData(2)
	if n, err := r.SubmitAndWait(2); n != 2 || err != nil {
		t.Fatalf("submitted %d: %v", n, err)
	}
	got := r.Reap(nil)
	if len(got) != 2 || got[0] != (CQE{UserData: 1, Res: 5}) || got[1] != (CQE{UserData: 2}) {
		t.Fatalf("completions: %+v", got)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil || string(b) != "\x00\x00\x00hello" {
		t.Fatalf("file holds %q: %v", b, err)
	}
	if r.InFlight() != 0 {
		t.Fatalf("%d in flight", r.InFlight())
	}
}
