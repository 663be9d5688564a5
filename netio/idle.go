package netio

import "time"

// idleTicks is into how many parts the idle time-out is cut: a connection is closed between 8/8 and 9/8 of it.
const idleTicks = 8

// watch counts ticks of an eighth of the idle time-out, and closes the connections that have shown no life in the last
// eight. One timer serves all, and life costs a connection one store per tick.
func (s *Server) watch() {
	defer s.acceptors.Done()
	if s.opts.IdleTimeout < 0 {
		return
	}
	t := time.NewTicker(max(s.opts.IdleTimeout/idleTicks, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-s.accepting.Done():
			return
		case <-t.C:
		}
		now := s.tick.Add(1)
		for _, c := range s.all() {
			if now-c.seen.Load() > idleTicks {
				c.close(ErrIdle)
			}
		}
	}
}
