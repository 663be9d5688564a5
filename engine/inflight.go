package engine

import "slices"

// flightBytes bounds what of a sync log is written and not flushed at a time. Recovery counts on it: see point.syncFrom.
// One run may be larger; the promise is taken back before it is written.
const flightBytes = 16 << 20

// turn returns how many of the runs are written through the page cache before the next flush: at least one that is not
// direct, and in sync mode no more than may be in flight.
func turn(taken []*run, sync bool) (n int) {
	bytes := 0
	for n < len(taken) && !taken[n].seg.Direct() {
		if bytes += len(taken[n].buf); n > 0 && sync && bytes > flightBytes {
			break
		}
		n++
	}
	return n
}

// syncs reports whether runs are to be flushed before they are answered.
func syncs(cfg *Config, taken ...*run) bool {
	return cfg.Sync() || slices.ContainsFunc(taken, func(r *run) bool { return r.sync })
}

// unpromise takes back, durably, that the log is in sync mode, before a write that is not or is larger than what may be
// in flight.
func (l *Log) unpromise() error {
	if l.w.syncFrom.Swap(-1) < 0 {
		return nil
	}
	return l.e.writeCheckpoints()
}

// promise says that from here on nothing is written before what precedes it is flushed. A checkpoint makes it known.
func (l *Log) promise(offset int64) { l.w.syncFrom.CompareAndSwap(-1, offset) }

// planted are bugs that the tests of the crash tests put in. Nothing else sets them, and only before the first append.
type planted struct {
	early   bool // an acknowledgement leaves before the flush
	doubled bool // a duplicate is acknowledged before the original is flushed
	stale   bool // a truncation leaves guards as they are
}

// answerEarly is the first of them.
func (l *Log) answerEarly(taken []*run) {
	for _, r := range taken {
		for _, a := range r.acks {
			a.done(a.result)
		}
		l.w.unanswered.Add(-int64(len(r.acks)))
		r.acks = nil
	}
}
