package results

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// run are lines of a row whose throughput in each round is as given.
func run(mbs ...float64) []Line {
	var all []Line
	for i, mb := range mbs {
		all = append(all, Line{Kind: KindRun, Row: "a", Level: "engine", Round: i + 1, Values: Values{"MB_s": mb, "lat_p99_ms": 1000 / mb, "ops": 3}})
	}
	return all
}

func TestAShiftThatEveryRoundHasIsAChangeAndScatterIsNoise(t *testing.T) {
	// The rounds differ by a factor of three among themselves; in pairs they are 10 % apart.
	a, b := run(100, 200, 300, 150, 120), run(110, 221, 329, 165, 133)
	all := Compare(a, b)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, c := range all {
		if c.Verdict() != Better || math.Abs(math.Abs(math.Log(c.Ratio))-math.Log(1.1)) > 0.01 || c.Pairs != 5 {
			t.Errorf("%+v: %s", c, c.Verdict())
		}
	}
	if v := Compare(b, a)[0].Verdict(); v != Worse {
		t.Error(v)
	}
	for _, c := range Compare(run(100, 200, 300, 150, 120), run(130, 150, 330, 120, 125)) {
		if c.Verdict() != Noise {
			t.Errorf("%+v: %s", c, c.Verdict())
		}
	}
}

func TestNothingIsSaidOfTwoRounds(t *testing.T) {
	c := Compare(run(100, 100), run(200, 200))[0]
	if c.Verdict() != TooFew || c.Ratio != 2 {
		t.Errorf("%+v", c)
	}
	if all := Compare(run(1), []Line{{Kind: KindRun, Row: "b", Level: "engine", Values: Values{"MB_s": 1}}}); len(all) != 0 {
		t.Errorf("rows that one run has alone: %+v", all)
	}
}

// Of runs that do not differ, one in twenty is called a change: that is what 95 % says.
func TestOneInTwentyOfNoDifferenceIsTakenForAChange(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	wrong := 0
	for range trials {
		var c Change
		var logs []float64
		for range 5 {
			logs = append(logs, rnd.NormFloat64()*0.1)
		}
		c.Key = "MB_s"
		if c.interval(logs); c.Verdict() != Noise {
			wrong++
		}
	}
	if share := float64(wrong) / trials; share < 0.03 || share > 0.07 {
		t.Errorf("%.1f %%", 100*share)
	}
}

func TestDoubtsNameBusyAndDifferentMachines(t *testing.T) {
	a, b := run(1), run(1)
	a[0].OtherCores = 0.7
	d := strings.Join(Doubts(a, b), "; ")
	if !strings.Contains(d, "1 runs of the first") {
		t.Error(d)
	}
}
