package suite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/machine"
)

// stopTime is how long a broker may take to end in order before it is killed.
const stopTime = 60 * time.Second

// A process is a broker of our own.
type process struct {
	addr   string
	pid    int
	data   string
	log    string
	group  *machine.Group // nil where the machine lets none be made
	exited <-chan error
}

// serve starts a broker on a fresh folder. It has zurau's command line: it says "ready HOST:PORT" on its standard output.
func serve(ctx context.Context, s job.Stage, o Options) (*process, error) {
	if len(o.Serve) == 0 {
		return nil, errors.New("no broker to ask, and none to start")
	}
	p := &process{data: filepath.Join(o.Dir, "broker"), log: filepath.Join(o.Dir, "broker.log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append(o.Serve[1:len(o.Serve):len(o.Serve)], "--listen", "127.0.0.1:0", "--data", p.data)
	for _, set := range settings(s) {
		args = append(args, "--set", set)
	}
	// Not bound to ctx: it is stopped in order, also after an interrupt.
	c := exec.Command(o.Serve[0], args...)
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start a broker: %w", err)
	}
	p.pid = c.Process.Pid
	p.join()
	exited, ready := make(chan error, 1), make(chan string, 1)
	go func() {
		in := bufio.NewScanner(out)
		for in.Scan() {
			if addr, ok := strings.CutPrefix(in.Text(), "ready "); ok {
				ready <- addr
			}
		}
		err := c.Wait() // the pipe is empty
		if p.group != nil {
			err = errors.Join(err, p.group.Close())
		}
		exited <- err
	}()
	p.exited = exited
	select {
	case p.addr = <-ready:
		return p, nil
	case err := <-exited:
		return nil, fmt.Errorf("the broker ended while starting (%v): %s", err, p.said())
	case <-time.After(reachTime):
		return nil, errors.Join(fmt.Errorf("the broker was not ready within %v: %s", reachTime, p.said()), p.stop())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), p.stop())
	}
}

// join puts the broker into a control group of its own, where that can be: its figures are then the kernel's for the group.
func (p *process) join() {
	g, err := machine.NewGroup("zurau-bench-" + strconv.Itoa(p.pid))
	if err != nil {
		return
	}
	if g.Add(p.pid) == nil {
		p.group = g
	} else {
		_ = g.Close() // it is empty
	}
}

// use is what the broker has used.
func (p *process) use() machine.Usage {
	u := machine.Use(p.pid)
	if p.group != nil {
		u.CPU, u.PeakMB = p.group.CPU(), p.group.PeakMB()
	}
	return u
}

// settings are what a stage says of the broker rather than of a topic.
func settings(s job.Stage) []string {
	all := []string{"log.retention.check.interval.ms=1000"}
	for _, j := range s {
		if j.Pattern == job.Read || !j.Durable() {
			continue
		}
		method := "dsync"
		if j.Sync == job.Fdatasync || j.Sync == job.Fsync {
			method = "fdatasync"
		}
		return append(all, "zurau.sync.method="+method)
	}
	return all
}

// said is the end of the broker's log.
func (p *process) said() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}

// stop ends the broker in order and waits for it.
func (p *process) stop() error {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the broker: %w", err)
		}
		select {
		case err := <-p.exited:
			if err != nil {
				return fmt.Errorf("the broker ended badly: %w: %s", err, p.said())
			}
			return nil
		case <-time.After(stopTime):
		}
	}
	return fmt.Errorf("the broker, process %d, does not end", p.pid)
}
