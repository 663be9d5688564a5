package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/tests/powerloss/disk"
)

// A Kind says what loses the power.
type Kind int

const (
	// Shutdown stops the file system by its ioctl: what is in the page cache and in the journal's memory is gone, what the device was
	// given is there.
	Shutdown Kind = iota
	// Cache takes a disk with a volatile write cache away: what it was given and did not flush is gone, torn or out of order.
	Cache
)

func (k Kind) String() string { return [...]string{"shutdown", "cache"}[k] }

// FileSystems are those that a machine may have.
var FileSystems = []string{"ext4", "xfs"}

// imageBytes is the size of a disk: XFS wants 300 MB at least.
const imageBytes = 400 << 20

// A Machine is a file system on a disk that may lose its power. It is for the goroutine of one test.
type Machine struct {
	// Dir is where it is mounted.
	Dir string
	// Disk is nil where Kind is Shutdown.
	Disk *disk.Disk

	fs, folder, image string
	mounted           bool
}

var machines, boots atomic.Int64

// New makes a machine with an empty file system, which goes with the test.
func New(t testing.TB, k Kind, fs string) *Machine {
	t.Helper()
	Need(t, "mkfs."+fs)
	m, err := build(k, fs)
	if m != nil {
		t.Cleanup(func() { m.close(t) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func build(k Kind, fs string) (*Machine, error) {
	m := &Machine{fs: fs, folder: filepath.Join(Root(), fmt.Sprint(machines.Add(1)))}
	m.Dir = filepath.Join(m.folder, "mnt")
	m.image = filepath.Join(m.folder, "image")
	shown := filepath.Join(m.folder, "disk")
	if err := os.Mkdir(m.folder, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", m.folder, "tmpfs", 0, fmt.Sprint("size=", imageBytes)); err != nil {
		return nil, fmt.Errorf("mount tmpfs on %s: %w", m.folder, err)
	}
	for _, dir := range []string{m.Dir, shown} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return m, err
		}
	}
	if err := format(m.image, fs); err != nil {
		return m, err
	}
	if k == Cache {
		d, err := disk.Start("/proc/self/exe", m.image, shown)
		if err != nil {
			return m, err
		}
		m.Disk = d
	}
	return m, m.mount()
}

// format makes an image with an empty file system.
func format(image, fs string) error {
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(imageBytes), f.Close()); err != nil {
		return err
	}
	args := []string{"-q", "-F", image}
	if fs == "xfs" {
		args = []string{"-q", "-f", image}
	}
	if out, err := exec.Command("mkfs."+fs, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.%s: %w\n%s", fs, err, out)
	}
	return nil
}

// source is the file that the loop device is for.
func (m *Machine) source() string {
	if m.Disk != nil {
		return m.Disk.Path
	}
	return m.image
}

func (m *Machine) mount() error {
	loop, err := attach(m.source(), Root())
	if err != nil {
		return err
	}
	defer loop.Close() // the mount has it
	if err := unix.Mount(loop.Name(), m.Dir, m.fs, 0, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", m.fs, loop.Name(), err)
	}
	m.mounted = true
	return nil
}

// Cut takes the power away. Whatever uses the file system gets errors from now on, and has to be gone when Restart is called. Policy and
// seed say what of a cache is landed.
func (m *Machine) Cut(t testing.TB, p disk.Policy, seed uint64) {
	t.Helper()
	var err error
	if m.Disk != nil {
		err = m.Disk.Cut(p, seed)
	} else {
		err = shutdown(m.Dir)
	}
	if err != nil {
		t.Fatalf("cut the power: %v", err)
	}
}

// goingDown is XFS_IOC_GOINGDOWN, which ext4 has, too: _IOR('X', 125, __u32).
const goingDown = 0x8004587d

// noLogFlush has the journal's memory lost as well (GOING_FLAGS_NOLOGFLUSH).
const noLogFlush = 2

// shutdown stops a file system of the rig.
func shutdown(dir string) error {
	f, err := own(dir, Root())
	if err != nil {
		return fmt.Errorf("no shutdown: %w", err)
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), goingDown, noLogFlush)
}

// ReadOnly mounts the file system so that nobody can write to it.
func (m *Machine) ReadOnly(t testing.TB) {
	t.Helper()
	f, err := own(m.Dir, Root())
	if err == nil {
		err = errors.Join(f.Close(), unix.Mount("", m.Dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
	if err != nil {
		t.Fatalf("mount read-only: %v", err)
	}
}

// Restart starts the machine again: another boot id, and what the disk has is mounted.
func (m *Machine) Restart(t testing.TB) {
	t.Helper()
	if err := NewBoot(); err != nil {
		t.Fatal(err)
	}
	m.Replug(t)
}

// Replug mounts what the disk has under a kernel that went on, as after a cable that was loose.
func (m *Machine) Replug(t testing.TB) {
	t.Helper()
	err := m.unmount()
	if err == nil && m.Disk != nil {
		err = m.Disk.On()
	}
	if err == nil {
		err = m.mount()
	}
	if err != nil {
		t.Fatalf("the machine does not come back: %v", err)
	}
}

// NewBoot gives this run of the machine another name.
func NewBoot() error {
	return os.WriteFile(filepath.Join(Root(), "boot_id"), fmt.Appendf(nil, "boot-%d\n", boots.Add(1)), 0o644)
}

// unmount waits until the file system is let go of: a ring that was killed does so a little later than its process.
func (m *Machine) unmount() error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); m.mounted; <-tick.C {
		err := unix.Unmount(m.Dir, 0)
		if err == nil {
			m.mounted = false
		} else if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return fmt.Errorf("unmount %s: %w", m.Dir, err)
		}
	}
	return m.released(tick.C)
}

// released waits until the loop device is, which is when the file system has ended.
func (m *Machine) released(tick <-chan time.Time) error {
	for end := time.Now().Add(20 * time.Second); ; <-tick {
		used := loopsBelow(m.folder)
		if len(used) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%v is still attached to %s", used, m.source())
		}
	}
}

func (m *Machine) close(t testing.TB) {
	err := m.unmount()
	if m.Disk != nil {
		err = errors.Join(err, m.Disk.Close())
	}
	if err := errors.Join(err, unix.Unmount(m.folder, 0), os.Remove(m.folder)); err != nil {
		t.Errorf("take the machine away: %v", err)
	}
}

// Fill leaves no room for what the disk has not been written yet: the file system above it has promised room that is not there.
func (m *Machine) Fill(t testing.TB) {
	t.Helper()
	f, err := os.Create(m.filler())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Statfs_t
	err = unix.Statfs(m.folder, &st)
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize)
	}
	if err != nil {
		t.Fatalf("fill the disk: %v", err)
	}
}

// Free gives the room back.
func (m *Machine) Free(t testing.TB) {
	t.Helper()
	if err := os.Remove(m.filler()); err != nil {
		t.Fatal(err)
	}
}

func (m *Machine) filler() string { return filepath.Join(m.folder, "fill") }

// CutOff has the disk lose all behind its first bytes.
func (m *Machine) CutOff(t testing.TB, bytes int64) {
	t.Helper()
	if err := os.Truncate(m.image, bytes); err != nil {
		t.Fatal(err)
	}
}

// Unplug takes the disk away. Nobody may use it any more.
func (m *Machine) Unplug(t testing.TB) {
	t.Helper()
	if err := m.unmount(); err != nil {
		t.Fatal(err)
	}
}

// Counts returns what the disk has done; nothing where it has no cache.
func (m *Machine) Counts() (disk.Counts, error) {
	if m.Disk == nil {
		return disk.Counts{}, nil
	}
	return m.Disk.Counts()
}

// Now is the machine's monotonic clock, which all processes share, in ns.
func Now() int64 { return disk.Now() }
