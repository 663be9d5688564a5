package server

import (
	"os"
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
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(name); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
				total = min(total, n)
			}
		}
	}
	return total / 4
}
