package fs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// listing names what is in the test's directory, with contents.
func listing(t *testing.T, dir string) func(cut *Crash) string {
	return func(cut *Crash) string {
		if _, err := cut.Stat(dir); err != nil {
			return "no directory"
		}
		var list []string
		for _, name := range names(t, cut, dir) {
			list = append(list, fmt.Sprintf("%s=%s", name, content(t, cut, dir+"/"+name)))
		}
		return strings.Join(list, " ")
	}
}

func TestACreatedFileIsLostUntilItsDirectoryIsSynced(t *testing.T) {
	c, dir := newDisk(t, 1)
	must(t, create(t, c, dir+"/a").Write([]byte("1"), 0, true))
	sometimes(t, c, listing(t, dir), "", "a=1")
	if got := listing(t, dir)(c.Clone(DropUnflushed)); got != "" {
		t.Errorf("dropped: %q", got)
	}
	must(t, c.SyncDir(dir))
	sometimes(t, c, listing(t, dir), "a=1")
}

func TestADirectoryNotSyncedIntoItsParentTakesItsFilesWithIt(t *testing.T) {
	c := NewCrash(2)
	must(t, c.MkdirAll("/data"))
	must(t, create(t, c, "/data/a").Write([]byte("1"), 0, true))
	must(t, c.SyncDir("/data"))
	sometimes(t, c, listing(t, "/data"), "no directory", "a=1")
	must(t, c.SyncDir("/"))
	sometimes(t, c, listing(t, "/data"), "a=1")
}

func TestARenamedFileHasTheOldNameOrTheNew(t *testing.T) {
	c, dir := newDisk(t, 3)
	settledFile(t, c, dir+"/a", []byte("1"))
	must(t, c.Rename(dir+"/a", dir+"/b"))
	must(t, c.Rename(dir+"/b", dir+"/c"))
	sometimes(t, c, listing(t, dir), "a=1", "b=1", "c=1")
	must(t, c.SyncDir(dir))
	sometimes(t, c, listing(t, dir), "c=1")
}

func TestAnAtomicReplaceLeavesTheOldFileOrTheNew(t *testing.T) {
	c, dir := newDisk(t, 4)
	settledFile(t, c, dir+"/a", []byte("old"))
	replace := func(with string) {
		f, err := c.Open(dir+"/a.tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		must(t, err)
		must(t, f.Write([]byte(with), 0, false))
		must(t, f.Datasync())
		must(t, f.Close())
		must(t, c.Rename(dir+"/a.tmp", dir+"/a"))
	}
	replace("new")
	sometimes(t, c, listing(t, dir), "a=old", "a=old a.tmp=new", "a=new")
	replace("newer")
	sometimes(t, c, listing(t, dir), "a=old", "a=old a.tmp=new", "a=new", "a=new a.tmp=newer", "a=newer")
	must(t, c.SyncDir(dir))
	sometimes(t, c, listing(t, dir), "a=newer")
}

func TestAReplaceWithoutDatasyncCanLeaveAnEmptyFile(t *testing.T) {
	c, dir := newDisk(t, 5)
	settledFile(t, c, dir+"/a", []byte("old"))
	must(t, create(t, c, dir+"/a.tmp").Write([]byte("new"), 0, false))
	must(t, c.Rename(dir+"/a.tmp", dir+"/a"))
	must(t, c.SyncDir(dir))
	sometimes(t, c, listing(t, dir), "a=", "a=new", "a=\x00\x00\x00")
}

func TestRemovesOfIndependentFilesLandInAnyOrder(t *testing.T) {
	c, dir := newDisk(t, 6)
	settledFile(t, c, dir+"/a", []byte("1"))
	settledFile(t, c, dir+"/b", []byte("2"))
	must(t, c.Remove(dir+"/a"))
	must(t, c.Remove(dir+"/b"))
	sometimes(t, c, listing(t, dir), "", "a=1", "b=2", "a=1 b=2")
	must(t, c.SyncDir(dir))
	sometimes(t, c, listing(t, dir), "")
}

func TestANameUsedAgainNeverLosesTheFileThatHadIt(t *testing.T) {
	c, dir := newDisk(t, 7)
	settledFile(t, c, dir+"/a", []byte("1"))
	must(t, c.Rename(dir+"/a", dir+"/a.deleted"))
	must(t, create(t, c, dir+"/a").Write([]byte("2"), 0, true))
	sometimes(t, c, listing(t, dir), "a=1", "a.deleted=1", "a=2 a.deleted=1")
}

func TestAMoveBetweenDirectoriesLandsWithEither(t *testing.T) {
	for _, synced := range []string{"/data/x", "/data/y"} {
		c, _ := newDisk(t, 8)
		must(t, c.MkdirAll("/data/x"))
		must(t, c.MkdirAll("/data/y"))
		settledFile(t, c, "/data/x/a", []byte("1"))
		must(t, c.Rename("/data/x/a", "/data/y/a"))
		both := func(cut *Crash) string {
			return "x: " + listing(t, "/data/x")(cut) + ", y: " + listing(t, "/data/y")(cut)
		}
		sometimes(t, c, both, "x: a=1, y: ", "x: , y: a=1")
		must(t, c.SyncDir(synced))
		sometimes(t, c, both, "x: , y: a=1")
	}
}

func TestARenamedDirectoryKeepsItsFiles(t *testing.T) {
	c, _ := newDisk(t, 9)
	must(t, c.MkdirAll("/data/t-0"))
	settledFile(t, c, "/data/t-0/a", []byte("1"))
	must(t, c.Rename("/data/t-0", "/data/t-0-delete"))
	both := func(cut *Crash) string {
		return listing(t, "/data/t-0")(cut) + ", " + listing(t, "/data/t-0-delete")(cut)
	}
	sometimes(t, c, both, "a=1, no directory", "no directory, a=1")
}

func TestADiskMayBeUsedWithRelativeNames(t *testing.T) {
	c := NewCrash(10)
	must(t, c.MkdirAll("data/t-0"))
	must(t, c.SyncDir("."))
	must(t, c.SyncDir("data"))
	must(t, create(t, c, "./data/t-0/a").Write([]byte("1"), 0, true))
	must(t, c.SyncDir("data/t-0/"))
	sometimes(t, c, listing(t, "data/t-0"), "a=1")
}
