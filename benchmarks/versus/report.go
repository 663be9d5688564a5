package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// A report is what a run's lines come to.
type report struct {
	machines []*machine.Facts
	rows     []*row
	results  map[string]map[string]map[int]results.Values // by row, broker, round
	limits   map[string][]results.Values                  // by row
	errors   []string
	others   results.Spread // CPUs that were busy with something else during measured runs
	load     results.Spread // load average before measured runs
}

func summarize(lines []results.Line, chosen []*row) *report {
	r := &report{results: map[string]map[string]map[int]results.Values{}, limits: map[string][]results.Values{}}
	var others, load []float64
	for _, l := range lines {
		switch {
		case l.Kind == results.KindMachine:
			r.machines = append(r.machines, l.Machine)
		case l.Error != "":
			if l.Phase == results.PhaseResult || l.Kind == results.KindLimit {
				r.errors = append(r.errors, l.Error)
			}
		case l.Kind == results.KindLimit:
			r.limits[l.Row] = append(r.limits[l.Row], l.Values)
		case l.Phase == results.PhaseSample:
			others, load = append(others, l.OtherCores), append(load, l.LoadBefore)
		case l.Phase == results.PhaseResult:
			if r.results[l.Row] == nil {
				r.results[l.Row] = map[string]map[int]results.Values{kafkaName: {}, zurauName: {}}
			}
			r.results[l.Row][l.Broker][l.Round] = l.Values
		}
	}
	r.others, r.load = results.SpreadOf(others), results.SpreadOf(load)
	for _, w := range chosen {
		if r.results[w.id] != nil {
			r.rows = append(r.rows, w)
		}
	}
	return r
}

// quick reports whether a run among these left the warm-up out.
func (r *report) quick() bool {
	return slices.ContainsFunc(r.machines, func(m *machine.Facts) bool { return m.Quick })
}

// ratio is zurau's value by Kafka's, round by round.
func (r *report) ratio(row, key string) results.Spread {
	var all []float64
	for round, z := range r.results[row][zurauName] {
		k, ok := r.results[row][kafkaName][round]
		if ok && k[key] > 0 {
			all = append(all, z[key]/k[key])
		}
	}
	return results.SpreadOf(all)
}

func (r *report) absolute(row, broker, key string) results.Spread {
	return over(slices.Collect(maps.Values(r.results[row][broker])), key)
}

// over is the spread of the value named key where there is one.
func over(all []results.Values, key string) results.Spread {
	var xs []float64
	for _, v := range all {
		if x, ok := v[key]; ok {
			xs = append(xs, x)
		}
	}
	return results.SpreadOf(xs)
}

// verdict holds a floor against what was measured. ok is false where nothing was.
func (r *report) verdict(f *floor) (name string, s results.Spread, unit string, ok bool) {
	for _, w := range r.rows {
		for _, g := range w.figures {
			if w.id != f.row || g.slot != f.slot {
				continue
			}
			if f.absolute {
				s, unit = r.absolute(w.id, zurauName, g.key), g.unit
			} else {
				s = r.ratio(w.id, g.key)
			}
			return g.name, s, unit, s.N > 0
		}
	}
	return "", results.Spread{}, "", false
}

// missed lists the floors that the rows of the run did not reach, and what failed.
func (r *report) missed() []string {
	all := slices.Clone(r.errors)
	if r.quick() {
		return all
	}
	for _, f := range floors {
		if !slices.ContainsFunc(r.rows, func(w *row) bool { return w.id == f.row }) {
			continue
		}
		name, s, unit, ok := r.verdict(&f)
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("%s %s: not measured", f.row, name))
		case !f.reached(s.Median):
			all = append(all, fmt.Sprintf("%s %s: %s, floor %s", f.row, name, results.Significant(s.Median), f.text(unit)))
		}
	}
	return all
}

func (r *report) write(w io.Writer, markdown bool) {
	p := results.Printer{W: w, Markdown: markdown}
	if r.quick() {
		p.Note("This was a quick run: Kafka was not warm, and nothing follows from the figures but that the suite works.")
	}
	p.Title("Ratios, zurau to Kafka: median (minimum–maximum)")
	p.Table(r.ratios())
	p.Note("Latency is p99 of a produce request; of P5 it is p99.9 end to end, of P6 the time from start to the first answer, of P8 and P9 the time from start after a kill until all partitions answer. " +
		"Memory is VmRSS at the end of the run.")
	p.Title("Floors")
	p.Table(r.floors())
	p.Title("Absolute figures")
	p.Table(r.absolutes())
	p.Title("Machine")
	for _, m := range r.machines {
		p.Table(m.Table())
	}
	p.Note(fmt.Sprintf("Before the measured runs the load average was %s; during them other work, the kernel's writeback included, kept %s "+
		"CPUs busy.", r.load.Text(""), r.others.Text("")))
	for _, e := range r.errors {
		p.Note("Failed: " + e)
	}
}

func (r *report) ratios() [][]string {
	t := [][]string{{"row", "throughput", "CPU", "latency", "memory", "rounds", "work"}}
	for _, w := range r.rows {
		cells, n := make([]string, slots), 0
		for i := range cells {
			cells[i] = "–"
		}
		for _, f := range w.figures {
			if f.slot < slots {
				s := r.ratio(w.id, f.key)
				cells[f.slot], n = s.Text("x"), max(n, s.N)
			}
		}
		t = append(t, append(append([]string{w.id}, cells...), fmt.Sprint(n), w.work))
	}
	return t
}

func (r *report) floors() [][]string {
	t := [][]string{{"row", "figure", "floor", "measured", ""}}
	for _, f := range floors {
		name, s, unit, ok := r.verdict(&f)
		if !ok {
			continue
		}
		says := "missed"
		if f.reached(s.Median) {
			says = "reached"
		}
		measured := s.Text("x")
		if f.absolute {
			measured = s.Text(" " + unit)
		}
		t = append(t, []string{f.row, name, f.text(unit), measured, says})
	}
	return t
}

func (r *report) absolutes() [][]string {
	t := [][]string{{"row", "figure", "unit", "Kafka", "zurau", "limit"}}
	for _, w := range r.rows {
		for _, f := range w.figures {
			limit := ""
			if s := over(r.limits[w.id], f.key); s.N > 0 {
				limit = s.Text("") + " (" + w.limit[0] + ")"
			}
			t = append(t, []string{w.id, f.name, f.unit, r.absolute(w.id, kafkaName, f.key).Text(""), r.absolute(w.id, zurauName, f.key).Text(""), limit})
		}
	}
	return t
}
