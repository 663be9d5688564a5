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

func noProgress(int64) error { return nil }

func TestAFileWithTwoNamesIsOneFileUntilBothAreGone(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		l := fsys.(Linker)
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		must(t, create(t, fsys, a).Write([]byte("one"), 0, false))
		must(t, l.Link(a, b))
		wantErr(t, "a name that is there", l.Link(a, b), os.ErrExist)
		wantErr(t, "a file that is not", l.Link(filepath.Join(dir, "none"), filepath.Join(dir, "c")), os.ErrNotExist)
		f, err := fsys.Open(b, os.O_RDWR)
		must(t, err)
		must(t, f.Write([]byte("O"), 0, false))
		must(t, f.Close())
		if got := content(t, fsys, a); string(got) != "One" {
			t.Errorf("the other name has %q", got)
		}
		if n, err := l.Names(a); n != 2 || err != nil {
			t.Errorf("%d names, %v", n, err)
		}
		must(t, fsys.Remove(a))
		if n, err := l.Names(b); n != 1 || err != nil {
			t.Errorf("%d names after a removal, %v", n, err)
		}
		if got := content(t, fsys, b); string(got) != "One" {
			t.Errorf("after the removal of the first name: %q", got)
		}
	})
}

func TestALinkIsLostUntilItsDirectoryIsSynced(t *testing.T) {
	c, dir := newDisk(t, 1)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f := create(t, c, a)
	must(t, f.Write([]byte("one"), 0, true))
	must(t, c.SyncDir(dir))
	must(t, c.Link(a, b))
	if got := content(t, c.Clone(DropUnflushed), b); got != nil {
		t.Errorf("a link without a sync of its directory is there: %q", got)
	}
	must(t, c.SyncDir(dir))
	left := c.Clone(DropUnflushed)
	if got := content(t, left, b); string(got) != "one" {
		t.Errorf("%q after the sync", got)
	}
	if n, err := left.Names(a); n != 2 || err != nil {
		t.Errorf("%d names after the cut, %v", n, err)
	}
}

func TestADuplicateHasTheBytesThatWereAskedForOnStableStorage(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		a := filepath.Join(dir, "a")
		whole := bytes.Repeat([]byte("0123456789"), duplicateBytes/5)
		f := create(t, fsys, a)
		must(t, f.Write(whole, 0, true))
		must(t, fsys.SyncDir(dir))
		for _, c := range []struct {
			size  int
			share Sharing
			ways  []Way
		}{
			{len(whole), Names, []Way{Linked, Reflinked}},
			{len(whole) - 7, Names, []Way{Copied, Reflinked}}, // a second name would have more
			{len(whole), Blocks, []Way{Copied, Reflinked}},
			{0, Blocks, []Way{Copied, Reflinked}},
			{len(whole), Nothing, []Way{Copied, Copied}},
		} {
			to := filepath.Join(dir, "b")
			way, err := Duplicate(fsys, a, to, int64(c.size), c.share, noProgress)
			must(t, err)
			if way != c.ways[0] && way != c.ways[1] {
				t.Errorf("%d bytes, sharing %d: by a %v", c.size, c.share, way)
			}
			must(t, fsys.SyncDir(dir))
			left := fsys
			if disk, ok := fsys.(*Crash); ok {
				left = disk.Clone(DropUnflushed)
			}
			if got := content(t, left, to); !bytes.Equal(got, whole[:c.size]) {
				t.Errorf("%d bytes, sharing %d: got %d others", c.size, c.share, len(got))
			}
			must(t, fsys.Remove(to))
		}
		_, err := Duplicate(fsys, a, filepath.Join(dir, "c"), int64(len(whole))+1, Names, noProgress)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("more bytes than there are: %v", err)
		}
		stop := errors.New("stop")
		if way, err := Duplicate(fsys, a, filepath.Join(dir, "d"), int64(len(whole)), Blocks, func(int64) error { return stop }); way == Copied {
			wantErr(t, "an error of the caller", err, stop)
		}
	})
}

// What a reflink has is what the disk has; what a copy has is what readers see. After a flush that failed they differ.
func TestAReflinkLacksWhatAFailedFlushLostAndACopyHasIt(t *testing.T) {
	c, dir := newDisk(t, 1)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	wantErr(t, "a disk without reflinks", c.Reflink(a, b), ErrUnsupported)
	c.SetReflinks(true)
	f := create(t, c, a)
	must(t, f.Write([]byte("one"), 0, true))
	must(t, f.Write([]byte("two"), 3, false))
	must(t, c.SyncDir(dir))
	duplicate := func(share Sharing, want Way, has string) {
		t.Helper()
		way, err := Duplicate(c, a, b, 6, share, noProgress)
		if way != want || err == nil && string(content(t, c, b)) != has || err != nil && has != "" {
			t.Errorf("by a %v: %q, %v; want a %v, %q", way, content(t, c, b), err, want, has)
		}
		must(t, c.Remove(b))
	}
	duplicate(Names, Reflinked, "onetwo") // which writes back what was not flushed
	must(t, f.Write([]byte("TWO"), 3, false))
	must(t, c.Link(a, b))
	wantErr(t, "a name that is there", c.Reflink(a, b), os.ErrExist)
	must(t, c.Remove(b))
	c.SetHook(func(op Op, _ string, _ int) error {
		if op == OpDatasync {
			return unix.EIO
		}
		return nil
	})
	wantErr(t, "the flush", f.Datasync(), unix.EIO)
	c.SetHook(nil)
	duplicate(Blocks, Reflinked, "onetwo")
	duplicate(Nothing, Copied, "oneTWO")
	way, err := Duplicate(c, a, b, 6, Blocks, noProgress)
	must(t, err)
	must(t, c.SyncDir(dir))
	must(t, f.Write([]byte("ONE"), 0, true))
	if got := content(t, c.Clone(DropUnflushed), b); way != Reflinked || string(got) != "onetwo" {
		t.Errorf("by a %v: %q after a write to the other and a power cut", way, got)
	}
}
