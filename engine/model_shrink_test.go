package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// shortest returns steps without those that are not needed for them to go wrong, and with smaller numbers where that is
// possible, until nothing more can be left out or the time is over.
func shortest(steps []modelStep, until time.Time, wrong func([]modelStep) bool) []modelStep {
	for size := len(steps) / 2; size > 0; {
		less := false
		for at := 0; at < len(steps) && time.Now().Before(until); {
			try := slices.Concat(steps[:at], steps[min(at+size, len(steps)):])
			if wrong(try) {
				steps, less = try, true
			} else {
				at += size
			}
		}
		if size > 1 || !less {
			size /= 2
		}
	}
	for i := range steps {
		for _, number := range []func(*modelStep) *int{
			func(s *modelStep) *int { return &s.a }, func(s *modelStep) *int { return &s.b }, func(s *modelStep) *int { return &s.c },
		} {
			for _, to := range []int{0, 1, 2, 5, 10, 100} {
				try := slices.Clone(steps)
				if n := number(&try[i]); *n > to && time.Now().Before(until) {
					if *n = to; wrong(try) {
						steps = try
						break
					}
				}
			}
		}
	}
	return steps
}

// modelText writes a world and steps so that parseModel reads them.
func modelText(w modelWorld, steps []modelStep) string {
	var b strings.Builder
	fmt.Fprintln(&b, w)
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

func parseModel(text string) (w modelWorld, steps []modelStep, err error) {
	head, body, _ := strings.Cut(text, "\n")
	_, err = fmt.Sscanf(head, "world way=%d plain=%t staged=%t descriptors=%d seed=%d", &w.way, &w.plain, &w.staged, &w.descriptors, &w.seed)
	if err != nil {
		return w, nil, fmt.Errorf("%q: %w", head, err)
	}
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		s, err := parseModelStep(line)
		if err != nil {
			return w, nil, fmt.Errorf("%q: %w", line, err)
		}
		steps = append(steps, s)
	}
	return w, steps, nil
}

// What is found must be found with few steps, else nobody will look at it.
func TestTheFewestStepsThatGoWrongAreFound(t *testing.T) {
	steps := modelSteps(rand.New(rand.NewPCG(1, 0)), 400)
	steps[37], steps[205], steps[390] = modelStep{"cut", 7, 700, 3}, modelStep{"truncate", 501, 2, 9}, modelStep{"kill", 4, 4, 4}
	wrong := func(s []modelStep) bool { // a cut, then a truncation of at least 2 records, then a kill
		i := slices.IndexFunc(s, func(s modelStep) bool { return s.op == "cut" })
		j := slices.IndexFunc(s, func(s modelStep) bool { return s.op == "truncate" && s.b >= 2 })
		k := slices.IndexFunc(s, func(s modelStep) bool { return s.op == "kill" })
		return i >= 0 && j >= 0 && k >= 0
	}
	short := shortest(steps, time.Now().Add(time.Hour), wrong)
	if len(short) != 3 || !wrong(short) {
		t.Errorf("%d steps are left: %v", len(short), short)
	}
	w := modelWorld{way: 2, plain: true, descriptors: 8, seed: 1 << 60}
	w2, again, err := parseModel(modelText(w, short))
	if err != nil || w2.String() != w.String() || !slices.Equal(again, short) {
		t.Errorf("written and read again: %v %v, %v; want %v %v", w2, again, err, w, short)
	}
}
