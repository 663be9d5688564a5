package server

import (
	"slices"
	"testing"
)

func TestTheLimitsOfAllControlGroupsAboveTheProcessAreLookedAt(t *testing.T) {
	const root2, root1 = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for groups, want := range map[string][]string{
		"":         {root2, root1},
		"0::/\n":   {root2, root1},
		"garbage":  {root2, root1},
		"0::/../x": {"/sys/fs/cgroup/x/memory.max", root2, root1},
		"0::/system.slice/zurau.service\n": {"/sys/fs/cgroup/system.slice/zurau.service/memory.max",
			"/sys/fs/cgroup/system.slice/memory.max", root2, root1},
		"5:cpu,memory:/docker/a:b\n4:cpuset:/c\n0::/\n": {root2, "/sys/fs/cgroup/memory/docker/a:b/memory.limit_in_bytes",
			"/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", root1},
	} {
		if got := limitFiles(groups); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}
