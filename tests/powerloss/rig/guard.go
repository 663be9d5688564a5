package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// loopMajor is the number of the loop driver (Documentation/admin-guide/devices.txt).
const loopMajor = 7

// own opens the root of a mounted file system, once everything says that it is on a loop device of the rig.
func own(dir, root string) (*os.File, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	loop, err := loopOf(string(info), dir, root, backingFile)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, err
	}
	// The folder that is open is what counts, whatever is mounted where by now.
	if on := fmt.Sprintf("/dev/loop%d", unix.Minor(st.Dev)); unix.Major(st.Dev) != loopMajor || on != loop {
		f.Close()
		return nil, fmt.Errorf("%s is on device %d:%d, not on %s", dir, unix.Major(st.Dev), unix.Minor(st.Dev), loop)
	}
	return f, nil
}

// loopOf returns the loop device that is mounted on a folder, or why it is not one of the rig whose folder root is.
func loopOf(mountinfo, dir, root string, backing func(loop string) (string, error)) (string, error) {
	if !below(dir, root) {
		return "", fmt.Errorf("%s is not below %s", dir, root)
	}
	source := ""
	for line := range strings.Lines(mountinfo) { // the last one on a folder hides those before it
		f := strings.Fields(line)
		sep := 0
		for sep < len(f) && f[sep] != "-" {
			sep++
		}
		if len(f) > 4 && sep+2 < len(f) && f[4] == dir {
			source = f[sep+2]
		}
	}
	if source == "" {
		return "", fmt.Errorf("nothing is mounted on %s", dir)
	}
	if n, ok := strings.CutPrefix(source, "/dev/loop"); !ok || n == "" || strings.Trim(n, "0123456789") != "" {
		return "", fmt.Errorf("%s is mounted from %s, which is no loop device", dir, source)
	}
	file, err := backing(source)
	if err != nil {
		return "", err
	}
	if !below(file, root) {
		return "", fmt.Errorf("%s is for %s, which is not below %s", source, file, root)
	}
	return source, nil
}

// below reports whether a path is inside a folder, as its text says.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && filepath.IsAbs(path) && filepath.Clean(path) == path && err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../")
}

// backingFile asks the kernel what a loop device is for.
func backingFile(loop string) (string, error) {
	b, err := os.ReadFile("/sys/block/" + filepath.Base(loop) + "/loop/backing_file")
	return strings.TrimSuffix(string(b), "\n"), err
}
