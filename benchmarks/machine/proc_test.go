package machine

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestAProcessesOwnUseGrowsWithItsWork(t *testing.T) {
	before := Use(os.Getpid())
	sum := 0
	for range 50 {
		b, err := os.ReadFile("/proc/self/stat")
		if err != nil {
			t.Fatal(err)
		}
		sum += len(b)
	}
	u := Use(os.Getpid()).Since(before)
	if u.CPU <= 0 || u.ResidentMB <= 0 || u.Calls < 50 {
		t.Fatalf("after reading %d bytes: %+v", sum, u)
	}
}

func TestTheListenerOfAPortIsFound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort(l.Addr().String())
	if pid := Listener(addr); pid != os.Getpid() {
		t.Errorf("process %d, want %d", pid, os.Getpid())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if pid := Listener(addr); pid != 0 {
		t.Errorf("process %d listens on a port that is closed", pid)
	}
}

func TestFactsNameTheFileSystemOfAFolderThatIsNamedRelatively(t *testing.T) {
	t.Chdir(t.TempDir())
	f := Of(".")
	if f.FileSystem == "" || f.Kernel == "" || f.CPUs < 1 || f.FreeMB <= 0 || len(f.Table()) < 5 {
		t.Fatalf("%+v", f)
	}
	if w := f.Warnings(f.FreeMB + 1); len(w) == 0 {
		t.Error("no warning where more is needed than is free")
	}
}
