package machine

import (
	"strings"
	"testing"
)

func TestTheMountOfAFolderIsTheLongestAndLast(t *testing.T) {
	const info = `22 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard
30 22 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw
31 22 254:1 /a /data rw,noatime shared:1 - xfs /dev/vdb rw,noatime
32 22 254:2 / /data rw - btrfs /dev/vdc rw
`
	for dir, want := range map[string]string{
		"/home/x":  "254:0 ext4 rw,relatime; rw,discard /dev/root",
		"/tmp/y":   "0:25 tmpfs rw,nosuid; rw tmpfs",
		"/tmpfile": "254:0 ext4 rw,relatime; rw,discard /dev/root",
		"/data":    "254:2 btrfs rw /dev/vdc",
	} {
		number, fs, options, device := mount(info, dir)
		if got := strings.Join([]string{number, fs, options, device}, " "); got != want {
			t.Errorf("%s: %s", dir, got)
		}
	}
}
