package engine

import (
	"sync/atomic"
	"time"
)

// progressInterval is how often a start says how far it is: one that is over before says nothing.
const progressInterval = time.Second

// tellProgress says again and again how many of the directory's logs are ready, until the function that it returns is called.
func (e *Engine) tellProgress(ready *atomic.Int64, all int) (end func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(done)
		t := time.NewTicker(progressInterval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				e.log.Info("opening logs", "dir", e.opt.Dir, "ready", ready.Load(), "of", all, "for", time.Since(began).Round(time.Millisecond))
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
