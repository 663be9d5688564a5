package powerloss

import (
	"errors"
	"fmt"
	"math"
)

// An account is what is known of all logs of a machine, from what its processes told before each loss of power. It holds what the
// next one finds against that.
type account struct {
	specs []spec
	logs  map[string]*ledger
	// found is what the process that starts has told so far.
	found  map[string]*finding
	round  int
	opened bool
	// synced counts acknowledgements that promise stable storage, closed says that the process stopped in order.
	synced int
	closed bool
	failed error
}

// A ledger is what is known of one log.
type ledger struct {
	known []batch // acknowledged or found, one behind the other
	// floor is where stable storage reaches: what lies below must be there.
	floor int64
	// start is the log's start, which retention may have raised meanwhile.
	start int64
	gone  map[batchID]bool // cut off, or deleted with an older log: they must not come back
	// dying is set while a deletion was begun and not finished: the log is there or not.
	dying bool
	// loose is where a truncation was begun and not finished: from there on it is not known which of a log's batches were in which
	// place.
	loose int64
}

type batch struct {
	id         batchID
	base, last int64
}

// A finding is what a start told of one log.
type finding struct {
	start, end int64
	batches    []batch
}

func newAccount() *account {
	return &account{specs: logs, logs: map[string]*ledger{}, found: map[string]*finding{}}
}

func newLedger() *ledger { return &ledger{gone: map[batchID]bool{}, loose: math.MaxInt64} }

func (a *account) of(log string) *ledger {
	if a.logs[log] == nil {
		a.logs[log] = newLedger()
	}
	return a.logs[log]
}

// late is what is left of what a process told of the time after the cut. A file system that dies may say that a flush succeeded whose
// transaction it has thrown away (jbd2_complete_transaction finds it neither running nor committing); a machine without power tells nobody.
func late(e event) (event, bool) {
	switch e.What {
	case acknowledge:
		e.Sync = false
	case flushed, truncated, deleted, closed:
		return e, false
	}
	return e, true
}

// begin begins another round: a process is started on what the last one left.
func (a *account) begin(round int) {
	a.round, a.opened, a.closed, a.failed, a.found = round, false, false, nil, map[string]*finding{}
}

// take takes what a process told. It returns what of that is wrong.
func (a *account) take(e event) error {
	switch e.What {
	case isLog, isBatch:
		return a.find(e)
	case isOpen:
		a.opened = true
		return a.compare()
	case closed:
		a.closed = true
		for _, l := range a.logs { // an orderly stop flushes everything
			l.floor = max(l.floor, l.end())
		}
		return nil
	case failed:
		if !a.opened { // it could not read what is there
			return fmt.Errorf("%s: %s", e.Log, e.Err)
		}
		a.failed = errors.Join(a.failed, fmt.Errorf("%s: %s", e.Log, e.Err))
		return nil
	}
	if e.What == acknowledge && e.Sync {
		a.synced++
	}
	if err := a.of(e.Log).take(e); err != nil {
		return fmt.Errorf("%s: %w", e.Log, err)
	}
	return nil
}

func (l *ledger) end() int64 {
	if n := len(l.known); n > 0 {
		return l.known[n-1].last + 1
	}
	return l.start
}

func (l *ledger) take(e event) error {
	switch e.What {
	case acknowledge:
		if l.dying {
			return nil // it is of a new log, which may not be there
		}
		if e.Base >= l.loose {
			for n := len(l.known); n > 0 && l.known[n-1].base >= e.Base; n-- {
				l.known = l.known[:n-1]
			}
		}
		if e.Base != l.end() {
			return fmt.Errorf("batch %d is acknowledged at offset %d, behind one that ends at %d", e.ID, e.Base, l.end())
		}
		l.known = append(l.known, batch{e.ID, e.Base, e.Last})
		if e.Sync { // and all before it
			l.floor = e.Last + 1
		}
	case flushed:
		l.floor = max(l.floor, e.Base)
	case truncating:
		l.floor = min(l.floor, e.Base) // what lies behind may be gone from now on
		l.loose = min(l.loose, e.Base)
	case truncated:
		l.loose = math.MaxInt64
		l.drop(e.Base)
	case deleting:
		l.dying = true
	case deleted:
		old := l.gone
		for _, b := range l.known {
			old[b.id] = true
		}
		*l = *newLedger()
		l.gone = old
	default:
		return fmt.Errorf("what is %q", e.What)
	}
	return nil
}

// drop forgets what was cut off.
func (l *ledger) drop(from int64) {
	for n := len(l.known); n > 0 && l.known[n-1].base >= from; n-- {
		l.gone[l.known[n-1].id] = true
		l.known = l.known[:n-1]
	}
	l.floor = min(l.floor, from)
}

func (a *account) find(e event) error {
	f := a.found[e.Log]
	if e.What == isLog {
		f = &finding{start: e.Base, end: e.Last}
		if a.found[e.Log] = f; e.Err != "" {
			return fmt.Errorf("%s: %s", e.Log, e.Err)
		}
		return nil
	}
	f.batches = append(f.batches, batch{e.ID, e.Base, e.Last})
	return nil
}

// compare holds what was found against what is known, and goes on from what was found.
func (a *account) compare() error {
	var errs []error
	for _, s := range a.specs {
		l, f := a.of(s.name), a.found[s.name]
		if f == nil {
			f = &finding{} // a log has no files before its first append
		}
		if l.dying && (len(f.batches) == 0 || f.batches[0].base == 0 && l.start == 0 && len(l.known) > 0 && f.batches[0] != l.known[0]) {
			_ = l.take(event{What: deleted})
		}
		for _, err := range l.compare(f, s.retains, a.round-1) {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		l.adopt(f)
	}
	return errors.Join(errs...)
}

// compare returns what is wrong with what was found of a log. What nobody knows of can be of the last round only.
func (l *ledger) compare(f *finding, retains bool, last int) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.start != l.start && (!retains || f.start < l.start || f.start > f.end) {
		bad("the log starts at %d, want %d", f.start, l.start)
	}
	if f.end < l.floor {
		bad("the log ends at %d, and what lies below %d was on stable storage", f.end, l.floor)
	}
	at := make(map[int64]batch, len(l.known))
	ids := make(map[batchID]bool, len(l.known))
	for _, b := range l.known {
		at[b.base] = b
		ids[b.id] = true
	}
	next := f.start
	for i, b := range f.batches {
		if b.base != next && (i > 0 || b.base > next || b.last < next) {
			bad("a batch at offset %d follows offset %d", b.base, next-1)
		}
		next = b.last + 1
		switch {
		case l.gone[b.id]:
			bad("batch %d at offset %d is back, which was cut off or deleted", b.id, b.base)
		case b.base >= l.end() && (ids[b.id] || b.id.round() != last):
			bad("batch %d at offset %d, which was not appended there", b.id, b.base)
		case b.base < min(l.end(), l.loose) && at[b.base] != b:
			bad("batch %v where %v was acknowledged", b, at[b.base])
		}
		ids[b.id] = true
	}
	if next != f.end {
		bad("the batches end at %d and the log at %d", next, f.end)
	}
	return errs
}

// adopt goes on from what a start found: it is on stable storage from then on, and what is not there is gone for good.
func (l *ledger) adopt(f *finding) {
	there := make(map[batchID]bool, len(f.batches))
	for _, b := range f.batches {
		there[b.id] = true
	}
	for _, b := range l.known {
		if !there[b.id] {
			l.gone[b.id] = true
		}
	}
	l.known, l.start, l.floor, l.dying, l.loose = f.batches, f.start, f.end, false, math.MaxInt64
}
