package main

import "syscall"

// ownGroup starts a child in a process group of its own, to be killed when this program is (prctl(2), PR_SET_PDEATHSIG).
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
