package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Facts are what figures depend on beside what is measured. They go into a results file as its first line.
type Facts struct {
	CPU          string  `json:"cpu"`
	CPUs         int     `json:"cpus"`
	MaxProcs     int     `json:"gomaxprocs,omitempty"` // of the process that measures
	Governor     string  `json:"governor,omitempty"`
	MemoryMB     float64 `json:"memory_MB"`
	Kernel       string  `json:"kernel"`
	FileSystem   string  `json:"file_system"`
	MountOptions string  `json:"mount_options"`
	Device       string  `json:"device"`
	WriteCache   string  `json:"device_write_cache,omitempty"`
	FUA          string  `json:"device_fua,omitempty"`
	Rotational   string  `json:"device_rotational,omitempty"`
	Scheduler    string  `json:"device_scheduler,omitempty"`
	FreeMB       float64 `json:"free_MB"`
	Dirty        string  `json:"dirty_ratios"` // vm.dirty_background_ratio / vm.dirty_ratio
	Go           string  `json:"go"`
	Fio          string  `json:"fio,omitempty"`
	Java         string  `json:"java,omitempty"`
	Heap         string  `json:"kafka_heap,omitempty"`
	Kafka        string  `json:"kafka,omitempty"`
	Zurau        string  `json:"zurau,omitempty"`
	LoadAverage  float64 `json:"load_average"`
	Quick        bool    `json:"quick,omitempty"` // the run showed that the suite works, nothing more
}

// Of returns the facts of this machine and of the disk that a folder is on.
func Of(dir string) *Facts {
	f := &Facts{
		CPU: cpuModel(), CPUs: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0),
		Governor: content("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		MemoryMB: Field("/proc/meminfo", "MemTotal:") / 1024, Kernel: content("/proc/sys/kernel/osrelease"), Go: runtime.Version(),
		Dirty:       content("/proc/sys/vm/dirty_background_ratio") + " / " + content("/proc/sys/vm/dirty_ratio"),
		LoadAverage: LoadAverage(),
	}
	f.disk(dir)
	return f
}

// disk fills in what is known of the file system and the block device below a folder.
func (f *Facts) disk(dir string) {
	f.FreeMB = FreeMB(dir)
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return
	}
	var number string
	number, f.FileSystem, f.MountOptions, f.Device = mount(content("/proc/self/mountinfo"), abs)
	for _, at := range []string{"/queue/", "/../queue/"} { // of a disk, of a partition
		queue := "/sys/dev/block/" + number + at
		for name, to := range map[string]*string{
			"write_cache": &f.WriteCache, "fua": &f.FUA, "rotational": &f.Rotational, "scheduler": &f.Scheduler,
		} {
			if c := content(queue + name); c != "" {
				*to = c
			}
		}
	}
}

// FreeMB returns the MiB that are free for this user on the file system of a folder.
func FreeMB(dir string) float64 {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return float64(fs.Bavail) * float64(fs.Bsize) / (1 << 20)
}

// Warnings are why figures of this machine may say little. needMB is what a run may write to the folder.
func (f *Facts) Warnings(needMB float64) []string {
	var w []string
	if f.FileSystem == "tmpfs" {
		w = append(w, "the folder of the run is on tmpfs, which is memory: choose another place")
	}
	if f.LoadAverage > 0.3*float64(f.CPUs) {
		w = append(w, fmt.Sprintf("the load average is %.2f: figures of a busy machine are worth little", f.LoadAverage))
	}
	if f.FreeMB < needMB {
		w = append(w, fmt.Sprintf("%.0f GiB are free; a run may write %.0f GiB before they are removed", f.FreeMB/1024, needMB/1024))
	}
	return w
}

// Table is the facts as lines of a name and a value, the head first.
func (f *Facts) Table() [][]string {
	t := [][]string{{"machine", ""}}
	yes := map[string]string{"1": "yes", "0": "no"}
	for _, l := range [][]string{
		{"CPU", fmt.Sprintf("%d × %s", f.CPUs, f.CPU)}, {"governor", f.Governor}, {"memory", fmt.Sprintf("%.1f GiB", f.MemoryMB/1024)},
		{"kernel", f.Kernel}, {"file system", f.FileSystem + ", " + f.MountOptions}, {"device", f.Device}, {"device write cache", f.WriteCache},
		{"device has FUA", yes[f.FUA]}, {"device turns", yes[f.Rotational]}, {"device scheduler", f.Scheduler},
		{"dirty ratios", f.Dirty}, {"Go", f.Go}, {"fio", f.Fio}, {"Java", f.Java}, {"Kafka", f.Kafka}, {"Kafka's heap", f.Heap}, {"zurau", f.Zurau},
	} {
		if l[1] != "" {
			t = append(t, l)
		}
	}
	return t
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
