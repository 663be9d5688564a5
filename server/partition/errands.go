package partition

import (
	"sync"
	"time"

	"github.com/zurau/zurau/server/logdir"
)

// patience is how long a change waits for the logs that it makes and deletes. A directory that takes longer does what it was asked
// to behind it: nobody else's changes wait for a disk that hangs.
const patience = 2 * time.Second

// errands are what changes ask of one directory, which may wait for its disk: done one after the other, in their order.
type errands struct {
	dir *logdir.Dir

	mu     sync.Mutex
	queue  []func()
	idle   chan struct{} // closed when all is done; nil: there is nothing to do
	behind bool          // a change has gone on without it
}

// do has f done after what was asked before it.
func (e *errands) do(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, f)
	if e.idle == nil {
		e.idle, e.behind = make(chan struct{}), false
		go e.run(e.idle)
	}
}

func (e *errands) run(idle chan struct{}) {
	for f := e.next(); f != nil; f = e.next() {
		f()
	}
	close(idle)
}

// next takes the next errand. After the last one there is nothing to do any more.
func (e *errands) next() func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.queue, e.idle = nil, nil
		return nil
	}
	f := e.queue[0]
	e.queue[0] = nil
	e.queue = e.queue[1:]
	return f
}

// wait returns false where everything is not done before late says so; at once where an earlier change has waited in vain.
func (e *errands) wait(late <-chan time.Time) bool {
	e.mu.Lock()
	idle, behind := e.idle, e.behind
	e.mu.Unlock()
	if idle == nil || behind {
		return true
	}
	select {
	case <-idle:
		return true
	case <-late:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behind = e.idle == idle
	return !e.behind
}

// settle waits until the directories have done what was asked of them, or long has passed; for ever where it is 0.
func (t *Table) settle(long time.Duration) {
	var late <-chan time.Time
	if long > 0 {
		timer := time.NewTimer(long)
		defer timer.Stop()
		late = timer.C
	}
	for _, e := range t.errands {
		if !e.wait(late) {
			t.log.Warn("a log directory takes long to make or delete logs: changes go on without it", "dir", e.dir.Path(), "after", long)
			late = expired()
		}
	}
}

// expired is a time that is over.
func expired() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

// Close returns when the directories have done what was asked of them. Nothing more is asked when the metadata is closed.
func (t *Table) Close() {
	for _, e := range t.errands {
		e.mu.Lock()
		idle := e.idle
		e.mu.Unlock()
		if idle != nil {
			<-idle
		}
	}
}
