package netio

import (
	"bytes"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// All reads of one file system hang, as many as may. Files of another one are sent.
func TestADiskThatHangsKeepsNoReaderOfAnotherOne(t *testing.T) {
	hangs, first := randomFile(t, 100_000)
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	other := os.NewFile(uintptr(fd), "log")
	t.Cleanup(func() { other.Close() })
	second := bytes.Repeat([]byte("another disk"), 10_000)
	if _, err := other.Write(second); err != nil {
		t.Fatal(err)
	}
	var a, b unix.Stat_t
	if unix.Fstat(int(hangs.Fd()), &a) != nil || unix.Fstat(fd, &b) != nil || a.Dev == b.Dev {
		t.Skip("there is one file system only")
	}
	var released atomic.Int64
	srv, addr := serve(t, Options{DiskReads: 1, InlineFile: 1}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		f := hangs
		if len(b) > 8 {
			f = other
		}
		s.Complete(ranges(f, b, &released))
	}})
	leave := srv.disks.enter(int(hangs.Fd()))
	waits, goes := dial(t, addr), dial(t, addr)
	_, _ = waits.Write(frame(ask(0, 90_000)))
	_, _ = goes.Write(frame(append(ask(10, 80_000), 0)))
	if got := readFrame(t, goes); !bytes.Equal(got[:80_000], second[10:][:80_000]) {
		t.Error("not what the file has")
	}
	leave()
	if got := readFrame(t, waits); !bytes.Equal(got[:90_000], first[:90_000]) {
		t.Error("not what the file has that was waited for")
	}
}
