package netio

import "sync/atomic"

// counters are bumped once per connection, not per frame.
type counters struct {
	now, accepted, moved atomic.Int64
	closed               [reasons]atomic.Int64
}

// Stats is what has become of a server's connections.
type Stats struct {
	Connections int64 // open now
	Accepted    int64 // since the start, without those that were refused
	Moved       int64 // moved from an event loop to a goroutine, since the start
	Memory      int64 // bytes of frames and of answers in memory now; see Options.Memory
	Closed      [reasons]int64
}

// Stats returns the counts. They are read one after the other, not at one instant.
func (s *Server) Stats() Stats {
	st := Stats{
		Connections: s.stats.now.Load(),
		Accepted:    s.stats.accepted.Load(),
		Moved:       s.stats.moved.Load(),
		Memory:      s.budget.used.Load(),
	}
	for r := range st.Closed {
		st.Closed[r] = s.stats.closed[r].Load()
	}
	return st
}
