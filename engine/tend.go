package engine

import (
	"sync/atomic"
	"time"
)

// Appends store into the stage on event loops, which must not wait for a disk. So somebody else asks the file system for whatever
// it may take its time with: blocks before they are used, and pages that were written back, again and again, before a store meets them. While
// that takes long the disk does nothing, and the stage is left alone: appends then wait in memory for the writers.
type tending struct {
	more  chan struct{} // asks for another block
	asked atomic.Int64  // when the file system was asked for something, by clock; 0: it has answered
	write atomic.Int64  // when a write to the page cache was begun, by clock; 0: it has ended
	began time.Time
}

const (
	// keepEvery is how often pages are kept that stores may meet soon, and keepAll how many times as seldom the others are. The kernel writes a page back
	// half a minute after it was changed, or when there are too many; to look at a MiB takes a processor 40 µs.
	keepEvery = 50 * time.Millisecond
	keepAll   = 20
	// keepEmpty is how many of the blocks that nobody uses are kept as often: those that are used next.
	keepEmpty = 8
	// stagePatience is how long the file system may take before it counts as stalled.
	stagePatience = 20 * time.Millisecond
	// writePatience is the same for a writer's write to the page cache, which the kernel holds up by 0.2 s at a time where too many pages are
	// dirty (balance_dirty_pages): appends are not to feel that.
	writePatience = 500 * time.Millisecond
)

// clock is a time that never goes back, and is not 0.
func (t *tending) clock() int64 { return int64(time.Since(t.began)) + 1 }

// stalled reports whether a store into the stage might wait. Pages that need nothing of the file system say nothing about the disk, until the
// kernel writes them back, which it begins at any time, and then a store waits before they are looked at again. So what writers meet counts, too.
func (s *stage) stalled() bool {
	asked, write := s.tending.asked.Load(), s.tending.write.Load()
	return asked != 0 && s.tending.clock()-asked > int64(stagePatience) || write != 0 && s.tending.clock()-write > int64(writePatience)
}

// beginWrite notes that a writer writes to the page cache, and reports whether it is the one to call endWrite: of those that write beside each
// other one is enough.
func (s *stage) beginWrite() bool {
	return s != nil && s.tending.write.CompareAndSwap(0, s.tending.clock())
}

func (s *stage) endWrite() { s.tending.write.Store(0) }

// ask runs f, which may wait for the file system.
func (s *stage) ask(f func()) {
	s.tending.asked.Store(s.tending.clock())
	f()
	s.tending.asked.Store(0)
}

// tend makes blocks as they are asked for and keeps the pages of those that there are, until quit.
func (s *stage) tend(quit chan struct{}) {
	t := time.NewTicker(keepEvery)
	defer t.Stop()
	tick := t.C
	for n := 1; ; n++ {
		select {
		case <-s.tending.more:
			s.ask(s.grow)
		case <-tick:
			keeps := true
			for _, block := range s.toKeep(n%keepAll == 0) {
				s.ask(func() { keeps = s.mem.Keep(int64(block)*stageBlock, stageBlock) })
				if !keeps {
					tick = nil
					break
				}
			}
		case <-quit:
			return
		}
	}
}

// toKeep returns the blocks that a store may meet soon, or all of them.
func (s *stage) toKeep(all bool) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	skip := map[int]bool{}
	if n := len(s.mu.empty) - keepEmpty; n > 0 && !all {
		for _, i := range s.mu.empty[:n] {
			skip[i] = true
		}
	}
	var keep []int
	for i := range s.mu.blocks {
		if !skip[i] {
			keep = append(keep, i)
		}
	}
	return keep
}

// wantMore asks for another block. The stage is locked.
func (s *stage) wantMore() {
	if len(s.mu.blocks) < s.mu.limit {
		select {
		case s.tending.more <- struct{}{}:
		default:
		}
	}
}

// grow makes half as many blocks as there are, and one of each class at least. Where there is no room writers acknowledge: a full disk
// is felt by them soon enough.
func (s *stage) grow() {
	n, end := s.beginGrowth()
	if n == end {
		return
	}
	err := s.mem.Grow(int64(end) * stageBlock)
	if err == nil {
		s.mem.Keep(int64(n)*stageBlock, int64(end-n)*stageBlock)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.sizing = false
	if err != nil {
		return
	}
	s.space.left.Add(-int64(end-n) * stageBlock)
	s.mu.idle = time.Now()
	for i := n; i < end; i++ {
		s.mu.blocks = append(s.mu.blocks, block{})
		s.mu.empty = append(s.mu.empty, i)
	}
}

// beginGrowth returns how many blocks there are, and how many there are to be. Where the two differ nobody else changes the file's
// size until sizing is over.
func (s *stage) beginGrowth() (n, end int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = len(s.mu.blocks)
	end = min(n+max(n/2, classes), s.mu.limit)
	if s.mu.sizing || s.mu.closed || s.space.left.Load() < int64(end-n)*stageBlock {
		return n, n
	}
	s.mu.sizing = end > n
	return n, end
}

// trim gives the memory back to the system where nothing was staged for a while. Who comes then waits for a writer, once.
func (s *stage) trim() error {
	s.mu.Lock()
	if s.mu.sizing || s.mu.live > 0 || len(s.mu.blocks) == 0 || time.Since(s.mu.idle) < stageIdle {
		s.mu.Unlock()
		return nil
	}
	s.mu.blocks, s.mu.empty, s.mu.partial = nil, nil, [classes][]int{}
	s.mu.sizing = true
	s.mu.Unlock()
	err := s.mem.Drop()
	s.mu.Lock()
	s.mu.sizing = false
	s.mu.Unlock()
	return err
}
