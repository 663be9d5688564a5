package fs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func stampOf(t *testing.T, fsys FS, name string) Stamp {
	t.Helper()
	info, err := fsys.Stat(name)
	must(t, err)
	s, ok := StampOf(info)
	if !ok {
		t.Fatalf("%s has no stamp", name)
	}
	return s
}

func TestAStampTellsWhetherAFileOrAFolderChanged(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "a")
		f := create(t, fsys, name)
		must(t, f.Write([]byte("abc"), 0, false))
		folder, file := stampOf(t, fsys, dir), stampOf(t, fsys, name)
		_, err := f.ReadAt(make([]byte, 3), 0)
		must(t, err)
		must(t, f.Datasync())
		if stampOf(t, fsys, name) != file || stampOf(t, fsys, dir) != folder {
			t.Error("a read and a flush have changed a stamp")
		}
		// The kernel's clock may stand still for a moment: a change is made until it is seen.
		changes := func(what, name string, change func()) {
			t.Helper()
			before := stampOf(t, fsys, name)
			for deadline := time.Now().Add(10 * time.Second); stampOf(t, fsys, name) == before; {
				if change(); time.Now().After(deadline) {
					t.Errorf("%s has not changed the stamp %+v", what, before)
					return
				}
			}
		}
		changes("a write of the same size", name, func() { must(t, f.Write([]byte("xyz"), 0, false)) })
		changes("a cut", name, func() { must(t, f.Truncate(2)); must(t, f.Truncate(3)) })
		changes("a new file", dir, func() {
			must(t, create(t, fsys, filepath.Join(dir, "b")).Close())
			must(t, fsys.Remove(filepath.Join(dir, "b")))
		})
		other := create(t, fsys, filepath.Join(dir, "c"))
		must(t, other.Write([]byte("xyz"), 0, false))
		old := stampOf(t, fsys, name)
		changes("another file of its name", name, func() { must(t, fsys.Rename(filepath.Join(dir, "c"), name)) })
		if s := stampOf(t, fsys, name); s.File == old.File || s.Size != 3 {
			t.Errorf("another file has the stamp %+v, and the one before had %+v", s, old)
		}
		if _, err := fsys.Stat(filepath.Join(dir, "c")); !os.IsNotExist(err) {
			t.Error(err)
		}
	})
}
