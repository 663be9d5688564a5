package netio

import (
	"net/netip"

	"golang.org/x/time/rate"
)

// Limits bound the connections of a server. In each number 0 is no limit; in those of connections at a time what is negative
// lets none in.
type Limits struct {
	// Connections is how many are open at a time, over all listeners; further ones are closed at once.
	Connections int
	// PerListener is the same for the connections of one listener, by its name.
	PerListener map[string]int
	// PerIP is the same for one address of origin, and ByIP for the addresses that have a limit of their own.
	PerIP int
	ByIP  map[netip.Addr]int
	// PerSecond is how many come in during a second, over all listeners. Those that come faster wait in the kernel's
	// queues, where there are no more than somaxconn for a listener.
	PerSecond int
}

// SetLimits has other limits hold for the connections that come from now on. Those that are open stay.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	s.mu.limits = l
	s.mu.Unlock()
	s.setRate(l.PerSecond)
}

// setRate lets n connections in at once, and n in each second after that; 0 is any number.
func (s *Server) setRate(n int) {
	if n == 0 {
		s.rate.SetLimit(rate.Inf)
		return
	}
	s.rate.SetBurst(n)
	s.rate.SetLimit(rate.Limit(n))
}

// full reports whether one more connection would be one too many. s.mu is locked.
func (s *Server) full(c *Conn) bool {
	l := &s.mu.limits
	perIP, own := l.ByIP[c.ip]
	if !own {
		perIP = l.PerIP
	}
	return reached(len(s.mu.conns), l.Connections) || reached(s.mu.perIP[c.ip], perIP) ||
		reached(s.mu.perListener[c.listener.Name], l.PerListener[c.listener.Name])
}

func reached(n, limit int) bool { return limit < 0 || limit > 0 && n >= limit }
