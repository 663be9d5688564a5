package rig

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// attach makes a block device of a file of the rig. It is free again when its last user has gone, be it by a kill.
func attach(file, root string) (*os.File, error) {
	if !below(file, root) {
		return nil, fmt.Errorf("%s is not below %s", file, root)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 100 { // others look for a free one, too
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("a free loop device: %w", err)
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		c := unix.LoopConfig{Fd: uint32(f.Fd())}
		c.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &c)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %s to /dev/loop%d: %w", file, n, err)
		}
	}
	return nil, errors.New("no loop device stays free")
}
