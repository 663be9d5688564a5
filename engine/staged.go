package engine

import "math"

// stages reports whether the next append is to be acknowledged in the stage: the log is async without a bound on the number
// of unflushed records, and everything before is acknowledged, and has been answered. The log is locked.
func (l *Log) stages(cfg *Config) bool {
	counts := cfg.FlushMessages > 0 && cfg.FlushMessages < math.MaxInt64 // Kafka's default is all of them
	return l.e.stage != nil && !l.e.stage.stalled() && !counts && l.high.Load().offset == l.mu.end && l.w.unanswered.Load() == 0
}

// stagedRoom returns the staged run that the next n bytes go to, or nil where the stage has no room. The log is locked.
func (l *Log) stagedRoom(n int) *run {
	var last *run
	if k := len(l.mu.pending); k > 0 {
		last = l.mu.pending[k-1]
		switch {
		case last.seg != l.mu.active:
			last = nil
		case last.staged && len(last.buf)+n <= cap(last.buf):
			return last
		case last.staged:
			l.mu.class = min(l.mu.class+1, classes-1) // full before its time
		case last.mem != nil:
			return nil
		}
	}
	position := l.mu.active.Appended()
	head := int(position % slotHeader)
	mem := l.e.stage.get(head+n, l.mu.class)
	if mem == nil {
		return nil
	}
	r := last
	if r == nil || r.mem != nil {
		r = l.newRun(0)
	}
	l.mu.serial++
	r.mem, r.staged, r.serial = mem, true, l.mu.serial
	r.buf = mem.bytes[head:head]
	if err := l.e.stage.label(r, l.name, l.id, l.mu.end); err != nil {
		l.e.fail(err) // the append that this is for will be refused
	}
	l.w.staged.Store(true)
	r.readable = l.showRun(r, l.mu.end)
	l.e.stage.resting.add(l, r.serial)
	return r
}

// staged makes what was put into a run acknowledged and readable. The log is locked.
func (l *Log) staged(r *run, cfg *Config) {
	r.readable.filled.Store(&filled{len(r.buf), r.end})
	l.high.Store(&mark{r.end, r.seg, r.position + int64(len(r.buf))})
	l.arrangeFlush(cfg)
}

// count makes the records of a staged run count for a recovery.
func (s *stage) count(r *run) error {
	return s.mem.Update(r.mem.at, slotHeader, func(h []byte) { setUsed(h, len(r.buf)) })
}

// takeable returns how many of the pending runs are to be written now: all, but for a last one that is staged and has
// time to grow. The log is locked.
func (l *Log) takeable() int {
	n := len(l.mu.pending)
	if n > 0 && !l.mu.kicked && l.mu.pending[n-1].staged && len(l.mu.pending[n-1].acks) == 0 {
		n--
	}
	return n
}

// takePending moves what is to be written to the end of runs. The log is locked.
func (l *Log) takePending(runs []*run) []*run {
	n := l.takeable()
	runs = append(runs, l.mu.pending[:n]...)
	k := copy(l.mu.pending, l.mu.pending[n:])
	clear(l.mu.pending[k:])
	l.mu.pending = l.mu.pending[:k]
	l.mu.kicked = false
	return runs
}

// kick has everything that is pending written. The log is locked.
func (l *Log) kick() {
	if len(l.mu.pending) > 0 {
		l.mu.kicked = true
		l.enqueue()
	}
}

// rested hands the log to a writer if the staged run of that number still waits for more. A log that is being truncated,
// which waits for a disk, has its turn later: others' must not wait for it.
func (l *Log) rested(serial uint64) {
	if !l.mu.TryLock() {
		l.e.stage.resting.add(l, serial)
		return
	}
	defer l.mu.Unlock()
	n := len(l.mu.pending)
	if n == 0 || l.mu.pending[n-1].serial != serial {
		return
	}
	if r := l.mu.pending[n-1]; len(r.buf) < cap(r.buf)/4 {
		l.mu.class = max(l.mu.class-1, 0)
	}
	l.kick()
}

// awaitIdle returns once no writer has the log and nothing is pending. The log is locked.
func (l *Log) awaitIdle() {
	for l.mu.busy || len(l.mu.pending) > 0 {
		l.kick()
		l.mu.idle.Wait()
	}
}

// awaitWritten returns once everything below an offset is in its file, or the log is offline. The log is locked.
func (l *Log) awaitWritten(offset int64) {
	for l.written.Load().offset < offset && (l.mu.busy || len(l.mu.pending) > 0) && l.Err() == nil {
		l.kick()
		l.mu.idle.Wait()
	}
}

// raiseHigh moves the high watermark forward to what was written: a staged append may have moved it further.
func (l *Log) raiseHigh(m *mark) {
	for {
		old := l.high.Load()
		if old.offset >= m.offset || l.high.CompareAndSwap(old, m) {
			return
		}
	}
}
