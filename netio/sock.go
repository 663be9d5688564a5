package netio

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sock is a duplicate of a connection's descriptor, in the care of the runtime's poller: it can be waited for, and
// closing it ends whoever waits.
type sock struct {
	file *os.File
	raw  syscall.RawConn
}

// dupSock duplicates fd, which is non-blocking.
func dupSock(fd int) (*sock, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl dupfd", err)
	}
	f := os.NewFile(uintptr(dup), "socket")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sock{file: f, raw: raw}, nil
}

func (s *sock) Read(p []byte) (int, error) { return s.file.Read(p) }

// now runs f on the descriptor once.
func (s *sock) now(f func(fd int) error) error {
	var err error
	if e := s.raw.Control(func(fd uintptr) { err = f(int(fd)) }); e != nil {
		return e
	}
	return err
}

// wait runs f, and again whenever the socket takes more, until it returns anything but EAGAIN.
func (s *sock) wait(f func(fd int) error) error {
	var err error
	e := s.raw.Write(func(fd uintptr) bool {
		err = f(int(fd))
		return err != unix.EAGAIN
	})
	if e != nil {
		return e
	}
	return err
}

// close shuts the socket down, so that the peer hears of it whatever other descriptors there are, and closes this one.
func (s *sock) close() {
	_ = s.raw.Control(func(fd uintptr) { shutdown(int(fd)) })
	_ = s.file.Close() // nothing is lost with a socket
}

// shutdown ends both directions. Its error says that the peer has done so already.
func shutdown(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RDWR) }

// needSock makes the duplicate if there is none.
func (c *Conn) needSock() error {
	c.fdmu.Lock()
	defer c.fdmu.Unlock()
	if c.sock != nil {
		return nil
	}
	if c.fd < 0 || c.dead {
		return net.ErrClosed
	}
	s, err := dupSock(c.fd)
	if err == nil {
		c.sock = s
	}
	return err
}
