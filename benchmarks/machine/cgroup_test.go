package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAGroupCountsWhatItsProcessesUse(t *testing.T) {
	g, err := NewGroup(fmt.Sprintf("zurau-test-%d", os.Getpid()))
	if err != nil {
		t.Skip("no control group of our own here:", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	c := exec.Command("sh", "-c", `read go; dd if=/dev/zero of="$0" bs=1M count=32 2>/dev/null`, file)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	added := g.Add(c.Process.Pid)
	_, err = in.Write([]byte("\n"))
	if werr := c.Wait(); added != nil || err != nil || werr != nil {
		t.Fatal(added, err, werr)
	}
	if s := g.CPU(); s <= 0 || s > 60 {
		t.Errorf("%v s of CPU", s)
	}
	if mb := g.PeakMB(); mb < 32 {
		t.Errorf("%v MB at most, with a file of 32 in the page cache", mb)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestBothVersionsOfControlGroupsAreRead(t *testing.T) {
	unified := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(unified, "cgroup.subtree_control"), "cpuset cpu io memory pids\n")
	g, err := newGroup(unified, "a")
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(unified, "a", "cpu.stat"), "usage_usec 1500000\nuser_usec 1000000\n")
	write(filepath.Join(unified, "a", "memory.peak"), "3145728\n")
	if g.CPU() != 1.5 || g.PeakMB() != 3 {
		t.Errorf("%v s, %v MB", g.CPU(), g.PeakMB())
	}
	write(filepath.Join(unified, "cgroup.subtree_control"), "pids\n")
	if _, err := newGroup(unified, "b"); err == nil {
		t.Error("a group without controllers")
	}

	old := t.TempDir()
	write(filepath.Join(old, "cpuacct", "tasks"), "")
	write(filepath.Join(old, "memory", "tasks"), "")
	if g, err = newGroup(old, "a"); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(old, "cpuacct", "a", "cpuacct.usage"), "2500000000\n")
	write(filepath.Join(old, "memory", "a", "memory.max_usage_in_bytes"), "1048576\n")
	if g.CPU() != 2.5 || g.PeakMB() != 1 {
		t.Errorf("%v s, %v MB", g.CPU(), g.PeakMB())
	}
	if _, err := newGroup(t.TempDir(), "a"); err == nil {
		t.Error("a group where there are none")
	}
}
