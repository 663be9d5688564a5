package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/tests/powerloss/disk"
)

const (
	rootEnv = "ZURAU_POWERLOSS_ROOT" // the rig's folder, in the process that runs the tests
	whyEnv  = "ZURAU_POWERLOSS_SKIP" // why there is none
	roleEnv = "ZURAU_POWERLOSS_ROLE" // what another process of the test binary is to be

	// rootBytes bounds the rig's folder; the images of machines are in memory of their own, imageBytes each.
	rootBytes = "size=16m"
	bootID    = "/proc/sys/kernel/random/boot_id"
)

// Main runs tests in a mount namespace of their own, or the role that this process has.
func Main(m *testing.M, roles map[string]func() error) int {
	if at := os.Getenv(disk.Env); at != "" {
		image, dir, _ := strings.Cut(at, ":")
		return status(disk.Serve(image, dir))
	}
	if role, ok := roles[os.Getenv(roleEnv)]; ok {
		return status(role())
	}
	if os.Getenv(rootEnv) != "" {
		if err := settle(); err != nil {
			return status(err)
		}
		return m.Run()
	}
	if os.Getenv(whyEnv) == "" {
		if why := lacks(); why != "" {
			os.Setenv(whyEnv, why)
		}
	}
	if os.Getenv(whyEnv) != "" {
		return m.Run()
	}
	return inside()
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// lacks says what of a rig cannot be had here.
func lacks() string {
	if os.Geteuid() != 0 {
		return "mounting needs root"
	}
	for _, name := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(name); err != nil {
			return err.Error()
		}
	}
	probe := exec.Command("/proc/self/exe", "-test.run=^$")
	probe.Env = append(os.Environ(), whyEnv+"=this is the probe")
	probe.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := probe.Run(); err != nil {
		return fmt.Sprintf("no mount namespace is to be had: %v", err)
	}
	return ""
}

// inside runs this program again in a namespace of its own, and looks what that leaves.
func inside() int {
	runtime.LockOSThread() // the thread whose end takes the child along
	root, err := os.MkdirTemp("", "zurau-powerloss")
	if err != nil {
		return status(err)
	}
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Env = append(os.Environ(), rootEnv+"="+root)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = c.Run()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = max(exit.ExitCode(), 1)
	} else if err != nil {
		code = status(err)
	}
	if err := left(root); err != nil {
		code = max(code, status(err))
	}
	return code
}

// settle makes the inside of the rig: memory for its images, and a boot id that a test may change.
func settle() error {
	root := Root()
	// Nothing of what follows may be seen outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, rootBytes); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", root, err)
	}
	boot := filepath.Join(root, "boot_id")
	if err := os.WriteFile(boot, []byte("boot-0\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(boot, bootID, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", bootID, err)
	}
	return nil
}

// left waits until all loop devices of the rig are free, and removes its folder, which is empty again.
func left(root string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		used := loopsBelow(root)
		if len(used) == 0 {
			return os.Remove(root)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%v are still attached to images in %s", used, root)
		}
	}
}

func loopsBelow(root string) (used []string) {
	all, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range all {
		loop := "/dev/" + strings.Split(name, "/")[3]
		if file, err := backingFile(loop); err == nil && below(strings.TrimSuffix(file, " (deleted)"), root) {
			used = append(used, loop)
		}
	}
	return used
}

// Root is the folder of the rig, or "" where there is none.
func Root() string { return os.Getenv(rootEnv) }

// Need skips a test where there is no rig, or a program is missing.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	if Root() == "" {
		t.Skip("no power can be taken away here: " + os.Getenv(whyEnv))
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(err)
		}
	}
}

// Role is the command of this test binary in a role of Main. It is to end with its standard input: a signal with the death of
// its parent would come with that of a thread (prctl(2), PR_SET_PDEATHSIG).
func Role(role string, args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", args...)
	c.Env = append(os.Environ(), roleEnv+"="+role)
	c.Stderr = os.Stderr
	return c
}
