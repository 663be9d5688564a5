package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/zurau/zurau/benchmarks/results"
)

// A report is what lines come to.
type report struct {
	machine *results.Line
	values  map[string]map[string]map[int]results.Values // by row, store, round
	errors  []string
	quick   bool
}

func summarize(lines []results.Line) *report {
	r := &report{values: map[string]map[string]map[int]results.Values{}}
	for _, l := range lines {
		switch {
		case l.Machine != nil:
			r.machine, r.quick = &l, l.Machine.Quick
		case l.Error != "":
			r.errors = append(r.errors, l.Error)
		default:
			if r.values[l.Row] == nil {
				r.values[l.Row] = map[string]map[int]results.Values{}
			}
			if r.values[l.Row][l.Broker] == nil {
				r.values[l.Row][l.Broker] = map[int]results.Values{}
			}
			r.values[l.Row][l.Broker][l.Round] = l.Values
		}
	}
	return r
}

// toBest is the throughput of one store to the best of others, round by round, and who was best in the last round.
func (r *report) toBest(w row, store string, others []string) (results.Spread, string) {
	var all []float64
	best := ""
	for round, v := range r.values[w.name()][store] {
		most := 0.0
		for _, o := range others {
			if x := r.values[w.name()][o][round]["ops_s"]; x > most {
				most, best = x, o
			}
		}
		if most > 0 {
			all = append(all, v["ops_s"]/most)
		}
	}
	return results.SpreadOf(all), best
}

// A verdict is a goal held against what was measured.
type verdict struct {
	row, what string
	ratio     results.Spread
	best      string
	goal      float64
}

func (v *verdict) reached() bool { return v.ratio.Median >= v.goal }

func (r *report) verdicts() []verdict {
	var synced []string
	for _, o := range rivals {
		if o.synced && o.name != ours {
			synced = append(synced, o.name)
		}
	}
	var all []verdict
	for _, w := range rows {
		for _, v := range []verdict{
			{row: w.name(), what: ours, goal: w.goal}, {row: w.name(), what: oursUnsynced, goal: goalUnsynced},
		} {
			others := synced
			if v.what == oursUnsynced {
				others = []string{natsUnsynced}
			}
			if v.ratio, v.best = r.toBest(w, v.what, others); v.ratio.N > 0 {
				all = append(all, v)
			}
		}
	}
	return all
}

func (r *report) missed() []string {
	all := slices.Clone(r.errors)
	for _, v := range r.verdicts() {
		if !v.reached() {
			all = append(all, fmt.Sprintf("%s of %s: %sx of %s, goal %gx", v.what, v.row, results.Significant(v.ratio.Median), v.best, v.goal))
		}
	}
	return all
}

func (r *report) write(w io.Writer, markdown bool) {
	p := results.Printer{W: w, Markdown: markdown}
	if r.quick {
		p.Note("This was a quick run: nothing follows from the figures but that the suite works.")
	}
	p.Title("The engine to the best of the others: median (minimum–maximum)")
	t := [][]string{{"writers x value", "engine", "throughput", "of", "goal", ""}}
	for _, v := range r.verdicts() {
		says := "missed"
		if v.reached() {
			says = "reached"
		}
		t = append(t, []string{v.row, v.what, v.ratio.Text("x"), v.best, fmt.Sprintf("≥ %gx", v.goal), says})
	}
	p.Table(t)
	p.Title("Absolute figures")
	p.Table(r.absolute())
	for _, e := range r.errors {
		p.Note("Failed: " + e)
	}
	if r.machine != nil {
		p.Title("Machine")
		p.Table(r.machine.Machine.Table())
	}
}

func (r *report) absolute() [][]string {
	t := [][]string{{"writers x value", "store", "flushed", "appends/s", "MB/s", "p50, ms", "p99, ms", "p99.99, ms", "CPU, µs/append", "resident, MB"}}
	for _, w := range rows {
		for _, o := range rivals {
			rounds := r.values[w.name()][o.name]
			if len(rounds) == 0 {
				continue
			}
			line := []string{w.name(), o.name, map[bool]string{true: "yes", false: "no"}[o.synced]}
			for _, key := range []string{"ops_s", "MB_s", "lat_p50_ms", "lat_p99_ms", "lat_p9999_ms", "cpu_us_per_op", "rss_MB"} {
				var all []float64
				for _, v := range rounds {
					all = append(all, v[key])
				}
				line = append(line, results.SpreadOf(all).Text(""))
			}
			t = append(t, line)
		}
	}
	return t
}
