package directories

import "golang.org/x/sys/unix"

// pidfd returns a descriptor that becomes readable when a process ends [pidfd_open(2)].
func pidfd(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

// await waits for the end of the process of a pidfd.
func await(fd int) {
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return
		}
	}
}
