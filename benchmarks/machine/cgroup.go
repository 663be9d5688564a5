package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cgroupRoot is where the hierarchies are mounted: the unified one itself, or a folder for each controller of version 1.
const cgroupRoot = "/sys/fs/cgroup"

// A Group is a control group of its own (cgroups(7)), in which the kernel counts what its processes use: CPU to the microsecond, and memory with
// the page cache that they filled, which no figure of a process has.
type Group struct {
	cpu, memory string // folders, the same one in the unified hierarchy
	unified     bool
}

// NewGroup makes a group. Not every machine lets one be made: it takes root, and the controllers for CPU and memory.
func NewGroup(name string) (*Group, error) { return newGroup(cgroupRoot, name) }

func newGroup(root, name string) (*Group, error) {
	g := &Group{}
	if b, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); err == nil {
		if has := strings.Fields(string(b)); !slices.Contains(has, "memory") || !slices.Contains(has, "cpu") {
			return nil, fmt.Errorf("control groups have %v here: cpu and memory are wanted", has)
		}
		g.unified, g.cpu = true, filepath.Join(root, name)
		g.memory = g.cpu
	} else {
		g.cpu, g.memory = filepath.Join(root, "cpuacct", name), filepath.Join(root, "memory", name)
	}
	for _, dir := range g.folders() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

func (g *Group) folders() []string {
	if g.unified {
		return []string{g.cpu}
	}
	return []string{g.cpu, g.memory}
}

// Add moves a process into the group. Memory that it has already is counted where it was.
func (g *Group) Add(pid int) error {
	for _, dir := range g.folders() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return err
		}
	}
	return nil
}

// CPU returns the seconds of CPU that the group has used.
func (g *Group) CPU() float64 {
	if g.unified {
		return Field(filepath.Join(g.cpu, "cpu.stat"), "usage_usec") / 1e6
	}
	return single(filepath.Join(g.cpu, "cpuacct.usage")) / 1e9
}

// PeakMB returns the most memory that the group has had, in MiB: its processes' own, the kernel's for them, and their page cache. The kernel
// takes page cache back where it is short; here it had no need to.
func (g *Group) PeakMB() float64 {
	if g.unified {
		return single(filepath.Join(g.memory, "memory.peak")) / (1 << 20)
	}
	return single(filepath.Join(g.memory, "memory.max_usage_in_bytes")) / (1 << 20)
}

// Close removes the group, whose processes have ended.
func (g *Group) Close() (err error) {
	for _, dir := range g.folders() {
		if e := os.Remove(dir); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// single returns the number that is all of a file, 0 if there is none.
func single(name string) float64 {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	return number(strings.TrimSpace(string(b)))
}
