package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A report is what a run's lines come to.
type report struct {
	machines []*machine
	rows     []*row
	results  map[string]map[string]map[int]values // by row, broker, round
	limits   map[string][]values                  // by row
	errors   []string
	others   spread // CPUs that were busy with something else during measured runs
	load     spread // load average before measured runs
}

func summarize(lines []line, chosen []*row) *report {
	r := &report{results: map[string]map[string]map[int]values{}, limits: map[string][]values{}}
	var others, load []float64
	for _, l := range lines {
		switch {
		case l.Kind == kindMachine:
			r.machines = append(r.machines, l.Machine)
		case l.Error != "":
			if l.Phase == phaseResult || l.Kind == kindLimit {
				r.errors = append(r.errors, l.Error)
			}
		case l.Kind == kindLimit:
			r.limits[l.Row] = append(r.limits[l.Row], l.Values)
		case l.Phase == phaseSample:
			others, load = append(others, l.OtherCores), append(load, l.LoadBefore)
		case l.Phase == phaseResult:
			if r.results[l.Row] == nil {
				r.results[l.Row] = map[string]map[int]values{kafkaName: {}, zurauName: {}}
			}
			r.results[l.Row][l.Broker][l.Round] = l.Values
		}
	}
	r.others, r.load = spreadOf(others), spreadOf(load)
	for _, w := range chosen {
		if r.results[w.id] != nil {
			r.rows = append(r.rows, w)
		}
	}
	return r
}

// quick reports whether a run among these left the warm-up out.
func (r *report) quick() bool {
	return slices.ContainsFunc(r.machines, func(m *machine) bool { return m.Quick })
}

// ratio is zurau's value by Kafka's, round by round.
func (r *report) ratio(row, key string) spread {
	var all []float64
	for round, z := range r.results[row][zurauName] {
		k, ok := r.results[row][kafkaName][round]
		if ok && k[key] > 0 {
			all = append(all, z[key]/k[key])
		}
	}
	return spreadOf(all)
}

func (r *report) absolute(row, broker, key string) spread {
	return over(slices.Collect(maps.Values(r.results[row][broker])), key)
}

// over is the spread of the value named key where there is one.
func over(all []values, key string) spread {
	var xs []float64
	for _, v := range all {
		if x, ok := v[key]; ok {
			xs = append(xs, x)
		}
	}
	return spreadOf(xs)
}

// verdict holds a floor against what was measured. ok is false where nothing was.
func (r *report) verdict(f *floor) (name string, s spread, unit string, ok bool) {
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
			return g.name, s, unit, s.n > 0
		}
	}
	return "", spread{}, "", false
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
		case !f.reached(s.median):
			all = append(all, fmt.Sprintf("%s %s: %s, floor %s", f.row, name, significant(s.median), f.text(unit)))
		}
	}
	return all
}

func (r *report) write(w io.Writer, markdown bool) {
	p := printer{w, markdown}
	if r.quick() {
		p.note("This was a quick run: Kafka was not warm, and nothing follows from the figures but that the suite works.")
	}
	p.title("Ratios, zurau to Kafka: median (minimum–maximum)")
	p.table(r.ratios())
	p.note("Latency is p99 of a produce request; of P5 it is p99.9 end to end, of P6 the time from start to the first answer. " +
		"Memory is VmRSS at the end of the run.")
	p.title("Floors")
	p.table(r.floors())
	p.title("Absolute figures")
	p.table(r.absolutes())
	p.title("Machine")
	for _, m := range r.machines {
		p.table(m.table())
	}
	p.note(fmt.Sprintf("Before the measured runs the load average was %s; during them other work, the kernel's writeback included, kept %s "+
		"CPUs busy.", r.load.text(""), r.others.text("")))
	for _, e := range r.errors {
		p.note("Failed: " + e)
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
				cells[f.slot], n = s.text("x"), max(n, s.n)
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
		if f.reached(s.median) {
			says = "reached"
		}
		measured := s.text("x")
		if f.absolute {
			measured = s.text(" " + unit)
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
			if s := over(r.limits[w.id], f.key); s.n > 0 {
				limit = s.text("") + " (" + w.limit[0] + ")"
			}
			t = append(t, []string{w.id, f.name, f.unit, r.absolute(w.id, kafkaName, f.key).text(""), r.absolute(w.id, zurauName, f.key).text(""), limit})
		}
	}
	return t
}

func (m *machine) table() [][]string {
	t := [][]string{{"machine", ""}}
	for _, l := range [][]string{
		{"CPU", fmt.Sprintf("%d × %s", m.CPUs, m.CPU)}, {"governor", m.Governor}, {"memory", fmt.Sprintf("%.1f GiB", m.MemoryMB/1024)},
		{"kernel", m.Kernel}, {"file system", m.FileSystem + ", " + m.MountOptions}, {"device", m.Device}, {"device write cache", m.WriteCache},
		{"dirty ratios", m.Dirty}, {"Go", m.Go}, {"Java", m.Java}, {"Kafka", m.Kafka}, {"Kafka's heap", m.Heap}, {"zurau", m.Zurau},
	} {
		if l[1] != "" {
			t = append(t, l)
		}
	}
	return t
}

// A printer writes the report's parts as text or Markdown.
type printer struct {
	w        io.Writer
	markdown bool
}

func (p printer) title(s string) {
	if p.markdown {
		s = "### " + s
	}
	fmt.Fprintf(p.w, "%s\n\n", s)
}

func (p printer) note(s string) { fmt.Fprintf(p.w, "%s\n\n", s) }

// table writes lines of cells, the first of which is the head; nothing where that is all. Columns are aligned in
// Markdown too, for who reads it as it is.
func (p printer) table(t [][]string) {
	if len(t) == 1 {
		fmt.Fprint(p.w, "Nothing was measured.\n\n")
		return
	}
	widths := make([]int, len(t[0]))
	for _, l := range t {
		for i, c := range l {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	edge, between := "", "  "
	if p.markdown {
		edge, between = "|", " | "
	}
	for n, l := range t {
		padded := make([]string, len(l))
		for i, c := range l {
			padded[i] = c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		}
		s := strings.Join(padded, between)
		if p.markdown {
			s = edge + " " + s + " " + edge
		}
		fmt.Fprintln(p.w, strings.TrimRight(s, " "))
		if n == 0 && p.markdown {
			fmt.Fprintln(p.w, edge+strings.Repeat("---"+edge, len(l)))
		}
	}
	fmt.Fprintln(p.w)
}
