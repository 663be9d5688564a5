package uring

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread of its own and waits for it.
func onThread(f func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	})
	wg.Wait()
}

func TestTheFirstThreadThatSubmitsIsTheOwner(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Skip(err)
	}
	f := tempFile(t)
	if err := r.RegisterFiles([]int32{int32(f.Fd())}); err != nil { // before there is an owner
		t.Fatal(err)
	}
	onThread(func() {
		r.GetSQE().PrepWrite(0, []byte("x"), 0).SetFlags(FixedFile)
		if res := result(t, r); res != 1 {
			t.Errorf("write: %d", res)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnotherThreadThanTheOwnerPanics(t *testing.T) {
	r := owned(t, Options{})
	if r.Flags()&SetupSingleIssuer == 0 {
		t.Skip("kernel before 6.0")
	}
	if _, err := r.Submit(); err != nil {
		t.Fatal(err)
	}
	r.GetSQE().PrepNop()
	onThread(func() {
		if v := fmt.Sprint(panics(t, func() { r.Submit() })); !strings.Contains(v, "owner") {
			t.Errorf("panic says %q", v)
		}
		panics(t, func() { r.RegisterFiles([]int32{-1}) })
	})
	if res := result(t, r); res != 0 { // the owner is not hurt
		t.Error(res)
	}
}

func TestRingsOnTheirOwnThreadsDoNotDisturbEachOther(t *testing.T) {
	owned(t, Options{}) // skips where there is no io_uring
	dir := t.TempDir()
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := writeThrough(fmt.Sprintf("%s/%d", dir, id), byte('a'+id)); err != nil {
				t.Errorf("ring %d: %v", id, err)
			}
		})
	}
	wg.Wait()
}

// writeThrough fills a file of 64 blocks through a ring of its own, eight at a time, and reads it back.
func writeThrough(name string, fill byte) error {
	r, err := New(Options{Entries: 8})
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := Alloc(512)
	if err != nil {
		return err
	}
	defer b.Free()
	for i := range b.Bytes() {
		b.Bytes()[i] = fill
	}
	var done []CQE
	for block := range uint64(64) {
		r.GetSQE().PrepWrite(int(f.Fd()), b.Bytes(), block*512).SetUserData(block)
		if r.SQSpaceLeft() > 0 {
			continue
		}
		if _, err := r.SubmitAndWait(8); err != nil {
			return err
		}
		done = r.Reap(done)
	}
	got, err := os.ReadFile(name)
	if len(done) != 64 || len(got) != 64*512 || strings.Trim(string(got), string(fill)) != "" {
		return fmt.Errorf("%d completions, %d bytes: %w", len(done), len(got), err)
	}
	return err
}

// With one P, the goroutine that ends the wait runs only when the waiting one has given its P away.
func TestAWaitGivesItsProcessorAway(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := owned(t, Options{})
	in, out := pipe(t)
	tid := unix.Gettid()
	go func() {
		untilWaiting(t, tid)
		unix.Write(out, []byte("x"))
	}()
	r.GetSQE().PrepRead(in, make([]byte, 1), 0)
	if res := result(t, r); res != 1 {
		t.Fatal(res)
	}
}
