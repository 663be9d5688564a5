package engine

import (
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// A run is appended bytes that go to one place in one segment by one write. Appends that come while the writer is busy
// share one.
type run struct {
	seg      *segment.Segment
	rolled   bool   // seg is new: what came before it is to be sealed
	snapshot []byte // of the producers where seg starts, with rolled
	position int64  // of the first byte, in the log file
	buf      []byte
	mem      *buffer // buf's memory, nil if there is none
	staged   bool    // mem is a slot of the stage: what is in it is acknowledged
	serial   uint64  // of a staged run, in its log
	readable *kept   // how readers find a staged run
	end      int64   // offset after the last record
	messages int64
	acks     []ack
	sync     bool // one of them began in sync mode: they are flushed, whatever the mode is when they are written
}

// An ack is an append that waits.
type ack struct {
	done   func(Appended)
	result Appended
}

// awaits has an append answered when a run is written, and flushed where the append begins in sync mode. The log is locked.
func (l *Log) awaits(r *run, a ack, cfg *Config) {
	l.w.unanswered.Add(1)
	r.acks = append(r.acks, a)
	r.sync = r.sync || cfg.Sync()
}

// room returns the run that the next n bytes go to. The log is locked.
func (l *Log) room(n int, stage bool) *run {
	if stage {
		if r := l.stagedRoom(n); r != nil {
			return r
		}
	}
	if k := len(l.mu.pending); k > 0 {
		r := l.mu.pending[k-1]
		if r.seg == l.mu.active && len(r.buf)+n <= cap(r.buf) && !r.staged {
			return r
		}
		if r.mem != nil {
			n = max(n, min(2*len(r.mem.bytes), maxRun)-fs.BlockSize) // the writer is behind: larger writes
		}
		if r.mem == nil && r.seg == l.mu.active {
			l.fill(r, n)
			return r
		}
	}
	return l.newRun(n)
}

// newRun appends a run for the active segment with room for n bytes. The log is locked.
func (l *Log) newRun(n int) *run {
	r := runs.Get().(*run)
	r.seg, r.end = l.mu.active, l.mu.end
	r.position = l.mu.active.Appended()
	if n > 0 {
		l.fill(r, n)
	}
	l.mu.pending = append(l.mu.pending, r)
	return r
}

// fill gives a run memory for n bytes, with room before them for the block that they start in: how the segment is written
// may change before this is.
func (l *Log) fill(r *run, n int) {
	head := int(r.position % fs.BlockSize)
	r.mem = l.e.buffers.get(head + n)
	r.buf = r.mem.bytes[head:head]
}

// enqueue hands the log to a writer unless one has it, or nothing is to be written yet. The log is locked.
func (l *Log) enqueue() {
	switch {
	case l.takeable() == 0:
	case l.mu.parked:
		l.mu.parked = false
		l.e.committer().push(l)
	case l.mu.busy:
	default:
		l.mu.busy = true
		if s := l.mu.pending[0].seg; s.Direct() && s.Open() {
			l.e.committer().push(l)
		} else {
			l.e.writers(l.config.Load()).push(l)
		}
	}
}
