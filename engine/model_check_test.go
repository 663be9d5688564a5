package engine

import (
	"bytes"
	"errors"
	"fmt"
)

// check holds what the log says of itself against the list.
func (m *modelRun) check(l *modelLog) error {
	g := l.log
	if err := g.Err(); err != nil {
		return err
	}
	if g.LogStartOffset() != l.start || g.LogEndOffset() != l.end || g.HighWatermark() != l.end || g.LastStableOffset() != l.stable() {
		return fmt.Errorf("%s is [%d, %d), high watermark %d, last stable offset %d; want [%d, %d), %d", l.name, g.LogStartOffset(),
			g.LogEndOffset(), g.HighWatermark(), g.LastStableOffset(), l.start, l.end, l.stable())
	}
	if at := g.FlushedOffset(); at < l.firm || at > l.end {
		return fmt.Errorf("%s is flushed to %d of %d, %d was promised", l.name, at, l.end, l.firm)
	}
	return m.checkProducers(l)
}

func (m *modelRun) checkAll() error {
	for _, l := range m.logs {
		if err := errors.Join(m.check(l), m.checkWhole(l)); err != nil {
			return err
		}
	}
	return nil
}

// checkProducers holds what the log knows of producers against what it must and what it may know.
func (m *modelRun) checkProducers(l *modelLog) error {
	there := map[int64]bool{}
	for _, g := range l.log.Producers() {
		there[g.ID] = true
		p := l.producers[g.ID]
		if p == nil {
			return fmt.Errorf("%s knows of producer %d, which is forgotten", l.name, g.ID)
		}
		if p.sure() && (g.Epoch != p.epoch || g.LastSequence != p.newest().lastly) || g.CurrentTxnStartOffset != p.open {
			return fmt.Errorf("%s has %+v, want epoch %d, transaction %d, batches %+v", l.name, g, p.epoch, p.open, p.recent)
		}
	}
	for id, p := range l.producers {
		if p.sure() && !there[id] {
			return fmt.Errorf("%s has forgotten producer %d, whose last batches are %+v", l.name, id, p.recent)
		}
	}
	return nil
}

// checkWhole reads a log from its start to its end.
func (m *modelRun) checkWhole(l *modelLog) error {
	if err := m.check(l); err != nil {
		return err
	}
	for at := l.start; at < l.end; {
		n, err := m.read(l, at, 8<<10, true, false)
		if err != nil {
			return err
		}
		at = n
	}
	if at := l.end; at > l.start {
		if err := m.checkEpochs(l, l.start+(at-l.start)/3); err != nil {
			return err
		}
	}
	return m.checkTimes(l, m.now.Load()-50_000)
}

// read reads from an offset on, compares, and returns the offset after the last whole batch that came.
func (m *modelRun) read(l *modelLog, at int64, limit int, whole, hold bool) (next int64, err error) {
	r, err := l.log.Read(at, limit, whole)
	if at < l.start || at > l.end {
		r.Release()
		if !errors.Is(err, ErrOffsetOutOfRange) {
			return at, fmt.Errorf("read at %d of [%d, %d): %w", at, l.start, l.end, err)
		}
		return at, nil
	}
	if err != nil {
		return at, err
	}
	got, err := r.Bytes()
	if err != nil {
		r.Release()
		return at, err
	}
	if hold {
		m.held = append(m.held, modelHeld{r, got})
	} else {
		r.Release()
	}
	if r.HighWatermark != l.end || r.LogStartOffset != l.start || len(got) != r.Size {
		return at, fmt.Errorf("read at %d: a range of %d bytes in [%d, %d) with %d; want [%d, %d)", at, r.Size, r.LogStartOffset, r.HighWatermark, len(got), l.start, l.end)
	}
	next, err = l.compare(got, at, limit, whole)
	if err != nil {
		return next, fmt.Errorf("read of %d bytes at %d: %w", limit, at, err)
	}
	return next, nil
}

// compare holds the bytes of a range against the list.
func (l *modelLog) compare(got []byte, at int64, limit int, whole bool) (next int64, err error) {
	i := l.at(at)
	if i == len(l.list) {
		if len(got) > 0 {
			return at, fmt.Errorf("%d bytes at the end", len(got))
		}
		return at, nil
	}
	first := len(l.list[i].bytes)
	switch {
	case len(got) == 0 && !whole && first > limit:
		return at, nil
	case len(got) < min(first, max(limit, first)):
		return at, fmt.Errorf("%d bytes, the first batch has %d", len(got), first)
	case len(got) > limit && len(got) != first:
		return at, fmt.Errorf("%d bytes", len(got))
	}
	next = at
	for ; len(got) > 0; i++ {
		if i == len(l.list) {
			return next, fmt.Errorf("%d bytes behind the end", len(got))
		}
		b := &l.list[i]
		n := min(len(b.bytes), len(got))
		if !bytes.Equal(got[:n], b.bytes[:n]) {
			return next, fmt.Errorf("the bytes of batch [%d, %d] differ: %x, want %x", b.base, b.last, got[:min(n, 70)], b.bytes[:min(n, 70)])
		}
		if got = got[n:]; n == len(b.bytes) {
			next = b.last + 1
		}
	}
	return next, nil
}

// checkTimes holds look-ups by time against the list.
func (m *modelRun) checkTimes(l *modelLog, t int64) error {
	want, newest := none, none
	for _, b := range l.list {
		for i, ts := range b.times {
			at := TimeOffset{ts, b.base + int64(i), b.leaderEpoch}
			if at.Offset < l.start {
				continue
			}
			if want == none && ts >= t {
				want = at
			}
			if ts > newest.Timestamp {
				newest = at
			}
		}
	}
	if got, err := l.log.OffsetForTime(t); err != nil || got != want {
		return fmt.Errorf("the first record of %d is %+v, %w, want %+v", t, got, err, want)
	}
	if got, err := l.log.MaxTimestamp(); err != nil || got != newest {
		return fmt.Errorf("the newest record is %+v, %w, want %+v", got, err, newest)
	}
	return nil
}

// checkEpochs holds what the log knows of leader epochs against the list.
func (m *modelRun) checkEpochs(l *modelLog, at int64) error {
	i := l.at(at)
	if at < l.epochsFrom || i == len(l.list) {
		return nil
	}
	epoch, end := l.list[i].leaderEpoch, l.end
	for _, b := range l.list[i:] {
		if b.leaderEpoch > epoch {
			end = b.base
			break
		}
	}
	if got := l.log.EpochAt(at); got != epoch {
		return fmt.Errorf("offset %d has leader epoch %d, want %d", at, got, epoch)
	}
	if e, o := l.log.EndOffsetForEpoch(epoch); e != epoch || o != end {
		return fmt.Errorf("leader epoch %d ends at %d (of %d), want %d", epoch, o, e, end)
	}
	if got, want := l.log.LatestEpoch(), l.list[len(l.list)-1].leaderEpoch; got < want || got > l.epoch { // one may have begun without records
		return fmt.Errorf("the latest leader epoch is %d, want %d", got, want)
	}
	return nil
}

// checkAborted holds the aborted transactions of a range of offsets against the list.
func (m *modelRun) checkAborted(l *modelLog, from, to int64) error {
	got, err := l.log.AbortedTransactions(from, to)
	if err != nil {
		return err
	}
	for _, a := range l.aborted() {
		old := len(l.list) == 0 || a.base < l.list[0].base // a start may know only where it goes on
		is := len(got) > 0 && got[0].ProducerID == a.producer && (got[0].FirstOffset == a.base || old && got[0].FirstOffset <= a.last)
		if is {
			got = got[1:]
		}
		if want := a.last >= from && a.base < to; is != want && !(want && old) {
			return fmt.Errorf("aborted in [%d, %d): %+v, and then %v", from, to, a, got)
		}
	}
	if len(got) > 0 {
		return fmt.Errorf("aborted in [%d, %d): %v besides what is expected", from, to, got)
	}
	return nil
}

// state describes the log that a step was for.
func (m *modelRun) state(i int, s modelStep) string {
	l := m.logs[s.a%len(m.logs)]
	return fmt.Sprintf("%d %s\t-> %s [%d, %d) in segments %v, %d flushed, start %d and end %d promised", i, s, l.name, l.start, l.end, l.bases(),
		l.log.FlushedOffset(), l.firmStart, l.firm)
}
