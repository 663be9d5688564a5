package disk

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Env names the variable that makes a program the process of a disk: "IMAGE:FOLDER".
const Env = "ZURAU_POWERLOSS_DISK"

// Serve shows an image as a disk in a folder, controlled over standard input and output, until that ends. It is the whole of a process.
func Serve(image, dir string) error {
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := newDevice(f)
	if err != nil {
		return err
	}
	m, err := d.mount(dir)
	if err != nil {
		return err
	}
	s := rpc.NewServer()
	if err := s.RegisterName("Disk", &Service{d}); err != nil {
		return err
	}
	s.ServeConn(pipe{os.Stdin, os.Stdout})
	d.unstall() // nobody waits for a disk that is gone
	return m.Unmount()
}

// pipe is a connection of two ends.
type pipe struct {
	io.Reader
	io.Writer
}

func (p pipe) Close() error { return nil }

// A Service is what a Disk calls in the process.
type Service struct{ d *device }

// CutArgs say what of the cache a cut lands.
type CutArgs struct {
	Policy Policy
	Seed   uint64
}

// FailArgs say how an operation fails; with 0 it does not.
type FailArgs struct {
	Op   Op
	With syscall.Errno
}

// Nothing is no argument, or no answer.
type Nothing struct{}

// Off takes the power away.
func (s *Service) Off(a CutArgs, _ *Nothing) error {
	err := s.d.cache.Cut(a.Policy, a.Seed)
	s.d.unstall() // who waits meets a disk without power
	return err
}

// On gives it back.
func (s *Service) On(Nothing, *Nothing) error { s.d.cache.On(); return nil }

// Stall lets everything wait.
func (s *Service) Stall(long time.Duration, _ *Nothing) error { s.d.stall(long); return nil }

// Trap sets a trap and returns when it has sprung.
func (s *Service) Trap(t Trap, _ *Nothing) error { <-s.d.set(t); return nil }

// Unstall ends that.
func (s *Service) Unstall(Nothing, *Nothing) error { s.d.unstall(); return nil }

// Fail has an operation fail.
func (s *Service) Fail(a FailArgs, _ *Nothing) error { s.d.fail(a.Op, a.With); return nil }

// Waiting counts who waits for the end of a stall.
func (s *Service) Waiting(_ Nothing, n *int) error { *n = s.d.waiting(); return nil }

// Counts are those of the cache.
func (s *Service) Counts(_ Nothing, c *Counts) error { *c = s.d.cache.Counts(); return nil }

// A Disk is a disk in a process of its own.
type Disk struct {
	// Path is the file that a loop device is for.
	Path string

	cmd     *exec.Cmd
	in, out io.Closer
	client  *rpc.Client
}

// Start starts the process, which has to be a program that calls Serve where Env is set, and returns when the disk is there.
func Start(program, image, dir string) (*Disk, error) {
	d := &Disk{Path: dir + "/" + File}
	d.cmd = exec.Command(program)
	d.cmd.Env = append(os.Environ(), Env+"="+image+":"+dir)
	d.cmd.Stderr = os.Stderr
	in, err := d.cmd.StdinPipe() // whose end is the process's, be it by a kill of this one
	if err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	d.in, d.out = in, out
	d.client = rpc.NewClient(pipe{out, in})
	if err := d.call("On", Nothing{}); err != nil { // it is mounted before it answers
		return nil, errors.Join(fmt.Errorf("disk: %w", err), d.Close())
	}
	return d, nil
}

func (d *Disk) call(method string, args any) error {
	return d.client.Call("Disk."+method, args, &Nothing{})
}

// Cut takes the power away: from now on everything fails, and what was in the cache is landed or gone.
func (d *Disk) Cut(p Policy, seed uint64) error { return d.call("Off", CutArgs{p, seed}) }

// On gives the power back.
func (d *Disk) On() error { return d.call("On", Nothing{}) }

// Stall lets everything wait: for that long, or until Unstall or Cut where it is 0.
func (d *Disk) Stall(long time.Duration) error { return d.call("Stall", long) }

// Set sets a trap. What it returns has one message when that has sprung.
func (d *Disk) Set(t Trap) <-chan *rpc.Call {
	return d.client.Go("Disk.Trap", t, &Nothing{}, make(chan *rpc.Call, 1)).Done
}

// Unstall ends a stall.
func (d *Disk) Unstall() error { return d.call("Unstall", Nothing{}) }

// Fail has an operation fail with an error from now on, or succeed again with 0.
func (d *Disk) Fail(op Op, with syscall.Errno) error { return d.call("Fail", FailArgs{op, with}) }

// Waiting returns how many operations wait for the end of a stall.
func (d *Disk) Waiting() (n int, err error) {
	err = d.client.Call("Disk.Waiting", Nothing{}, &n)
	return n, err
}

// Counts returns what became of writes so far.
func (d *Disk) Counts() (c Counts, err error) {
	err = d.client.Call("Disk.Counts", Nothing{}, &c)
	return c, err
}

// Close ends the process. Nothing may be mounted on the disk any more.
func (d *Disk) Close() error {
	_ = d.in.Close() // its end is what the process waits for
	return d.cmd.Wait()
}
