package powerloss

import (
	"fmt"
	"testing"
)

// What a process tells before and after a loss of power, where something was lost, doubled, changed or brought back: each has to be
// noticed.
func TestTheAccountFindsWhatItIsFor(t *testing.T) {
	ack := func(n int64, sync bool) event { // the nth batch, of one record
		return event{Log: "sync", What: acknowledge, ID: batchID(n + 1), Base: n, Last: n, Sync: sync}
	}
	found := func(start, end int64, ids ...int64) []event {
		told := []event{{Log: "sync", What: isLog, Base: start, Last: end}}
		for i, id := range ids {
			told = append(told, event{Log: "sync", What: isBatch, ID: batchID(id), Base: start + int64(i), Last: start + int64(i)})
		}
		return append(told, event{What: isOpen})
	}
	of := func(e event) event { e.Log = "sync"; return e }
	before := []event{ack(0, true), ack(1, true), ack(2, false)}
	for what, c := range map[string]struct {
		before, after []event
		wrong         bool
	}{
		"all is there":                     {before, found(0, 3, 1, 2, 3), false},
		"what async had is gone":           {before, found(0, 2, 1, 2), false},
		"what nobody knows of is there":    {before, found(0, 4, 1, 2, 3, 4), false},
		"a flushed batch is gone":          {before, found(0, 1, 1), true},
		"everything is gone":               {before, []event{{What: isOpen}}, true},
		"another one is in its place":      {before, found(0, 3, 1, 3, 2), true},
		"one is there twice":               {before, found(0, 4, 1, 2, 3, 3), true},
		"a hole":                           {before, append(found(0, 4, 1, 2)[:3], event{Log: "sync", What: isBatch, ID: 4, Base: 3, Last: 3}, event{What: isOpen}), true},
		"the log ends behind its last":     {before, found(0, 4, 1, 2, 3), true},
		"it starts later":                  {before, found(1, 3, 2, 3), true},
		"it is offline":                    {before, []event{{Log: "sync", What: isLog, Err: "corrupt"}}, true},
		"it cannot be read":                {before, []event{{Log: "sync", What: isLog, Last: 3}, {Log: "sync", What: failed, Err: "bad"}}, true},
		"of another round":                 {before, found(0, 4, 1, 2, 3, 5*perRound), true},
		"what was flushed is gone":         {append(before, of(event{What: flushed, Base: 3})), found(0, 2, 1, 2), true},
		"what was cut off is there":        {append(before, of(event{What: truncating, Base: 1}), of(event{What: truncated, Base: 1})), found(0, 3, 1, 2, 3), true},
		"what was to be cut off is":        {append(before, of(event{What: truncating, Base: 1})), found(0, 3, 1, 2, 3), false},
		"more than that was cut off":       {append(before, of(event{What: truncating, Base: 1})), []event{{What: isOpen}}, true},
		"a deleted log is there":           {append(before, of(event{What: deleting}), of(event{What: deleted})), found(0, 3, 1, 2, 3), true},
		"a log that was being deleted":     {append(before, of(event{What: deleting})), found(0, 2, 1, 2), false},
		"it is gone":                       {append(before, of(event{What: deleting})), []event{{What: isOpen}}, false},
		"it has lost what was flushed":     {append(before, of(event{What: deleting})), found(0, 1, 1), true},
		"an orderly stop loses":            {append(before, event{What: closed}), found(0, 2, 1, 2), true},
		"a truncation that came to no end": {append(before, of(event{What: truncating, Base: 1}), ack(1, false)), found(0, 3, 1, 2, 3), false},
		"acknowledged in another order":    {[]event{ack(1, true)}, nil, true},
		"acknowledged where one is":        {append(before, ack(1, true)), nil, true},
	} {
		t.Run(what, func(t *testing.T) {
			a := newAccount()
			err := told(a, 0, append([]event{{What: isOpen}}, c.before...))
			if err == nil {
				err = told(a, 1, c.after)
			}
			if (err != nil) != c.wrong {
				t.Errorf("%v", err)
			}
		})
	}
}

// What a start has served has to stay, be it async; and what it has not must not come back.
func TestTheAccountGoesOnFromWhatAStartFound(t *testing.T) {
	end := func(n int64, ids ...int64) []event {
		all := []event{{Log: "async", What: isLog, Last: n}}
		for i, id := range ids {
			all = append(all, event{Log: "async", What: isBatch, ID: batchID(id), Base: int64(i), Last: int64(i)})
		}
		return append(all, event{What: isOpen})
	}
	for i, third := range [][]event{end(1, 1), end(3, 1, 2, 3)} {
		a := newAccount()
		first := []event{{What: isOpen}}
		for n := range int64(3) {
			first = append(first, event{Log: "async", What: acknowledge, ID: batchID(n + 1), Base: n, Last: n})
		}
		must(t, told(a, 0, first))
		must(t, told(a, 1, end(2, 1, 2)))
		if told(a, 2, third) == nil {
			t.Errorf("case %d is not noticed", i)
		}
	}
}

// What a process tells of the time after a cut promises nothing.
func TestWhatIsToldAfterACutPromisesNothing(t *testing.T) {
	a := newAccount()
	a.begin(0)
	for _, e := range []event{{What: isOpen}, {Log: "sync", What: acknowledge, ID: 1, Sync: true}, {Log: "sync", What: flushed, Base: 1}, {What: closed}} {
		if e, counts := late(e); counts {
			must(t, a.take(e))
		}
	}
	must(t, told(a, 1, []event{{What: isOpen}}))
}

func told(a *account, round int, all []event) error {
	a.begin(round)
	for _, e := range all {
		if err := a.take(e); err != nil {
			return fmt.Errorf("%+v: %w", e, err)
		}
	}
	return nil
}
