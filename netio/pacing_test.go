package netio

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAConnectionWithinTheMachineIsNotPaced(t *testing.T) {
	const paced = "bbr"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	raw, err := in.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	control := func(f func(fd int) error) error {
		var got error
		if err := raw.Control(func(fd uintptr) { got = f(int(fd)) }); err != nil {
			return err
		}
		return got
	}
	if control(func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, paced) }) != nil {
		t.Logf("%s is not to be had here: only what unpace sets is looked at", paced)
	}
	unpace(in.(*net.TCPConn))
	err = control(func(fd int) error {
		name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if name != "reno" {
			t.Errorf("the connection has %q", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
