package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Change is what can be said of one figure in two runs.
type Change struct {
	Row, Who, Key string
	A, B          Spread
	Pairs         int
	// Ratio is B to A in the geometric mean of the pairs; Low and High are where the true one lies with 95 %. They are 0 and
	// infinite where there are too few pairs to say.
	Ratio, Low, High float64
}

// Verdicts of a change.
const (
	Better = "better"
	Worse  = "worse"
	Noise  = "noise"
	TooFew = "too few rounds"
)

// leastPairs are needed to speak of an interval: with two, it is as wide as anything.
const leastPairs = 3

// Verdict says what a change is. Throughput is better when it is more, and everything else when it is less.
func (c *Change) Verdict() string {
	switch {
	case c.Pairs < leastPairs:
		return TooFew
	case c.Low <= 1 && c.High >= 1:
		return Noise
	case (c.Low > 1) == more(c.Key):
		return Better
	}
	return Worse
}

// more reports whether more of a figure is better.
func more(key string) bool {
	return strings.HasSuffix(key, "_s") && !strings.Contains(key, "cpu") && !strings.HasSuffix(key, "up_s") && key != "recovery_s" && key != "recover_s"
}

// uncompared are values that say how a run went, not how good it was.
var uncompared = map[string]bool{"ops": true, "drift": true, "warm_up_s": true, "late_p99_ms": true, "unsent": true, "recoveries": true, "sent": true, "seen": true, "records": true, "secs": true, "reqs": true}

// key identifies a figure of a run.
type figureKey struct{ profile, row, who, key string }

// Compare makes the changes from the lines of one run to those of another, for the figures that both have, in their order.
func Compare(a, b []Line) []Change {
	before, order := figures(a)
	after, _ := figures(b)
	var all []Change
	for _, k := range order {
		if after[k] == nil {
			continue
		}
		c := Change{Row: k.row, Who: k.who, Key: k.key}
		if k.profile != "" {
			c.Row = k.profile + "/" + k.row
		}
		var logs []float64
		for _, round := range slices.Sorted(maps.Keys(before[k])) {
			x, y := before[k][round], after[k][round]
			if x > 0 && y > 0 {
				logs = append(logs, math.Log(y/x))
			}
		}
		c.A, c.B = SpreadOf(slices.Collect(maps.Values(before[k]))), SpreadOf(slices.Collect(maps.Values(after[k])))
		c.interval(logs)
		if c.Pairs > 0 {
			all = append(all, c)
		}
	}
	return all
}

// figures sorts values by what they are of, then by round. A round that comes twice counts as it came last.
func figures(lines []Line) (map[figureKey]map[int]float64, []figureKey) {
	all, order := map[figureKey]map[int]float64{}, []figureKey(nil)
	for _, l := range lines {
		if !l.Measured() {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(l.Values)) {
			k := figureKey{l.Profile, l.Row, l.Who(), key}
			if uncompared[key] {
				continue
			}
			if all[k] == nil {
				all[k], order = map[int]float64{}, append(order, k)
			}
			all[k][l.Round] = l.Values[key]
		}
	}
	return all, order
}

// interval is Student's of the mean of the logarithms.
func (c *Change) interval(logs []float64) {
	c.Pairs, c.Low, c.High = len(logs), 0, math.Inf(1)
	if c.Pairs == 0 {
		return
	}
	var sum, squares float64
	for _, x := range logs {
		sum += x
	}
	n := float64(len(logs))
	mean := sum / n
	c.Ratio = math.Exp(mean)
	if c.Pairs < leastPairs {
		return
	}
	for _, x := range logs {
		squares += (x - mean) * (x - mean)
	}
	half := student(len(logs)-1) * math.Sqrt(squares/(n-1)/n)
	c.Low, c.High = math.Exp(mean-half), math.Exp(mean+half)
}

// student95 are the two-sided 95 % quantiles of Student's t, by degrees of freedom from 1 on.
var student95 = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// student returns the quantile, beyond the table its last one: a little too careful.
func student(freedom int) float64 { return student95[min(freedom, len(student95))-1] }

// ChangeTable is changes as a table. Without all, those that are noise are left out.
func ChangeTable(changes []Change, all bool) [][]string {
	t := [][]string{{"row", "level", "figure", "before", "after", "ratio", "95 % interval", "rounds", ""}}
	for _, c := range changes {
		v := c.Verdict()
		if v == Noise && !all {
			continue
		}
		within := "–"
		if c.Pairs >= leastPairs {
			within = Significant(c.Low) + "–" + Significant(c.High)
		}
		t = append(t, []string{c.Row, c.Who, c.Key, c.A.Text(""), c.B.Text(""), Significant(c.Ratio) + "x", within, fmt.Sprint(c.Pairs), v})
	}
	return t
}

// Doubts are why a comparison of two files may say little.
func Doubts(a, b []Line) []string {
	var all []string
	for i, lines := range [][]Line{a, b} {
		which := []string{"first", "second"}[i]
		busy, quick := 0, false
		for _, l := range lines {
			if l.Machine != nil {
				quick = quick || l.Machine.Quick
			}
			if l.Kind == KindRun && l.OtherCores > 0.2 {
				busy++
			}
		}
		if quick {
			all = append(all, "the "+which+" has quick runs, whose figures mean nothing")
		}
		if busy > 0 {
			all = append(all, fmt.Sprintf("in %d runs of the %s other work kept more than a fifth of a processor busy", busy, which))
		}
	}
	x, y := machineOf(a), machineOf(b)
	if x != y {
		all = append(all, fmt.Sprintf("the machines differ: %s; %s", x, y))
	}
	return all
}

func machineOf(lines []Line) string {
	for _, l := range lines {
		if m := l.Machine; m != nil {
			return fmt.Sprintf("%d × %s, kernel %s, %s on %s", m.CPUs, m.CPU, m.Kernel, m.FileSystem, m.Device)
		}
	}
	return "unknown"
}
