package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNobody is returned where no broker listens.
var ErrNobody = errors.New("no broker listens")

// errStranger is returned where somebody listens in a broker's place.
var errStranger = errors.New("whoever listens is neither root nor the user of the directory")

// address returns the address of the socket of a log directory, in the name space that the kernel has for sockets (unix(7), abstract), and the user
// whose the directory is. A file in the directory would be in the way of copies of it, which many a tool refuses to make of a socket; and after
// a kill it would be left. A directory has the same address by whatever path.
func address(dir string) (at string, user uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", 0, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return fmt.Sprintf("@zurau/%x/%x", st.Dev, st.Ino), st.Uid, nil
}

// A listener takes connections of the broker's user and of root, since such a socket has no permissions of its own.
type listener struct {
	*net.UnixListener
	users []uint32
}

// listen makes the socket. The caller has the directory's lock.
func listen(dir string) (*listener, error) {
	at, _, err := address(dir)
	if err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return &listener{ln, []uint32{0, uint32(os.Geteuid())}}, nil
}

// Accept waits for a connection of somebody who may ask. Others are hung up on.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if of(c, l.users) {
			return c, nil
		}
		_ = c.Close() // nothing was said
	}
}

// of reports whether the process at the other end is one of these users.
func of(c *net.UnixConn, users []uint32) (is bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		is = err == nil && slices.Contains(users, peer.Uid)
	})
	return err == nil && is
}

// dial connects to the broker that has a directory, or returns ErrNobody. A name is anybody's to take while no broker has it: what it asks for
// is told to nobody but root, the user of the directory, and its own user.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	at, user, err := address(dir)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", at)
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil, fmt.Errorf("%s: %w", at, ErrNobody)
	}
	if err != nil {
		return nil, err
	}
	if !of(c.(*net.UnixConn), []uint32{0, user, uint32(os.Geteuid())}) {
		return nil, errors.Join(fmt.Errorf("%s: %w", at, errStranger), c.Close())
	}
	return c, nil
}
