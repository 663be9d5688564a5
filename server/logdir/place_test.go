package logdir

import (
	"testing"
)

func TestANewPartitionGoesWhereALogHasTheMostRoom(t *testing.T) {
	a, b, c := &Dir{}, &Dir{}, &Dir{}
	for name, want := range map[string]struct {
		rooms []room
		place int
		a, b  int
	}{
		"alike, and the first is taken first":   {[]room{{a, 100, 0}, {b, 100, 0}, {c, 0, 0}}, 1, 1, 0},
		"alike":                                 {[]room{{a, 100, 0}, {b, 100, 0}}, 10, 5, 5},
		"nearly alike":                          {[]room{{a, 100.1, 0}, {b, 100, 0}}, 10, 5, 5},
		"the one has more logs":                 {[]room{{a, 100, 6}, {b, 100, 0}}, 10, 2, 8},
		"the one has twice the room":            {[]room{{a, 200, 0}, {b, 100, 0}}, 30, 20, 10},
		"the one is full":                       {[]room{{a, 0, 0}, {b, 1, 50}}, 10, 0, 10},
		"both are full: by the number":          {[]room{{a, 0, 4}, {b, 0, 0}}, 6, 1, 5},
		"one alone, which is full":              {[]room{{a, 0, 0}}, 3, 3, 0},
		"the one is empty of logs and tight":    {[]room{{a, 10, 0}, {b, 1000, 99}}, 4, 1, 3},
		"what was placed counts in one request": {[]room{{a, 30, 2}, {b, 20, 0}}, 5, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p, got := Placer{rooms: want.rooms}, map[*Dir]int{}
			for range want.place {
				got[p.Next()]++
			}
			if got[a] != want.a || got[b] != want.b {
				t.Errorf("%d and %d, want %d and %d", got[a], got[b], want.a, want.b)
			}
		})
	}
	if d := new(Placer).Next(); d != nil {
		t.Errorf("of none, %v was chosen", d)
	}
}
