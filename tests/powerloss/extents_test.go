package powerloss

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An extent is where a part of a file is on its disk: struct fiemap_extent (linux/fiemap.h).
type extent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

const (
	fiemap       = 0xc020660b // FS_IOC_FIEMAP, _IOWR('f', 11, struct fiemap)
	fiemapSync   = 1          // FIEMAP_FLAG_SYNC
	sharedExtent = 0x2000     // FIEMAP_EXTENT_SHARED
	lastExtent   = 1          // FIEMAP_EXTENT_LAST
)

// extents asks the kernel where a file is.
func extents(name string) ([]extent, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var request struct {
		start, length        uint64
		flags, mapped, count uint32
		_                    uint32
		extents              [128]extent
	}
	request.length, request.flags, request.count = ^uint64(0), fiemapSync, uint32(len(request.extents))
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fiemap, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil, errno
	}
	all := request.extents[:request.mapped]
	if len(all) > 0 && all[len(all)-1].flags&lastExtent == 0 {
		return nil, errors.New(name + " has more extents than were asked for")
	}
	return all, nil
}

// shares reports whether two files are the same blocks.
func shares(a, b string) (bool, error) {
	one, err := extents(a)
	if err != nil {
		return false, err
	}
	two, err := extents(b)
	if err != nil || len(one) == 0 || len(one) != len(two) {
		return false, err
	}
	for i := range one {
		if one[i].physical != two[i].physical || one[i].length != two[i].length || one[i].flags&two[i].flags&sharedExtent == 0 {
			return false, nil
		}
	}
	return true, nil
}
