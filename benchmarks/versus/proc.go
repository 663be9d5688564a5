package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticksPerSecond is the unit of /proc's times: USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// ownGroup starts a child in a process group of its own, to be killed when this program is (prctl(2), PR_SET_PDEATHSIG).
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// statFields returns the fields of a stat file from the state on, the third in proc_pid_stat(5); none if it is gone.
func statFields(name string) []string {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

// processCPU returns the seconds of CPU that a process has used.
func processCPU(pid int) float64 {
	f := statFields("/proc/" + strconv.Itoa(pid) + "/stat")
	if len(f) < 13 {
		return 0
	}
	return (number(f[11]) + number(f[12])) / ticksPerSecond
}

// processMB returns a process's VmRSS in MiB, as the load tool does.
func processMB(pid int) float64 { return field("/proc/"+strconv.Itoa(pid)+"/status", "VmRSS:") / 1024 }

// busy returns the seconds that all CPUs together were not idle, nor waiting for I/O.
func busy() float64 {
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

// dirtyMB returns the MiB of page cache that are yet to be written, or on their way.
func dirtyMB() float64 {
	return (field("/proc/meminfo", "Dirty:") + field("/proc/meminfo", "Writeback:")) / 1024
}

// field returns the number behind a name at a line's start, 0 if there is none.
func field(file, name string) float64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, name); ok {
			return number(strings.Fields(rest)[0])
		}
	}
	return 0
}

// loadAverage returns the machine's, over one minute.
func loadAverage() float64 {
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
