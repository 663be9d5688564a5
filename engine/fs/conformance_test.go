package fs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// each runs a test on the host and on the twin, in an empty directory: what one does, the other has to do.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Helper()
	t.Run("OS", func(t *testing.T) { test(t, OS(), t.TempDir()) })
	t.Run("Crash", func(t *testing.T) {
		c, dir := newDisk(t, 1)
		test(t, c, dir)
		if v := c.Violations(); len(v) > 0 {
			t.Errorf("violations: %v", v)
		}
	})
}

// newDisk returns a twin with one durable directory.
func newDisk(t testing.TB, seed uint64) (*Crash, string) {
	t.Helper()
	c := NewCrash(seed)
	must(t, c.MkdirAll("/data"))
	must(t, c.SyncDir("/"))
	return c, "/data"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// create opens a new file that the test closes.
func create(t testing.TB, fsys FS, name string) File {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// content reads a whole file by name; nil means that it is not there.
func content(t testing.TB, fsys FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && (err != io.EOF || n < len(b)) {
		t.Fatalf("read %d of %d bytes of %s: %v", n, size, name, err)
	}
	return b
}

func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes %.80q, want %d bytes %.80q", what, len(got), got, len(want), want)
	}
}

func names(t testing.TB, fsys FS, dir string) (list []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f := create(t, fsys, filepath.Join(dir, "a"))
		must(t, f.Write([]byte("hello, log"), 0, false))
		must(t, f.Write([]byte("HE"), 0, true))
		must(t, f.Write([]byte("end"), 10000, false))
		must(t, f.Datasync())
		want := append([]byte("HEllo, log"), make([]byte, 10003-10)...)
		copy(want[10000:], "end")
		same(t, "content", content(t, fsys, f.Name()), want)
		b := make([]byte, 8)
		n, err := f.ReadAt(b, 9999)
		if n != 4 || err != io.EOF {
			t.Errorf("read at the end: %d bytes, %v; want 4 and io.EOF", n, err)
		}
		same(t, "the end", b[:n], []byte("\x00end"))
		if n, err = f.ReadAt(b, 20000); n != 0 || err != io.EOF {
			t.Errorf("read behind the end: %d bytes, %v; want 0 and io.EOF", n, err)
		}
		must(t, f.Write(nil, 50000, true))
		if size, err := f.Size(); err != nil || size != 10003 {
			t.Errorf("size %d, %v after an empty write; want 10003", size, err)
		}
	})
}

func TestATruncatedTailComesBackAsZeros(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f := create(t, fsys, filepath.Join(dir, "a"))
		must(t, f.Write(bytes.Repeat([]byte("x"), 3*BlockSize), 0, false))
		must(t, f.Truncate(BlockSize+100))
		must(t, f.Truncate(3*BlockSize))
		want := append(bytes.Repeat([]byte("x"), BlockSize+100), make([]byte, 2*BlockSize-100)...)
		same(t, "content", content(t, fsys, f.Name()), want)
		again, err := fsys.Open(f.Name(), os.O_RDWR|os.O_TRUNC)
		must(t, err)
		defer again.Close()
		if size, _ := f.Size(); size != 0 {
			t.Errorf("size %d after O_TRUNC", size)
		}
	})
}

func TestNamesAreCreatedMovedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		join := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
		must(t, fsys.MkdirAll(join("t-0", "deep")))
		must(t, fsys.MkdirAll(join("t-0")))
		must(t, create(t, fsys, join("t-0", "b")).Write([]byte("b"), 0, false))
		must(t, create(t, fsys, join("t-0", "a")).Write([]byte("a"), 0, false))
		if got := names(t, fsys, join("t-0")); len(got) != 3 || got[0] != "a" || got[1] != "b" || got[2] != "deep" {
			t.Errorf("directory %v, want [a b deep]", got)
		}
		must(t, fsys.Rename(join("t-0", "a"), join("t-0", "b")))
		must(t, fsys.Rename(join("t-0"), join("t-0-delete")))
		must(t, fsys.SyncDir(dir))
		same(t, "replaced", content(t, fsys, join("t-0-delete", "b")), []byte("a"))
		must(t, fsys.Remove(join("t-0-delete", "b")))
		must(t, fsys.Remove(join("t-0-delete", "deep")))
		must(t, fsys.Remove(join("t-0-delete")))
		if got := names(t, fsys, dir); len(got) != 0 {
			t.Errorf("left %v", got)
		}
	})
}

func TestErrorsCarryTheErrno(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "a")
		f := create(t, fsys, name)
		must(t, f.Write([]byte("x"), 0, false))
		must(t, f.Datasync())
		_, err := fsys.Open(filepath.Join(dir, "none"), os.O_RDWR)
		wantErr(t, "open a missing file", err, os.ErrNotExist)
		_, err = fsys.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		wantErr(t, "create an existing file", err, os.ErrExist)
		_, err = fsys.Open(dir, os.O_RDWR)
		wantErr(t, "open a directory to write", err, unix.EISDIR)
		_, err = fsys.Open(filepath.Join(name, "below"), os.O_RDWR|os.O_CREATE)
		wantErr(t, "create below a file", err, unix.ENOTDIR)
		wantErr(t, "make a directory over a file", fsys.MkdirAll(name), unix.ENOTDIR)
		wantErr(t, "remove a missing file", fsys.Remove(filepath.Join(dir, "none")), os.ErrNotExist)
		wantErr(t, "remove a full directory", fsys.Remove(dir), unix.ENOTEMPTY)
		wantErr(t, "rename a missing file", fsys.Rename(filepath.Join(dir, "none"), name), os.ErrNotExist)
		wantErr(t, "sync a missing directory", fsys.SyncDir(filepath.Join(dir, "none")), os.ErrNotExist)
		wantErr(t, "write before the start", f.Write([]byte("x"), -1, false), unix.EINVAL)
		wantErr(t, "durable write before the start", f.Write([]byte("x"), -1, true), unix.EINVAL)
		wantErr(t, "truncate before the start", f.Truncate(-1), unix.EINVAL)
		_, err = fsys.Stat(filepath.Join(dir, "none"))
		wantErr(t, "stat a missing file", err, os.ErrNotExist)
		_, err = fsys.Free(filepath.Join(dir, "none"))
		wantErr(t, "free of a missing directory", err, os.ErrNotExist)

		r, err := fsys.Open(name, os.O_RDONLY)
		must(t, err)
		wantErr(t, "write to a file opened for reading", r.Write([]byte("x"), 0, false), unix.EBADF)
		must(t, r.Advise(true))
		must(t, r.Close())
		wantErr(t, "close twice", r.Close(), os.ErrClosed)
		_, err = r.ReadAt(make([]byte, 1), 0)
		wantErr(t, "read after close", err, os.ErrClosed)
		wantErr(t, "sync after close", r.Datasync(), os.ErrClosed)
	})
}

func TestALockIsHeldOnce(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, ".lock")
		held, err := fsys.Lock(name)
		must(t, err)
		_, err = fsys.Lock(name)
		wantErr(t, "second lock", err, ErrLocked)
		must(t, held.Close())
		held, err = fsys.Lock(name)
		must(t, err)
		must(t, held.Close())
		if got := names(t, fsys, dir); len(got) != 1 {
			t.Errorf("directory %v: a lock leaves its file", got)
		}
	})
}

func TestAMappingShowsTheFileAndOutlivesIt(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f := create(t, fsys, filepath.Join(dir, "a"))
		must(t, f.Write([]byte("0123456789"), 0, false))
		must(t, f.Datasync())
		_, err := f.Map(11)
		wantErr(t, "map beyond the end", err, io.ErrUnexpectedEOF)
		empty, err := f.Map(0)
		must(t, err)
		must(t, empty.Close())
		m, err := f.Map(10)
		must(t, err)
		must(t, f.Close())
		same(t, "mapping", m.Bytes(), []byte("0123456789"))
		must(t, m.Close())
	})
}

func TestARemovedFileIsReadByWhoHasItOpen(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f := create(t, fsys, filepath.Join(dir, "a"))
		must(t, f.Write([]byte("still here"), 0, false))
		must(t, fsys.Remove(f.Name()))
		b := make([]byte, 10)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		same(t, "content", b, []byte("still here"))
		if free, err := fsys.Free(dir); err != nil || free <= 0 {
			t.Errorf("free %d, %v", free, err)
		}
	})
}
