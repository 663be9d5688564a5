package server

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryBudget returns the bytes that requests and unwritten records may take: what zurau.memory.bytes says, or a
// quarter of the machine's memory, or of the control group's where that has less.
func memoryBudget(configured int64) int64 {
	if configured > 0 {
		return configured
	}
	total := int64(1) << 30
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without it the root's limits are looked at alone
	for _, name := range limitFiles(string(groups)) {
		if b, err := os.ReadFile(name); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
				total = min(total, n)
			}
		}
	}
	return total / 4
}

// limitFiles returns where the limits of the process's control groups are, by the text of /proc/self/cgroup
// (cgroups(7)): those of its own group and of all above it hold. A container may see its own group as the root.
func limitFiles(groups string) (names []string) {
	own := func(root, group, file string) {
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			names = append(names, path.Join(root, group, file))
			if group == "/" {
				return
			}
		}
	}
	v2, v1 := "/", "/"
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case f[1] == "":
			v2 = f[2]
		case strings.Contains(","+f[1]+",", ",memory,"):
			v1 = f[2]
		}
	}
	own("/sys/fs/cgroup", v2, "memory.max")
	own("/sys/fs/cgroup/memory", v1, "memory.limit_in_bytes")
	return names
}
