package engine

import "time"

// SetProducerIDExpiration changes Options.ProducerIDExpiration, to 1 ms at least, from the next Retain on.
func (e *Engine) SetProducerIDExpiration(d time.Duration) {
	e.producerExpiration.Store(max(d.Milliseconds(), 1))
}
