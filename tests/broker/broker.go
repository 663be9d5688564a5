package broker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Options says how a broker is started. The zero value is one with an empty directory on a free port.
type Options struct {
	// Dir is the data directory; "" is a new one, removed with the test.
	Dir string
	// Set are settings, KEY=VALUE each.
	Set []string
	// Env is added to the environment.
	Env []string
}

// A Broker is a zurau process. Its methods are called from one goroutine, the test's.
type Broker struct {
	// Addr is where clients connect to, HOST:PORT. It stays the same over restarts.
	Addr string
	// Dir is the data directory.
	Dir string

	opt Options
	cmd *exec.Cmd
	log *tail
}

// Start starts a broker and returns when clients can connect. It is killed when the test ends.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	b := &Broker{Addr: "127.0.0.1:0", Dir: o.Dir, opt: o}
	if b.Dir == "" {
		b.Dir = t.TempDir()
	}
	t.Cleanup(func() {
		if b.cmd != nil {
			b.end(syscall.SIGKILL)
		}
		if t.Failed() && b.log != nil {
			t.Logf("the end of the broker's log:\n%s", b.log.String())
		}
	})
	b.Start(t)
	return b
}

// Start starts a broker that was stopped or killed, on its directory and address.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	if err := b.start(Binary(t)); err != nil {
		t.Fatalf("zurau serve: %v\n%s", err, b.log.String())
	}
}

// start runs the process and reads its standard output up to the line that says that it is ready.
func (b *Broker) start(file string) error {
	args := []string{"serve", "--listen", b.Addr, "--data", b.Dir}
	for _, s := range b.opt.Set {
		args = append(args, "--set", s)
	}
	b.log = &tail{}
	b.cmd = exec.Command(file, args...)
	b.cmd.Env = append(environ(), b.opt.Env...)
	b.cmd.Stderr = b.log
	// A test binary that dies takes its broker along.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := b.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "ready ")
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("printed %q instead of its ready line", line), b.end(syscall.SIGKILL))
	}
	b.Addr = addr
	return nil
}

// environ is the environment without what would be settings of the broker (ZURAU_LOG_DIRS and the like).
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ZURAU_") })
}

// Kill kills the process, as a crash of it would, and waits until it is gone.
func (b *Broker) Kill(t testing.TB) {
	t.Helper()
	b.end(syscall.SIGKILL)
}

// Stop stops the broker in order and waits until it is gone. The test fails if it had to be forced, or complained.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	if err := b.end(syscall.SIGTERM); err != nil {
		t.Fatalf("zurau serve after SIGTERM: %v\n%s", err, b.log.String())
	}
}

// end sends the process a signal and waits for its end.
func (b *Broker) end(sig syscall.Signal) error {
	b.cmd.Process.Signal(sig)
	err := b.cmd.Wait()
	b.cmd = nil
	return err
}

// Wait waits until the process has ended by itself, and returns its exit status.
func (b *Broker) Wait() int {
	_ = b.cmd.Wait() // the status says it all
	code := b.cmd.ProcessState.ExitCode()
	b.cmd = nil
	return code
}

// Pid returns the process id.
func (b *Broker) Pid() int { return b.cmd.Process.Pid }

// Log returns the end of what the process has written to its log.
func (b *Broker) Log() string { return b.log.String() }

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 64 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	if n := l.buf.Len() - tailBytes; n > 0 {
		l.buf.Next(n)
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
