package broker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is the binary of this test process, made on first use by the one test that gets there first.
var built struct {
	once sync.Once
	dir  string
	file string
	err  error
}

// Binary returns the zurau binary to test, and builds it once for each test process.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.file = os.Getenv("ZURAU_BINARY"); built.file != "" {
			return
		}
		if built.dir, built.err = os.MkdirTemp("", "zurau-test"); built.err != nil {
			return
		}
		built.file = filepath.Join(built.dir, "zurau")
		out, err := exec.Command("go", "build", "-o", built.file, "github.com/zurau/zurau/tools/zurau").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.file
}

// Main runs the tests of a package and removes the binary that they were run with: TestMain is for it.
func Main(m *testing.M) int {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

// Run runs a zurau command to its end and returns its standard output. The test fails if the command does.
func Run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e, ok := err.(*exec.ExitError); ok {
			stderr = e.Stderr
		}
		t.Fatalf("zurau %q: %v\n%s%s", args, err, out, stderr)
	}
	return string(out)
}

// Long reports whether tests are to take the time that a release deserves.
func Long() bool { return os.Getenv("ZURAU_LONG") != "" }
