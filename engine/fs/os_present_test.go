package fs

import (
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minorFaults is how often this thread met a page that was not mapped as it was used.
func minorFaults(t *testing.T) int64 {
	t.Helper()
	var r unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_THREAD, &r))
	return int64(r.Minflt) + int64(r.Majflt)
}

// Whoever looks into a mapping does not wait for a disk in a page fault.
func TestALoadedMappingIsInMemory(t *testing.T) {
	const pages = 512
	f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
	defer f.Close()
	must(t, f.Write(make([]byte, pages*BlockSize), 0, false))
	must(t, f.Datasync())
	m, err := f.Map(pages * BlockSize)
	must(t, err)
	defer m.Close()
	must(t, unix.Fadvise(f.(*file).fd, 0, 0, unix.FADV_DONTNEED))
	present := func() (n int) {
		var in [pages]byte
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m.Bytes()[0])), pages*BlockSize, uintptr(unsafe.Pointer(&in[0])))
		if errno != 0 {
			t.Fatal(errno)
		}
		for _, b := range in {
			n += int(b & 1)
		}
		return n
	}
	if present() == pages {
		t.Skip("this file system keeps everything in memory")
	}
	if m.Load(); present() < pages {
		t.Errorf("%d of %d pages are in memory", present(), pages)
	}
}

// Nor does whoever stores into one, after a write-back.
func TestAKeptPageIsStoredIntoWithoutAFault(t *testing.T) {
	runtime.LockOSThread() // faults are counted for each
	defer runtime.UnlockOSThread()
	const size = 256 * BlockSize
	s, err := OS().Share(filepath.Join(t.TempDir(), "a"), size)
	must(t, err)
	defer s.Close()
	must(t, s.Grow(size))
	if !s.Keep(0, size) {
		t.Skip("no MADV_POPULATE_WRITE: Linux before 5.14")
	}
	faults := func() int64 {
		before := minorFaults(t)
		must(t, s.Update(0, size, func(b []byte) {
			for at := 0; at < size; at += BlockSize {
				b[at]++
			}
		}))
		return minorFaults(t) - before
	}
	if n := faults(); n > 50 {
		t.Errorf("%d faults in pages that are kept", n)
	}
	must(t, s.Sync())
	if n := faults(); n < 200 {
		t.Skipf("%d faults after a write-back: this file system has none", n)
	}
	must(t, s.Sync())
	s.Keep(0, size)
	if n := faults(); n > 50 {
		t.Errorf("%d faults in pages that are kept again", n)
	}
}
