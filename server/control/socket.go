package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Name is the socket's, in the log directory of the metadata.
const Name = "zurau-control.socket"

// mode of the socket: to connect is to write.
const mode = 0o600

// ErrNobody is returned where no broker listens.
var ErrNobody = errors.New("no broker listens")

// within returns a path of the socket for system calls, which is good until done is called. The name of a socket has 107 bytes at most
// (unix(7)), and that of a directory may have more: so it goes by a descriptor of that.
func within(dir string) (path string, done func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())), Name), func() { f.Close() }, nil
}

// listen makes the socket in the place of one that was left. The caller has the directory's lock.
func listen(dir string) (*net.UnixListener, error) {
	if err := os.Remove(filepath.Join(dir, Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	path, done, err := within(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	// bind(2) takes the permissions of a socket for those of its file: so nobody can connect in between, whatever the umask is.
	restrict := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if cerr := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), mode) }); cerr != nil {
			return cerr
		}
		return err
	}}
	ln, err := restrict.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, Name), err)
	}
	unixLn := ln.(*net.UnixListener)
	unixLn.SetUnlinkOnClose(false) // by a path that is no more
	return unixLn, nil
}

// dial connects to the broker that has a directory, or returns ErrNobody.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, done, err := within(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, Name), ErrNobody)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, Name), err)
	}
	return c, nil
}
