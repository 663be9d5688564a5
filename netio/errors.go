package netio

import (
	"errors"
	"io"
	"net"
)

// Why a connection was closed, as Handler.Closed gets it. io.EOF is the peer's orderly end; anything else that is not
// listed here is the operating system's error.
var (
	ErrFrameSize = errors.New("frame size out of range")
	ErrIdle      = errors.New("idle for too long")
	ErrAborted   = errors.New("aborted by the handler")
	ErrClosed    = errors.New("closed here")
	ErrShutdown  = errors.New("server is shutting down")
	ErrPanic     = errors.New("handler panicked")
	ErrFileRange = errors.New("file range ends early")
)

// Reason is why connections end, for counting.
type Reason int

// The reasons, in the order of Stats.Closed.
const (
	ByPeer    Reason = iota // orderly end of the peer
	ByError                 // reset, time-out, any error of the operating system, a file range that ended early
	BySize                  // a frame size out of range
	ByIdle                  // idle for too long
	ByHandler               // Close, Abort or a panic of the handler
	ByStop                  // Shutdown
	ByLimit                 // refused: Limits
	reasons
)

var reasonNames = [reasons]string{"peer", "error", "size", "idle", "handler", "stop", "limit"}

func (r Reason) String() string { return reasonNames[r] }

func reasonOf(err error) Reason {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return ByPeer
	case errors.Is(err, ErrFrameSize):
		return BySize
	case errors.Is(err, ErrIdle):
		return ByIdle
	case errors.Is(err, ErrAborted), errors.Is(err, ErrClosed), errors.Is(err, ErrPanic):
		return ByHandler
	case errors.Is(err, ErrShutdown), errors.Is(err, net.ErrClosed):
		return ByStop
	}
	return ByError
}
