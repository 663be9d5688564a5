package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// RSS returns how many bytes of the process are in memory [VmRSS of proc(5)].
func (b *Broker) RSS(t testing.TB) int64 {
	t.Helper()
	return b.status(t, "VmRSS:")
}

// PeakRSS returns the most that RSS has been since the process was started [VmHWM of proc(5)].
func (b *Broker) PeakRSS(t testing.TB) int64 {
	t.Helper()
	return b.status(t, "VmHWM:")
}

// status returns a line of the process's status that is in kB, in bytes.
func (b *Broker) status(t testing.TB, key string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s in %s", key, text)
	return 0
}

// Sockets returns how many sockets the process has open. A connection may have two descriptors, and counts as two then.
func (b *Broker) Sockets(t testing.TB) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", b.Pid())
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		// One that is closed meanwhile has no link to read, and does not count.
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
