package fs

import (
	"os"
	"syscall"
)

// A Stamp tells states of one file or directory apart: where two are equal nothing was written to it, cut off it, or (in a
// directory) made, renamed or removed in between, and it is the same file. The kernel's clock stands still for some
// milliseconds: a stamp that is younger than StampTick tells nothing yet.
type Stamp struct {
	File    uint64 // inode
	Changed int64  // ctime, ns since 1970: nobody can set it back
	Size    int64  // of a file, in bytes
}

// StampTick is the longest time, in ns, for which the kernel gives changes one time: a jiffy is 10 ms at the most.
const StampTick = 20e6

// StampOf returns the stamp in what Stat returned, or ok false where the file system has none.
func StampOf(info os.FileInfo) (s Stamp, ok bool) {
	switch i := info.(type) {
	case fileInfo:
		s = Stamp{File: i.file, Changed: i.changed}
	default:
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return Stamp{}, false
		}
		s = Stamp{File: st.Ino, Changed: st.Ctim.Nano()}
	}
	if !info.IsDir() {
		s.Size = info.Size()
	}
	return s, true
}
