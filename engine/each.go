package engine

import (
	"errors"
	"sync"
)

// each runs f for each of the logs, Options.RecoveryWorkers at a time, and joins the errors. Most of what is done with
// many logs waits for flushes, which a file system answers for many at once.
func (e *Engine) each(logs []*Log, f func(*Log) error) error {
	var mu sync.Mutex
	var errs []error
	next := make(chan *Log)
	var wg sync.WaitGroup
	for range min(e.opt.RecoveryWorkers, len(logs)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for l := range next {
				if err := f(l); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		}()
	}
	for _, l := range logs {
		next <- l
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
