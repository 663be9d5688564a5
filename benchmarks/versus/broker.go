package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	kafkaName = "kafka"
	zurauName = "zurau"
	// startTime is how long a broker may take to answer; stopTime how long to end on SIGTERM before it is killed.
	startTime = 60 * time.Second
	stopTime  = 60 * time.Second
)

// A process is a broker that runs.
type process struct {
	addr  string
	pid   int
	ready time.Duration // from its start to the first answer to a client
	log   string        // file

	exited <-chan struct{} // closed when it is gone
	kill   func(syscall.Signal) error
}

// stop ends the process and returns when it is gone.
func (p *process) stop() error {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := p.kill(s); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop process %d: %w", p.pid, err)
		}
		select {
		case <-p.exited:
			return nil
		case <-time.After(stopTime):
		}
	}
	return fmt.Errorf("process %d does not end", p.pid)
}

// start starts a broker with its data in dir, which may be one that it had before.
func (t *tools) start(ctx context.Context, broker, dir string) (*process, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if broker == kafkaName {
		return t.startKafka(ctx, dir, port)
	}
	return t.startZurau(ctx, dir, port)
}

func (t *tools) startZurau(ctx context.Context, dir string, port int) (*process, error) {
	p := &process{addr: address(port), log: filepath.Join(dir, "server.log")}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// Not bound to ctx: it is stopped in order, also after an interrupt.
	c := exec.Command(t.zurau, "serve", "--listen", p.addr, "--data", filepath.Join(dir, "data"))
	c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = dir, log, log, ownGroup()
	begin := time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		c.Wait() // a bad end shows in the log
		close(exited)
	}()
	p.pid, p.exited = c.Process.Pid, exited
	p.kill = func(s syscall.Signal) error { return c.Process.Signal(s) }
	return p.whenReady(ctx, begin)
}

// startKafka runs the start script, which leaves the broker's process id in dir/pid and returns when the broker is up.
// The broker is then an orphan. This process adopts orphans below it (prctl(2), PR_SET_CHILD_SUBREAPER), so that it is
// told of its end whatever the system's init does.
func (t *tools) startKafka(ctx context.Context, dir string, port int) (*process, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("prctl: %w", err)
	}
	pidFile := filepath.Join(dir, "pid")
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var problems bytes.Buffer
	// Not bound to ctx: whatever of the group runs, script, format or broker, is stopped in order.
	script := exec.Command(t.script, "up", dir, strconv.Itoa(port))
	script.Stderr, script.SysProcAttr = &problems, ownGroup()
	begin := time.Now()
	if err := script.Start(); err != nil {
		return nil, err
	}
	group, up, exited := script.Process.Pid, make(chan error, 1), make(chan struct{})
	go func() {
		up <- script.Wait()
		reap(group)
		close(exited)
	}()
	p := &process{addr: address(port), log: filepath.Join(dir, "server.log"), exited: exited}
	p.kill = func(s syscall.Signal) error { return syscall.Kill(-group, s) }
	_, err := p.whenReady(ctx, begin)
	if err == nil {
		select {
		case err = <-up:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		p.pid, err = readPid(pidFile)
	}
	if err != nil {
		err = errors.Join(err, p.stop())
		return nil, fmt.Errorf("kafka up: %w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	return p, nil
}

// reap waits for every child that is in a process group.
func reap(group int) {
	for {
		if _, err := syscall.Wait4(-group, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return // ECHILD: there is none
		}
	}
}

func readPid(name string) (int, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// whenReady returns p when it answers a client, or stops it.
func (p *process) whenReady(ctx context.Context, begin time.Time) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); ; {
		if answers(p.addr) {
			p.ready = time.Since(begin)
			return p, nil
		}
		select {
		case <-tick.C:
			continue
		case <-p.exited:
			return nil, fmt.Errorf("%s ended while starting: %s", p.addr, lastLines(p.log))
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		}
	}
}

// answers reports whether a broker there answers an ApiVersions request (version 0, which every broker serves).
func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return false
	}
	//  length 10    key 18  version 0  correlation id 1  client id null
	if _, err := c.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return false
	}
	var head [10]byte // length, correlation id, error code
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return false
	}
	return binary.BigEndian.Uint32(head[4:]) == 1 && binary.BigEndian.Uint16(head[8:]) == 0
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// freePort returns a port that is free with the one after it: Kafka's controller listens there.
func freePort() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, nextErr := net.Listen("tcp", address(port+1))
		if nextErr == nil {
			nextErr = next.Close()
		}
		if err := l.Close(); err != nil {
			return 0, err
		}
		if nextErr == nil {
			return port, nil
		}
	}
	return 0, errors.New("no two free ports in a row")
}

// lastLines returns the end of a log file.
func lastLines(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-5):], "\n")
}
