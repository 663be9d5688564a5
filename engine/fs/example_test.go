package fs_test

import (
	"fmt"
	"os"

	"github.com/zurau/zurau/engine/fs"
)

// A file that is flushed is still lost with its name, until its directory is synced.
func ExampleCrash() {
	disk := fs.NewCrash(1)
	f, err := disk.Open("00000000000000000000.log", os.O_RDWR|os.O_CREATE)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	if err := f.Write([]byte("records"), 0, true); err != nil {
		fmt.Println(err)
		return
	}
	_, err = disk.Clone(fs.DropUnflushed).Stat(f.Name())
	fmt.Println(err)

	if err := disk.SyncDir("."); err != nil {
		fmt.Println(err)
		return
	}
	info, err := disk.Clone(fs.DropUnflushed).Stat(f.Name())
	fmt.Println(info.Size(), err)
	// Output:
	// stat 00000000000000000000.log: no such file or directory
	// 7 <nil>
}
