package group

import (
	"iter"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeClock moves when it is told to.
type fakeClock struct {
	mu    sync.Mutex
	now   int64
	wakes map[*fakeWake]bool
}

type fakeWake struct {
	at int64
	f  func()
}

// wallAhead is what the wall clock shows when the monotonic one starts.
const wallAhead = 1_000_000

func (c *fakeClock) Now() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Instant{Mono: c.now, Wall: c.now + wallAhead}
}

func (c *fakeClock) Wake(at int64, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &fakeWake{at, f}
	if c.wakes == nil {
		c.wakes = map[*fakeWake]bool{}
	}
	c.wakes[w] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.wakes, w)
	}
}

// advance moves the clock by ms and runs what is due, in order, each at its time.
func (c *fakeClock) advance(ms int64) {
	c.mu.Lock()
	end := c.now + ms
	for {
		var first *fakeWake
		for w := range c.wakes {
			if w.at <= end && (first == nil || w.at < first.at) {
				first = w
			}
		}
		if first == nil {
			break
		}
		delete(c.wakes, first)
		c.now = max(c.now, first.at)
		c.mu.Unlock()
		first.f()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// fakeLog keeps records. An append is over at once, unless hold.
type fakeLog struct {
	mu      sync.Mutex
	records map[int32][]Record
	hold    bool
	fail    error
	held    []func()
}

func (l *fakeLog) Append(partition int32, records []Record, done func(error)) {
	l.mu.Lock()
	finish := func() {
		l.mu.Lock()
		err := l.fail
		if err == nil {
			if l.records == nil {
				l.records = map[int32][]Record{}
			}
			l.records[partition] = append(l.records[partition], records...)
		}
		l.mu.Unlock()
		done(err)
	}
	if l.hold {
		l.held = append(l.held, finish)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	finish()
}

// release ends what is held, in order.
func (l *fakeLog) release() {
	for {
		l.mu.Lock()
		held := l.held
		l.held = nil
		l.mu.Unlock()
		if len(held) == 0 {
			return
		}
		for _, f := range held {
			f()
		}
	}
}

func (l *fakeLog) read(partition int32) iter.Seq2[LogRecord, error] {
	return func(yield func(LogRecord, error) bool) {
		for _, r := range l.records[partition] {
			if !yield(LogRecord{Record: r}, nil) {
				return
			}
		}
	}
}

// fakeTopics has the topics that it was told of; the id is the generation of the topic.
type fakeTopics map[string]fakeTopic

type fakeTopic struct {
	id         byte
	partitions int32
}

func (t fakeTopics) ByName(name string) ([16]byte, int32, bool) {
	x, ok := t[name]
	return [16]byte{x.id}, x.partitions, ok
}

func (t fakeTopics) ByID(id [16]byte) (string, int32, bool) {
	for name, x := range t {
		if x.id == id[0] {
			return name, x.partitions, true
		}
	}
	return "", 0, false
}
