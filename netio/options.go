package netio

import (
	"log/slog"
	"net"
	"runtime"
	"time"
)

// Listener is an address to listen on.
type Listener struct {
	// Name is what Conn.Listener returns: the server finds by it what to advertise and how to authenticate.
	Name string
	// Addr is host:port. An empty host is every address of the machine, port 0 is any free port (see Server.Addr).
	Addr string
	// Wrap, where set, makes of an accepted connection the one that is read and written (tls.Server, for example).
	// Such connections run on goroutines, and file ranges are copied. Wrap must not wait for the peer: a handshake
	// belongs into the first Read.
	Wrap func(net.Conn) net.Conn
}

// Options of a Server. The zero value of each field works; Listeners needs one entry to be of use.
type Options struct {
	Listeners []Listener

	// Loops is the number of event loops. Default: one for each CPU.
	Loops int

	// MaxFrame is the size limit of a frame's payload in bytes for a new connection; see Conn.SetMaxFrame.
	// Default 100 MiB, Kafka's socket.request.max.bytes.
	MaxFrame int

	// Limits bound the connections from the first one on; see Server.SetLimits.
	Limits Limits

	// IdleTimeout closes a connection that has neither sent a whole frame nor taken an answer (or 64 KiB of one) for
	// that long, within an eighth more. Default 10 minutes; negative: never.
	IdleTimeout time.Duration

	// MaxPending is the number of frames of one connection whose answers have not left. At it, reading stops.
	// Default 1,000.
	MaxPending int
	// MaxPendingBytes bounds the bytes of those frames, and of their answers that are in memory (not file ranges).
	// At it, reading stops; so one connection holds at most this and one frame. Default 16 MiB.
	MaxPendingBytes int
	// Memory bounds the same for all connections together, frames that are still arriving included, in bytes. At it,
	// connections wait for their turn. Default 1 GiB.
	Memory int64

	// InlineFile is the largest file range in bytes that is sent by whoever completes the answer, if it is in the page
	// cache; larger ones are sent by a goroutine. Default 256 KiB.
	InlineFile int
	// DiskReads is the number of file ranges that are read from one file system at a time by goroutines, each of which may hold a
	// thread as long as a disk hangs. Default 64.
	DiskReads int

	// ReadBuffer is the buffer of each event loop in bytes, a power of two. Default 256 KiB.
	ReadBuffer int
	// SocketSend and SocketReceive are SO_SNDBUF and SO_RCVBUF in bytes. 0: the kernel's own tuning.
	SocketSend, SocketReceive int

	// Logger gets what an operator should know. Nil discards it.
	Logger *slog.Logger
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

func (o Options) withDefaults() Options {
	orDefault(&o.Loops, runtime.NumCPU())
	orDefault(&o.MaxFrame, 100<<20)
	orDefault(&o.IdleTimeout, 10*time.Minute)
	orDefault(&o.MaxPending, 1000)
	orDefault(&o.MaxPendingBytes, 16<<20)
	orDefault(&o.InlineFile, 256<<10)
	orDefault(&o.DiskReads, 64)
	orDefault(&o.ReadBuffer, 256<<10)
	orDefault(&o.Memory, 1<<30)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
