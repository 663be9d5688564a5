package transactions

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/tests/broker"
)

func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }

// A kafka is an Apache Kafka on a directory and an address of its own.
type kafka struct{ script, dir, addr string }

// newKafka returns one that is not started, or skips the test where there is none.
func newKafka(t *testing.T) *kafka {
	t.Helper()
	k := &kafka{script: os.Getenv("ZURAU_KAFKA"), dir: t.TempDir()}
	if k.script == "" {
		t.Skip("ZURAU_KAFKA does not name a script that starts Apache Kafka")
	}
	k.addr = fmt.Sprintf("127.0.0.1:%d", freePorts(t))
	return k
}

// freePorts returns a port such that it and the next one are free.
func freePorts(t *testing.T) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		must(t, l.Close())
		if err == nil {
			must(t, next.Close())
			return port
		}
	}
}

func (k *kafka) up(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(k.addr)
	t.Cleanup(func() { k.run(t, "kill", k.dir) })
	k.run(t, "up", k.dir, port, "offsets.topic.num.partitions=1", "transaction.state.log.num.partitions=1",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=3600000", "log.retention.check.interval.ms=3600000")
}

func (k *kafka) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{k.script}, args...)...)
	cmd.Env = append(os.Environ(), "KAFKA_HEAP=400m")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kafka %q: %v\n%s", args, err, out)
	}
}

// data is its log directory.
func (k *kafka) data() string { return filepath.Join(k.dir, "data") }

// copied returns another one with the same data. The first must have ended.
func (k *kafka) copied(t *testing.T) *kafka {
	t.Helper()
	other := newKafka(t)
	must(t, os.CopyFS(other.data(), os.DirFS(k.data())))
	return other
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deadline ends a test that waits for something that does not come. It is no measure of speed.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// differences returns the first lines in which what zurau said differs.
func differences(zurau, kafka []string) string {
	var b strings.Builder
	n := 0
	for i := range max(len(zurau), len(kafka)) {
		var z, k string
		if i < len(zurau) {
			z = zurau[i]
		}
		if i < len(kafka) {
			k = kafka[i]
		}
		if z != k {
			if n++; n <= 5 {
				fmt.Fprintf(&b, "Kafka: %s\nzurau: %s\n", k, z)
			}
		}
	}
	if n > 0 {
		fmt.Fprintf(&b, "%d of %d answers differ", n, len(kafka))
	}
	return b.String()
}
