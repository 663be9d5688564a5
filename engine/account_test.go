package engine

import (
	"fmt"
	"strings"
	"sync"

	"github.com/zurau/zurau/engine/record"
)

// An account is what a workload did to an engine, event by event, so that the state at any moment is a number: how many
// events had happened. What an event promises is promised by a disk that was cut after it; what a disk may hold is
// everything that was attempted before its cut.
type account struct {
	mu     sync.Mutex
	events []event
}

type eventKind int

const (
	attempted  eventKind = iota // append id, of a producer, to a log
	acked                       // id is at offset; in sync mode that is a promise
	seen                        // the log said that it is flushed below offset, or a reader of a sync one saw that high watermark
	startMay                    // from here on the log start may be as high as offset
	cutBegun                    // records from offset on may go
	cutDone                     // and are gone
	deleteMay                   // the log may go
	deleteDone                  // and is gone
)

type event struct {
	kind     eventKind
	log      Name
	id       string // of a batch
	offset   int64
	count    int
	producer int64 // -1: none
	sequence int32
	sync     bool
}

// add takes in an event and returns how many there are.
func (a *account) add(e event) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, e)
	return len(a.events)
}

func (a *account) now() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.events)
}

// ledger is what may and what must be in one log.
type ledger struct {
	must     map[string]int64 // id to base offset
	at       map[string]int64 // id to base offset, promised or not
	may      map[string]event
	dead     map[string]bool
	high     int64 // seen: the end is not below
	startMay int64
	deleting bool
}

// ledgers plays the events back: what the first before promise, and the first after allow. A kill alone keeps what was
// acknowledged in any mode.
func (a *account) ledgers(before, after int, killed bool) map[Name]*ledger {
	a.mu.Lock()
	events := a.events[:after:after]
	a.mu.Unlock()
	all := map[Name]*ledger{}
	for i, e := range events {
		l := all[e.log]
		if l == nil {
			l = &ledger{must: map[string]int64{}, at: map[string]int64{}, may: map[string]event{}, dead: map[string]bool{}}
			all[e.log] = l
		}
		if killed && e.kind == acked {
			e.sync = true
		}
		l.take(e, i < before)
	}
	return all
}

// take takes in an event; promised says that it came before the cut.
func (l *ledger) take(e event, promised bool) {
	switch e.kind {
	case attempted:
		l.may[e.id] = e
	case acked:
		l.at[e.id] = e.offset
		if promised && e.sync {
			l.must[e.id] = e.offset
		}
	case seen:
		if promised {
			l.high = max(l.high, e.offset)
		}
	case startMay:
		l.startMay = max(l.startMay, e.offset)
	case cutBegun:
		l.high = min(l.high, e.offset)
		for id, base := range l.at {
			if base+int64(l.may[id].count) > e.offset { // a batch goes as a whole
				l.high = min(l.high, base)
				delete(l.must, id)
			}
		}
	case cutDone, deleteDone:
		for id, base := range l.at {
			if promised && base+int64(l.may[id].count) > e.offset {
				l.dead[id] = true
				delete(l.may, id)
			}
		}
		if e.kind == deleteDone && promised {
			l.deleting, l.startMay = false, 0
		}
	case deleteMay:
		l.high, l.deleting = 0, true
		clear(l.must)
	}
}

// A stored batch of a log.
type stored struct {
	id   string
	base int64
	last int64
	b    record.Batch
}

// contents reads a whole log and checks what holds for every log: offsets without a hole, batches that verify.
func contents(l *Log) ([]stored, error) {
	if high, end := l.HighWatermark(), l.LogEndOffset(); end != high {
		return nil, fmt.Errorf("log end %d, high watermark %d", end, high)
	}
	return readable(l)
}

// readable is contents for what a reader gets of a log, whatever lies behind it.
func readable(l *Log) (all []stored, err error) {
	start, high := l.LogStartOffset(), l.HighWatermark()
	at := start
	for at < high {
		r, err := l.Read(at, 64<<10, true)
		if err != nil {
			return all, err
		}
		b, err := r.Bytes()
		r.Release()
		if err != nil {
			return all, err
		}
		if len(b) == 0 {
			return all, fmt.Errorf("nothing at offset %d of %d", at, high)
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				break // cut by the limit
			}
			if err := batch.Check(); err != nil {
				return all, fmt.Errorf("batch at offset %d: %w", batch.BaseOffset(), err)
			}
			if batch.BaseOffset() > at || batch.LastOffset() < at || len(all) > 0 && batch.BaseOffset() != at {
				return all, fmt.Errorf("batch %d to %d where offset %d belongs", batch.BaseOffset(), batch.LastOffset(), at)
			}
			s, err := storedOf(batch)
			if err != nil {
				return all, err
			}
			all = append(all, s)
			at, b = batch.LastOffset()+1, rest
		}
	}
	if at != high {
		return all, fmt.Errorf("batches end at %d, the high watermark is %d", at, high)
	}
	return all, nil
}

// storedOf reads the id that every record of a batch has in its value, before a slash.
func storedOf(b record.Batch) (stored, error) {
	s := stored{base: b.BaseOffset(), last: b.LastOffset(), b: b}
	n := 0
	for r, err := range b.Records(0) {
		if err != nil {
			return s, err
		}
		id, number, _ := strings.Cut(string(r.Value), "/")
		if number, _, _ = strings.Cut(number, " "); number != fmt.Sprint(n) || n > 0 && id != s.id || r.Offset != s.base+int64(n) {
			return s, fmt.Errorf("record %q at offset %d of the batch %d to %d", r.Value, r.Offset, s.base, s.last)
		}
		s.id = id
		n++
	}
	return s, nil
}

// check holds a log that a recovery found, or nil, against the ledger.
func (l *ledger) check(log *Log) error {
	if log == nil {
		if len(l.must) > 0 || l.high > 0 {
			return fmt.Errorf("the log is not there, %d acknowledged batches with it", len(l.must))
		}
		return nil
	}
	if err := log.Err(); err != nil {
		return err
	}
	all, err := contents(log)
	if err != nil {
		return err
	}
	start, end := log.LogStartOffset(), log.LogEndOffset()
	if end < l.high && !l.deleting {
		return fmt.Errorf("the log ends at %d, readers saw %d", end, l.high)
	}
	if start > l.startMay && !l.deleting {
		return fmt.Errorf("the log starts at %d, nobody asked for more than %d", start, l.startMay)
	}
	there := map[string]int64{}
	for _, s := range all {
		if _, ok := there[s.id]; ok {
			return fmt.Errorf("batch %s is there twice, at %d and %d", s.id, there[s.id], s.base)
		}
		there[s.id] = s.base
		e, ok := l.may[s.id]
		if !ok || l.dead[s.id] {
			return fmt.Errorf("batch %s at offset %d was never appended, or is gone (%t)", s.id, s.base, l.dead[s.id])
		}
		if at, ok := l.at[s.id]; ok && at != s.base || int(s.last-s.base)+1 != e.count {
			return fmt.Errorf("batch %s has offsets %d to %d, was acknowledged at %d with %d records", s.id, s.base, s.last, at, e.count)
		}
	}
	for id, base := range l.must {
		if _, ok := there[id]; !ok && base+int64(l.may[id].count) > start {
			return fmt.Errorf("acknowledged batch %s at offset %d is lost; the log is [%d, %d)", id, base, start, end)
		}
	}
	return nil
}
