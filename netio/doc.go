// Package netio carries length-prefixed frames over TCP: it accepts connections, cuts their bytes into frames, gives
// each frame to a Handler and sends the answers back in the order of the frames, file ranges by sendfile.
//
// It knows nothing of what is in a frame. It does not authenticate, does not parse, keeps no timers per request, and
// does not decide what is urgent.
//
// # A frame
//
//	 0       4            4+size
//	+-------+------------+
//	| size  | payload    |     size: signed 32-bit, big-endian, counts the payload alone
//	+-------+------------+     0 < size <= the connection's limit, else the connection is closed
//
// The handler gets the payload. The answer that it gives back starts with the answer's own four bytes of size.
//
// # Slots
//
// Each frame takes a Slot, its place in the connection's FIFO of answers. It is completed exactly once (Complete, Skip
// or Abort), by any goroutine, in any order; what is ready at the head of the FIFO leaves:
//
//	waiting --Complete--> ready --at the head--> out --all sent--> released
//	   |                    |                     |
//	   +---- the connection closes: dropped, Release is called all the same, once
//
// A slot must not be touched after it was completed: it is used again for another frame.
//
// # Who writes a connection
//
// One goroutine at a time owns the write side (Conn.busy). Whoever completes the head of the FIFO while nobody owns it
// takes it, sends without waiting, and gives it up when nothing is ready. While a reader hands out frames it owns the
// write side, so the answers that its frames get at once leave together. What would wait (a full socket, a file range
// that is large or not in the page cache) is passed, with the ownership, to a goroutine on a duplicate of the
// descriptor. So neither an event loop nor a completing goroutine ever waits for a slow reader or for a disk.
//
// # Two transports
//
// Connections start on gnet event loops, which cannot stop reading. One that has too much unanswered (Options.MaxPending
// and the fields beside it) is moved, with its slots and the bytes already read, to a goroutine of its own, which stops
// reading until answers have drained. The handler does not notice. A listener with Wrap (TLS) uses that transport from
// the start. A client that closes its write side still gets all its answers.
//
// # Caveats
//
// gnet's event loops would stop for good when accept fails (too many open files), and it cannot tell the port that it
// was given; so the listening sockets are ours, and connections are enrolled in gnet's client engine. SO_REUSEADDR is
// set and SO_REUSEPORT is not: a second process on the same port fails with EADDRINUSE.
//
// A client that went away while answers are outstanding looks like one that closed its write side only: Handler.Closed
// comes when those answers were sent or refused by the kernel.
package netio
