package directories

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zurau/zurau/tests/broker"
)

// oracle starts and stops Apache Kafka.
const oracle = "../../../shared/oracle/kafka"

// An apache is a directory with a broker of Apache Kafka, which runs or does not.
type apache struct {
	t    testing.TB
	dir  string // its data are in data
	addr string
	set  []string
}

// newApache skips the test where there is no Kafka, or no time for one.
func newApache(t testing.TB, set ...string) *apache {
	t.Helper()
	if !broker.Long() && os.Getenv("ZURAU_KAFKA") == "" {
		t.Skip("starts Apache Kafka several times: set ZURAU_KAFKA for one way, ZURAU_LONG for all")
	}
	for _, file := range []string{oracle, filepath.Join(oracleHome(t), "libs", ".complete")} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("Apache Kafka is not here: %v", err)
		}
	}
	a := &apache{t: t, dir: t.TempDir(), set: set}
	a.addr = freePorts(t)
	t.Cleanup(func() {
		a.end(syscall.SIGKILL)
		if t.Failed() {
			a.complaints()
		}
	})
	return a
}

// oracleHome is where Kafka's jars are.
func oracleHome(t testing.TB) string {
	t.Helper()
	if home := os.Getenv("ORACLE_HOME"); home != "" {
		return home
	}
	user, err := os.UserHomeDir()
	check(t, err)
	return filepath.Join(user, ".cache", "zurau-oracle")
}

// complaints logs what Kafka has complained of.
func (a *apache) complaints() {
	b, _ := os.ReadFile(filepath.Join(a.dir, "server.log"))
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, " ERROR ") || strings.Contains(line, " WARN ") {
			a.t.Log("Kafka: ", strings.TrimSpace(line))
		}
	}
}

// freePorts returns an address of this machine whose port is free, like the next one, which is the controller's.
func freePorts(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		check(t, l.Close())
		if err == nil {
			check(t, next.Close())
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
}

// data is the log directory.
func (a *apache) data() string { return filepath.Join(a.dir, "data") }

func (a *apache) start() {
	a.t.Helper()
	_, port, _ := strings.Cut(a.addr, ":")
	cmd := exec.Command(oracle, append([]string{"up", a.dir, port}, a.set...)...)
	cmd.Env = append(os.Environ(), "KAFKA_HEAP=400m")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		a.t.Fatalf("start Apache Kafka: %v\n%s", err, &said)
	}
}

// end sends the broker a signal and waits until it is gone: it is not this process's child.
func (a *apache) end(sig syscall.Signal) {
	b, err := os.ReadFile(filepath.Join(a.dir, "pid"))
	if err != nil {
		return // never started
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		a.t.Errorf("pid %q", b)
		return
	}
	fd, err := pidfd(pid)
	if err != nil {
		return // gone
	}
	defer syscall.Close(fd)
	_ = syscall.Kill(pid, sig) // it may be gone meanwhile
	await(fd)
	_ = os.Remove(filepath.Join(a.dir, "pid")) // so that nobody else is taken for it
}
