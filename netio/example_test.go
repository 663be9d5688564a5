package netio_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/zurau/zurau/netio"
)

// echo answers each frame with itself.
type echo struct{}

func (echo) Opened(*netio.Conn)        {}
func (echo) Closed(*netio.Conn, error) {}

func (echo) Frame(_ *netio.Conn, payload []byte, s *netio.Slot) {
	head := append([]byte{0, 0, 0, byte(len(payload))}, payload...)
	s.Complete(netio.Response{Head: head})
}

func Example() {
	srv, err := netio.Start(netio.Options{
		Listeners: []netio.Listener{{Name: "PLAINTEXT", Addr: "127.0.0.1:0"}},
	}, echo{})
	if err != nil {
		fmt.Println(err)
		return
	}
	nc, err := net.Dial("tcp", srv.Addr()[0].String())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = nc.Write([]byte{0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'})
	answer := make([]byte, 9)
	_, _ = io.ReadFull(nc, answer)
	fmt.Println(string(answer[4:]))
	nc.Close()
	_ = srv.Shutdown(context.Background())
	// Output: hello
}
