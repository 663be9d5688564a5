package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is the unit of /proc's times: USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// StatFields returns the fields of a stat file from the state on, the third in proc_pid_stat(5); none if it is gone.
func StatFields(name string) []string {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

// CPU returns the seconds of CPU that a process has used, in steps of 10 ms.
func CPU(pid int) float64 {
	f := StatFields("/proc/" + strconv.Itoa(pid) + "/stat")
	if len(f) < 13 {
		return 0
	}
	return (number(f[11]) + number(f[12])) / ticksPerSecond
}

// ResidentMB returns a process's VmRSS in MiB: what is anonymous and what is of files.
func ResidentMB(pid int) float64 { return Field("/proc/"+strconv.Itoa(pid)+"/status", "VmRSS:") / 1024 }

// Usage is what a process has used since it started.
type Usage struct {
	CPU        float64 // seconds, user and system
	ResidentMB float64 // VmRSS now
	Switches   float64 // context switches of its threads, those that it asked for and those that it did not
	// Calls are system calls that read or write through a file descriptor (rchar's and wchar's counters in proc_pid_io(5));
	// those on sockets, and what a ring does, are not in it.
	Calls float64
	// PeakMB is the most that the process's Group had, page cache included; 0 where it is in none of ours.
	PeakMB float64
}

// Use returns what a process has used. It is precise to the microsecond for this process and to 10 ms for others.
func Use(pid int) Usage {
	base := "/proc/" + strconv.Itoa(pid)
	u := Usage{ResidentMB: ResidentMB(pid), Calls: Field(base+"/io", "syscr:") + Field(base+"/io", "syscw:")}
	var r unix.Rusage
	if pid == os.Getpid() && unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.CPU = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
		u.Switches = float64(r.Nvcsw + r.Nivcsw)
		return u
	}
	u.CPU = CPU(pid)
	tasks, err := filepath.Glob(base + "/task/*/status") // a process's own status has its first thread's alone
	if err != nil {
		return u
	}
	for _, t := range tasks {
		u.Switches += Field(t, "voluntary_ctxt_switches:") + Field(t, "nonvoluntary_ctxt_switches:")
	}
	return u
}

// Since is what was used between two looks; the memory is the later one's.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		CPU: u.CPU - before.CPU, ResidentMB: u.ResidentMB,
		Switches: max(0, u.Switches-before.Switches), // a thread that ended took its count along
		Calls:    u.Calls - before.Calls,
		PeakMB:   u.PeakMB,
	}
}

// Busy returns the seconds that all CPUs together were not idle, nor waiting for I/O.
func Busy() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), "\n")
	var s float64
	for i, v := range strings.Fields(first)[1:] {
		if i < 7 && i != 3 && i != 4 { // user nice system idle iowait irq softirq; then steal and guest
			s += number(v)
		}
	}
	return s / ticksPerSecond
}

// DirtyMB returns the MiB of page cache that are yet to be written, or on their way.
func DirtyMB() float64 {
	return (Field("/proc/meminfo", "Dirty:") + Field("/proc/meminfo", "Writeback:")) / 1024
}

// Field returns the number behind a name at a line's start, 0 if there is none.
func Field(file, name string) float64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		rest, ok := strings.CutPrefix(l, name)
		if f := strings.Fields(rest); ok && len(f) > 0 {
			return number(f[0])
		}
	}
	return 0
}

// LoadAverage returns the machine's, over one minute.
func LoadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	return number(strings.Fields(string(b))[0])
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return f
}
