package uring

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// sysctlPath holds who may use io_uring (6.6): 0 everybody, 1 the group in io_uring_group and CAP_SYS_ADMIN, 2 nobody.
const sysctlPath = "/proc/sys/kernel/io_uring_disabled"

// refusal says in words why io_uring_setup failed. It wraps the errno, and ErrUnsupported where trying again is useless.
func refusal(errno unix.Errno) error {
	switch errno {
	case unix.ENOSYS:
		return fmt.Errorf("uring: %w: the kernel has no io_uring, or a sandbox hides it: %w", ErrUnsupported, errno)
	case unix.EPERM, unix.EACCES:
		if v := sysctlValue(); v != "" && v != "0" {
			return fmt.Errorf("uring: %w: sysctl kernel.io_uring_disabled is %s: %w", ErrUnsupported, v, errno)
		}
		return fmt.Errorf("uring: %w: forbidden by seccomp or a security module, as containers do: %w", ErrUnsupported, errno)
	case unix.EINVAL:
		return fmt.Errorf("uring: %w: the kernel takes none of the set-up flags: %w", ErrUnsupported, errno)
	case unix.ENOMEM:
		return fmt.Errorf("uring: set up a ring: memory, or RLIMIT_MEMLOCK on a kernel before 5.12: %w", errno)
	}
	return fmt.Errorf("uring: set up a ring: %w", errno)
}

// sysctlValue returns the sysctl's value, or nothing where the kernel does not have it.
func sysctlValue() string {
	b, err := os.ReadFile(sysctlPath)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
