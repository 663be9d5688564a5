package netio

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"
)

// selfSigned is TLS for both ends.
func selfSigned(t testing.TB) (server, client func(net.Conn) net.Conn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return func(nc net.Conn) net.Conn { return tls.Server(nc, conf) },
		func(nc net.Conn) net.Conn { return tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) }
}

func TestAWrappedListenerServesTheSameHandler(t *testing.T) {
	wrap, client := selfSigned(t)
	h, stop := shuffler(t, 3)
	defer stop()
	var state tls.ConnectionState
	h.onClosed = func(c *Conn, _ error) { state = c.NetConn().(*tls.Conn).ConnectionState() }
	srv, addr := serve(t, Options{
		MaxPending: 50,
		Listeners:  []Listener{{Name: "SSL", Addr: "127.0.0.1:0", Wrap: wrap}},
	}, h)
	nc := client(dial(t, addr))
	go func() {
		for i := range 2000 {
			_, _ = nc.Write(number(i))
		}
		_ = nc.(*tls.Conn).CloseWrite()
	}()
	for i := range 2000 {
		if got := readFrame(t, nc); string(frame(got)) != string(number(i)) {
			t.Fatalf("answer %d differs", i)
		}
	}
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Error("open after the last answer of a client that is done")
	}
	settled(t, srv)
	_ = srv.Shutdown(t.Context())
	if !state.HandshakeComplete {
		t.Error("NetConn is not the TLS connection")
	}
}

func TestAHandshakeThatNeverComesIsIdle(t *testing.T) {
	wrap, _ := selfSigned(t)
	closed := make(chan error, 1)
	srv, addr := serve(t, Options{
		IdleTimeout: 50 * time.Millisecond,
		Listeners:   []Listener{{Addr: "127.0.0.1:0", Wrap: wrap}},
	}, &handler{onClosed: func(_ *Conn, err error) { closed <- err }})
	dial(t, addr)
	if err := <-closed; !errors.Is(err, ErrIdle) {
		t.Errorf("closed for %v", err)
	}
	settled(t, srv)
}
