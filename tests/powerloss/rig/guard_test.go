package rig

import (
	"os"
	"testing"
)

// lines of a machine: its root on a disk, a loop device of somebody else, one of the rig's, one of the rig's that is hidden by a tmpfs.
const mounts = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 7:0 / /rig/theirs rw,relatime shared:1 - ext4 /dev/loop0 rw
41 27 7:1 / /rig/ours rw,relatime - xfs /dev/loop1 rw
42 27 7:1 / /rig/hidden rw,relatime - xfs /dev/loop1 rw
43 42 0:50 / /rig/hidden rw,relatime - tmpfs tmpfs rw
44 27 7:1 / /outside rw,relatime - xfs /dev/loop1 rw
45 27 254:1 / /rig/disk rw,relatime - ext4 /dev/vdb rw
46 27 7:1 / /rig/odd rw,relatime - xfs /dev/loop1/../vda rw
`

func TestOnlyALoopDeviceOfTheRigIsTouched(t *testing.T) {
	backing := func(loop string) (string, error) {
		switch loop {
		case "/dev/loop0":
			return "/home/somebody/image", nil
		case "/dev/loop1":
			return "/rig/image", nil
		}
		return "", os.ErrNotExist
	}
	if loop, err := loopOf(mounts, "/rig/ours", "/rig", backing); err != nil || loop != "/dev/loop1" {
		t.Errorf("its own: %q, %v", loop, err)
	}
	for _, dir := range []string{"/", "/rig", "/rig/theirs", "/rig/hidden", "/outside", "/rig/disk", "/rig/odd", "/rig/nothing", "/rig/../rig/ours", "rig/ours"} {
		if loop, err := loopOf(mounts, dir, "/rig", backing); err == nil {
			t.Errorf("%s: %s would be touched", dir, loop)
		}
	}
	if _, err := loopOf(mounts, "/rig/ours", "", backing); err == nil {
		t.Error("a rig without a folder owns nothing")
	}
}

func TestTheMachinesOwnFileSystemsAreNotTouched(t *testing.T) {
	for _, dir := range []string{"/", "/proc", os.TempDir()} {
		if f, err := own(dir, "/"); err == nil {
			f.Close()
			t.Errorf("%s would be touched", dir)
		}
	}
}
