package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A machine is what figures depend on beside the two brokers.
type machine struct {
	CPU          string  `json:"cpu"`
	CPUs         int     `json:"cpus"`
	Governor     string  `json:"governor,omitempty"`
	MemoryMB     float64 `json:"memory_MB"`
	Kernel       string  `json:"kernel"`
	FileSystem   string  `json:"file_system"`
	MountOptions string  `json:"mount_options"`
	Device       string  `json:"device"`
	WriteCache   string  `json:"device_write_cache,omitempty"`
	FreeMB       float64 `json:"free_MB"`
	Dirty        string  `json:"dirty_ratios"` // vm.dirty_background_ratio / vm.dirty_ratio
	Go           string  `json:"go"`
	Java         string  `json:"java,omitempty"`
	Heap         string  `json:"kafka_heap"`
	Kafka        string  `json:"kafka,omitempty"`
	Zurau        string  `json:"zurau"`
	LoadAverage  float64 `json:"load_average"`
	Quick        bool    `json:"quick,omitempty"` // the run showed that the suite works, nothing more
}

func facts(ctx context.Context, t *tools, o *options) *machine {
	m := &machine{
		CPU: cpuModel(), CPUs: runtime.NumCPU(), Governor: content("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		MemoryMB: field("/proc/meminfo", "MemTotal:") / 1024, Kernel: content("/proc/sys/kernel/osrelease"), Go: runtime.Version(),
		Dirty: content("/proc/sys/vm/dirty_background_ratio") + " / " + content("/proc/sys/vm/dirty_ratio"),
		Heap:  os.Getenv("KAFKA_HEAP"), Kafka: kafkaVersion(t.libs), Zurau: revision(ctx, t.root), LoadAverage: loadAverage(), Quick: o.quick,
	}
	if m.Heap == "" {
		m.Heap = "1g"
	}
	if o.zurau != "" {
		m.Zurau = "the binary given by --zurau"
	}
	if out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput(); err == nil {
		m.Java, _, _ = strings.Cut(string(out), "\n")
	}
	var fs unix.Statfs_t
	if unix.Statfs(t.scratch, &fs) == nil {
		m.FreeMB = float64(fs.Bavail) * float64(fs.Bsize) / (1 << 20)
	}
	if dir, err := filepath.EvalSymlinks(t.scratch); err == nil {
		var number string
		number, m.FileSystem, m.MountOptions, m.Device = mount(content("/proc/self/mountinfo"), dir)
		for _, at := range []string{"/queue/", "/../queue/"} { // of a disk, of a partition
			if c := content("/sys/dev/block/" + number + at + "write_cache"); c != "" {
				m.WriteCache = c
			}
		}
	}
	return m
}

// warnings are why figures of this machine may say little.
func (m *machine) warnings() []string {
	var w []string
	if m.FileSystem == "tmpfs" {
		w = append(w, "the brokers' directories are on tmpfs, which is memory: choose another place by --dir")
	}
	if m.LoadAverage > 0.3*float64(m.CPUs) {
		w = append(w, fmt.Sprintf("the load average is %.2f: figures of a busy machine are worth little", m.LoadAverage))
	}
	if m.FreeMB < 60<<10 {
		w = append(w, fmt.Sprintf("%.0f GiB are free; a trial of a fast broker may write 60 GiB before they are removed", m.FreeMB/1024))
	}
	return w
}

// content returns a file's text, or nothing.
func content(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func cpuModel() string {
	for l := range strings.Lines(content("/proc/cpuinfo")) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// mount finds the mount that a folder is on in the text of proc_pid_mountinfo(5): the last of those whose mount point
// is the longest beginning of its path.
func mount(info, dir string) (number, fs, options, device string) {
	longest := -1
	for l := range strings.Lines(info) {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		left, right, ok := strings.Cut(l, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 6 || len(g) < 3 {
			continue
		}
		at := f[4]
		if at != "/" && dir != at && !strings.HasPrefix(dir, at+"/") || len(at) < longest {
			continue
		}
		longest, number, fs, device = len(at), f[2], g[0], g[1]
		options = f[5]
		if g[2] != f[5] {
			options += "; " + g[2]
		}
	}
	return number, fs, options, device
}

// kafkaVersion reads the version off the jars.
func kafkaVersion(libs string) string {
	jars, err := filepath.Glob(filepath.Join(libs, "kafka-clients-[0-9]*.jar"))
	if err != nil || len(jars) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "kafka-clients-"), ".jar")
}

// revision names the commit of the repository.
func revision(ctx context.Context, root string) string {
	out, err := output(ctx, root, "git", "describe", "--always", "--dirty")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(out)
}
