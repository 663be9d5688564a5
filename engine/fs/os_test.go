package fs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/zurau/zurau/uring"

	"golang.org/x/sys/unix"
)

// direct returns n bytes fit for O_DIRECT.
func direct(t testing.TB, n int) []byte {
	t.Helper()
	b, err := uring.Alloc(n)
	must(t, err)
	t.Cleanup(b.Free)
	return b.Bytes()
}

// openDirect skips where the test's directory has no O_DIRECT.
func openDirect(t testing.TB, name string) File {
	t.Helper()
	f, err := OS().Open(name, os.O_RDWR|os.O_CREATE|Direct)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestDirectWritesAreAligned(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	f := openDirect(t, name)
	p := direct(t, 2*BlockSize)
	copy(p, bytes.Repeat([]byte("direct! "), BlockSize/4))
	must(t, f.Write(p, 0, true))
	must(t, f.Write(p[:BlockSize], 2*BlockSize, false))
	must(t, f.Datasync())
	same(t, "content", content(t, OS(), name), append(bytes.Clone(p), p[:BlockSize]...))
	wantErr(t, "part of a sector", f.Write(p[:100], 0, false), unix.EINVAL)
}

func TestAFileSystemWithoutDirectSaysSo(t *testing.T) {
	// proc has no O_DIRECT on any kernel.
	_, err := OS().Open("/proc/self/comm", os.O_RDONLY|Direct)
	wantErr(t, "open", err, ErrUnsupported)
	wantErr(t, "open", err, unix.EINVAL)
}

func TestAWriteOverTheSizeLimitFailsAndLeavesAPrefix(t *testing.T) {
	if os.Getenv("ZURAU_FS_LIMITED") == "" {
		t.Skip("run by TestTheSizeLimitInAChild: the limit holds for a whole process")
	}
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &old)
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 2 * BlockSize, Max: old.Max}))
	f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
	for _, durable := range []bool{false, true} {
		wantErr(t, "write", f.Write(make([]byte, 3*BlockSize), 0, durable), unix.EFBIG)
		if size, _ := f.Size(); size != 2*BlockSize {
			t.Errorf("size %d", size)
		}
	}
	onQueues(t, func(t *testing.T, q Queue) {
		if !q.Push(f, make([]byte, 3*BlockSize), 0, false, 1) {
			t.Fatal("queue is full")
		}
		for _, c := range waitFor(t, q, 1) {
			if c.Err == nil {
				t.Error("a write that came back short was taken for whole")
			}
		}
	})
}

func TestDurableWritesWorkWithoutDsync(t *testing.T) {
	f := create(t, OS(), filepath.Join(t.TempDir(), "a")).(*file)
	f.noDsync.Store(true)
	must(t, f.Write([]byte("in two calls"), 0, true))
	same(t, "content", content(t, OS(), f.name), []byte("in two calls"))
}

func TestAFailedFlushIsFinal(t *testing.T) {
	// fdatasync fails with EINVAL on a pipe, and would succeed on the file that takes the number afterwards.
	var pipe [2]int
	must(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	defer unix.Close(pipe[0])
	f := &file{fd: pipe[1], name: "pipe"}
	wantErr(t, "first flush", f.Datasync(), unix.EINVAL)
	good := create(t, OS(), filepath.Join(t.TempDir(), "a"))
	must(t, unix.Dup3(good.Fd(), pipe[1], unix.O_CLOEXEC))
	wantErr(t, "second flush", f.Datasync(), unix.EINVAL)
	must(t, f.Close())
}

func TestCloseLetsReadersFinishAndRefusesLateOnes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	must(t, create(t, OS(), name).Write([]byte("mine"), 0, false))
	other := create(t, OS(), name+"-other")
	must(t, other.Write([]byte("his!"), 0, false))
	for range 200 {
		f, err := OS().Open(name, os.O_RDONLY)
		must(t, err)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				b := make([]byte, 4)
				for {
					if _, err := f.ReadAt(b, 0); err != nil {
						wantErr(t, "late read", err, os.ErrClosed)
						return
					}
					if string(b) != "mine" {
						t.Errorf("read %q from a file that took the number", b)
						return
					}
				}
			})
		}
		must(t, f.Close())
		g, err := OS().Open(other.Name(), os.O_RDONLY) // takes the number as soon as it is free
		must(t, err)
		group.Wait()
		must(t, g.Close())
	}
}

func TestThePageCacheIsAsked(t *testing.T) {
	f := create(t, OS(), filepath.Join(t.TempDir(), "f"))
	must(t, f.Write(make([]byte, 64<<10), 0, false))
	if !f.(Cacher).Cached(0, 64<<10) {
		t.Error("what was just written is not in the page cache")
	}
	must(t, f.Datasync())
	if err := unix.Fadvise(f.Fd(), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Skip(err)
	}
	var st unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Len: 64 << 10}, &st, 0); err != nil || st.Cache > 0 {
		t.Skip("nothing can be told of the page cache here, or it keeps what it has: ", err)
	}
	if f.(Cacher).Cached(0, 64<<10) {
		t.Error("what the page cache has given up is said to be in it")
	}
	must(t, f.Close())
	if !f.(Cacher).Cached(0, 1) {
		t.Error("of a closed file something is known")
	}
}

// A read that is not to wait would wait for the journal, to note its time.
func TestReadsAreNotNoted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, []byte("records"), 0o644))
	long := unix.NsecToTimespec(time.Unix(1_000_000_000, 0).UnixNano())
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{long, {Nsec: unix.UTIME_OMIT}}, 0))
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		f, err := OS().Open(name, flag)
		must(t, err)
		_, err = f.ReadAt(make([]byte, 7), 0)
		must(t, err)
		must(t, f.(NoWaiter).ReadNoWait(make([]byte, 7), 0))
		must(t, f.Close())
	}
	var st unix.Stat_t
	must(t, unix.Stat(name, &st))
	if st.Atim != long {
		t.Errorf("the file was accessed at %v", time.Unix(st.Atim.Unix()))
	}
}
