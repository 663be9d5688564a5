package server

import (
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// All of a new path is there after a power cut, not only its last name.
func TestAllOfANewPathOutlivesAPowerCut(t *testing.T) {
	disk := fs.NewCrash(1)
	for range 2 { // the second time all of it is there
		if err := makeDir(disk, "/a/b/c"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := disk.Clone(fs.DropUnflushed).Stat("/a/b/c"); err != nil {
		t.Error(err)
	}
}
