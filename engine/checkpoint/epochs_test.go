package checkpoint

import (
	"slices"
	"testing"
)

func epochs(entries ...Epoch) *LeaderEpochs {
	var e LeaderEpochs
	for _, x := range entries {
		e.Assign(x.Epoch, x.StartOffset)
	}
	return &e
}

func TestAnEpochIsAssignedOnceAndTheHistoryRisesStrictly(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []Epoch
		assign        Epoch
		changed       bool
	}{
		{"first", nil, []Epoch{{0, 0}}, Epoch{0, 0}, true},
		{"later", []Epoch{{0, 0}}, []Epoch{{0, 0}, {2, 5}}, Epoch{2, 5}, true},
		{"same again", []Epoch{{0, 0}, {2, 5}}, []Epoch{{0, 0}, {2, 5}}, Epoch{2, 5}, false},
		{"same with a later start", []Epoch{{2, 5}}, []Epoch{{2, 5}}, Epoch{2, 9}, false},
		{"same with an earlier start", []Epoch{{0, 0}, {2, 5}}, []Epoch{{0, 0}, {2, 3}}, Epoch{2, 3}, true},
		{"an epoch without records", []Epoch{{0, 0}, {2, 5}}, []Epoch{{0, 0}, {3, 5}}, Epoch{3, 5}, true},
		{"start behind the last start", []Epoch{{0, 0}, {2, 5}, {3, 8}}, []Epoch{{0, 0}, {4, 3}}, Epoch{4, 3}, true},
		{"smaller epoch", []Epoch{{1, 0}, {3, 5}, {4, 8}}, []Epoch{{1, 0}, {2, 9}}, Epoch{2, 9}, true},
	} {
		e := epochs(c.before...)
		if changed := e.Assign(c.assign.Epoch, c.assign.StartOffset); changed != c.changed {
			t.Errorf("%s: changed %v", c.name, changed)
		}
		if got := e.Entries(); !slices.Equal(got, c.after) {
			t.Errorf("%s: %v, want %v", c.name, got, c.after)
		}
	}
}

func TestTheEndOfAnEpochIsTheStartOfTheNextKnownOne(t *testing.T) {
	e := epochs(Epoch{2, 10}, Epoch{4, 20}, Epoch{5, 30})
	for _, c := range []struct {
		asked, found int32
		end          int64
	}{
		{-1, -1, -1},
		{0, 0, 10}, // before all that is known: its records are gone
		{1, 1, 10},
		{2, 2, 20},
		{3, 2, 20}, // the largest known epoch that is not above the asked one
		{4, 4, 30},
		{5, 5, 42},  // the latest ends with the log
		{6, -1, -1}, // never heard of
	} {
		if found, end := e.EndOffsetFor(c.asked, 42); found != c.found || end != c.end {
			t.Errorf("epoch %d: %d ends at %d, want %d at %d", c.asked, found, end, c.found, c.end)
		}
	}
	if found, end := epochs().EndOffsetFor(0, 42); found != -1 || end != -1 {
		t.Errorf("nothing known: %d ends at %d", found, end)
	}
}

func TestTheEpochOfAnOffsetIsTheLastThatStartedBeforeIt(t *testing.T) {
	e := epochs(Epoch{2, 10}, Epoch{4, 20})
	for offset, want := range map[int64]int32{0: -1, 9: -1, 10: 2, 19: 2, 20: 4, 1000: 4} {
		if got := e.EpochAt(offset); got != want {
			t.Errorf("offset %d: epoch %d, want %d", offset, got, want)
		}
	}
	if last, ok := e.Latest(); !ok || last != (Epoch{4, 20}) {
		t.Errorf("latest %v, %v", last, ok)
	}
	if _, ok := epochs().Latest(); ok {
		t.Error("an empty history has a latest epoch")
	}
}

func TestEpochsBehindANewEndAreRemoved(t *testing.T) {
	all := []Epoch{{2, 10}, {4, 20}, {5, 30}}
	for end, left := range map[int64]int{31: 3, 30: 2, 21: 2, 20: 1, 10: 0, 0: 0} {
		e := epochs(all...)
		if changed := e.TruncateFromEnd(end); changed != (left < 3) {
			t.Errorf("end %d: changed %v", end, changed)
		}
		if got := e.Entries(); !slices.Equal(got, all[:left]) {
			t.Errorf("end %d: %v", end, got)
		}
	}
}

func TestTheEpochThatANewStartIsInStartsThere(t *testing.T) {
	for _, c := range []struct {
		start   int64
		changed bool
		after   []Epoch
	}{
		{5, false, []Epoch{{2, 10}, {4, 20}, {5, 30}}},
		{10, false, []Epoch{{2, 10}, {4, 20}, {5, 30}}},
		{15, true, []Epoch{{2, 15}, {4, 20}, {5, 30}}},
		{20, true, []Epoch{{4, 20}, {5, 30}}},
		{25, true, []Epoch{{4, 25}, {5, 30}}},
		{99, true, []Epoch{{5, 99}}},
	} {
		e := epochs(Epoch{2, 10}, Epoch{4, 20}, Epoch{5, 30})
		if changed := e.TruncateFromStart(c.start); changed != c.changed {
			t.Errorf("start %d: changed %v", c.start, changed)
		}
		if got := e.Entries(); !slices.Equal(got, c.after) {
			t.Errorf("start %d: %v, want %v", c.start, got, c.after)
		}
	}
	if epochs().TruncateFromStart(5) {
		t.Error("an empty history changed")
	}
}
