package suite

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/zurau/zurau/benchmarks/results"
)

// levels in the order of the report.
var levelOrder = []string{Giouring, Device, Engine, Broker}

// A row of the report is a section of a profile.
type rowKey struct{ profile, row string }

// A Report is what lines come to, the levels beside each other.
type Report struct {
	lines  []results.Line
	rows   []rowKey
	levels []string
	values map[rowKey]map[string]map[int]results.Values // by level and round
}

// Summarize makes a report of lines.
func Summarize(lines []results.Line) *Report {
	r := &Report{lines: lines, values: map[rowKey]map[string]map[int]results.Values{}}
	seen := map[string]bool{}
	for _, l := range lines {
		if !l.Measured() {
			continue
		}
		k := rowKey{l.Profile, l.Row}
		if r.values[k] == nil {
			r.rows, r.values[k] = append(r.rows, k), map[string]map[int]results.Values{}
		}
		if r.values[k][l.Who()] == nil {
			r.values[k][l.Who()] = map[int]results.Values{}
		}
		r.values[k][l.Who()][l.Round] = l.Values
		seen[l.Who()] = true
	}
	for _, level := range levelOrder {
		if seen[level] {
			r.levels = append(r.levels, level)
			delete(seen, level)
		}
	}
	for who := range seen { // of other results files
		r.levels = append(r.levels, who)
	}
	slices.Sort(r.levels[len(r.levels)-len(seen):])
	return r
}

// spread is a figure over the rounds.
func (r *Report) spread(k rowKey, level, key string) results.Spread {
	var all []float64
	for _, v := range r.values[k][level] {
		if x, ok := v[key]; ok {
			all = append(all, x)
		}
	}
	return results.SpreadOf(all)
}

// ratio is a figure of one level by that of another, round by round.
func (r *Report) ratio(k rowKey, level, to, key string) results.Spread {
	var all []float64
	for round, v := range r.values[k][level] {
		if x := r.values[k][to][round][key]; x > 0 {
			all = append(all, v[key]/x)
		}
	}
	return results.SpreadOf(all)
}

// Write writes the tables: what the levels reach and keep of the one below, their latencies, what it costs, and the machine.
func (r *Report) Write(w io.Writer, markdown bool) {
	p := results.Printer{W: w, Markdown: markdown}
	if len(r.rows) > 0 {
		p.Title("Throughput, MB/s: median (minimum–maximum) of the rounds, and what a level keeps of the one below it")
		p.Table(r.throughput())
		p.Title("Latency in ms: median, p99, p99.99")
		p.Table(r.latency())
		p.Title("Cost")
		p.Table(r.cost())
	}
	for _, n := range r.notes() {
		p.Note(n)
	}
	for _, l := range r.lines {
		if l.Machine != nil {
			p.Title("Machine")
			p.Table(l.Machine.Table())
			break
		}
	}
}

func (r *Report) name(k rowKey) string {
	if k.profile == "" || len(r.profiles()) == 1 {
		return k.row
	}
	return k.profile + "/" + k.row
}

func (r *Report) profiles() map[string]bool {
	all := map[string]bool{}
	for _, k := range r.rows {
		all[k.profile] = true
	}
	return all
}

func (r *Report) throughput() [][]string {
	head := append([]string{"row"}, r.levels...)
	for i := 1; i < len(r.levels); i++ {
		head = append(head, r.levels[i]+" / "+r.levels[i-1])
	}
	t := [][]string{append(head, "requests a second")}
	for _, k := range r.rows {
		line := []string{r.name(k)}
		for _, l := range r.levels {
			line = append(line, r.spread(k, l, "MB_s").Text(""))
		}
		for i := 1; i < len(r.levels); i++ {
			line = append(line, r.ratio(k, r.levels[i], r.levels[i-1], "MB_s").Text("x"))
		}
		t = append(t, append(line, r.each(k, "ops_s")))
	}
	return t
}

// each is the medians of the levels, one after the other.
func (r *Report) each(k rowKey, key string) string {
	var s []string
	for _, l := range r.levels {
		if x := r.spread(k, l, key); x.N > 0 {
			s = append(s, results.Significant(x.Median))
		} else {
			s = append(s, "–")
		}
	}
	return strings.Join(s, ", ")
}

func (r *Report) latency() [][]string {
	t := [][]string{append([]string{"row"}, r.levels...)}
	for _, k := range r.rows {
		line := []string{r.name(k)}
		for _, l := range r.levels {
			var s []string
			for _, q := range []string{"lat_p50_ms", "lat_p99_ms", "lat_p9999_ms"} {
				if x := r.spread(k, l, q); x.N > 0 {
					s = append(s, results.Significant(x.Median))
				}
			}
			line = append(line, strings.Join(s, ", "))
		}
		t = append(t, line)
	}
	return t
}

// costs are the columns of the table of that name.
var costs = []struct{ key, name string }{
	{"cpu_s_per_GB", "CPU, s/GB"}, {"cpu_us_per_op", "CPU, µs/request"}, {"client_cpu_us_per_op", "client's CPU, µs/request"},
	{"rss_MB", "resident, MB"},
	{"cgroup_peak_MB", "with page cache at most, MB"}, {"switches_per_op", "switches/request"}, {"calls_per_op", "calls/request"}, {"at_risk_max_MB", "at risk at most, MB"},
	{"recovery_MB_s", "recovery beside, MB/s"},
}

func (r *Report) cost() [][]string {
	head := []string{"row", "level"}
	for _, c := range costs {
		head = append(head, c.name)
	}
	t := [][]string{head}
	for _, k := range r.rows {
		for _, l := range r.levels {
			if len(r.values[k][l]) == 0 {
				continue
			}
			line := []string{r.name(k), l}
			for _, c := range costs {
				text := ""
				if s := r.spread(k, l, c.key); s.N > 0 {
					text = results.Significant(s.Median)
				}
				line = append(line, text)
			}
			t = append(t, line)
		}
	}
	return t
}

// steadyDrift is how much a rate may have risen or fallen within a run that is called steady.
const steadyDrift = 0.1

// notes say what a reader should know before believing the tables.
func (r *Report) notes() []string {
	var all, drifting, late, over []string
	var others []float64
	for _, l := range r.lines {
		if l.Kind != results.KindRun {
			continue
		}
		row := l.Row + " (" + l.Who() + ")"
		if l.Error != "" {
			all = append(all, "Round "+fmt.Sprint(l.Round)+", "+row+": "+l.Error)
			continue
		}
		others = append(others, l.OtherCores)
		if math.Abs(l.Values["drift"]) > steadyDrift && !slices.Contains(drifting, row) {
			drifting = append(drifting, row)
		}
		if l.Values["unsent"] > 0 && !slices.Contains(over, row) {
			over = append(over, row)
		}
		if l.Values["late_p99_ms"] > max(1, l.Values["lat_p99_ms"]/4) && !slices.Contains(late, row) {
			late = append(late, row)
		}
	}
	if len(drifting) > 0 {
		all = append(all, fmt.Sprintf("Not steady, the rate rose or fell by more than %.0f %% within a run: %s.", 100*steadyDrift, strings.Join(drifting, ", ")))
	}
	if len(over) > 0 {
		all = append(all, "Asked for more than it gives, so that latency is a matter of how long the run was: "+strings.Join(over, ", ")+".")
	}
	if len(late) > 0 {
		all = append(all, "Streams were busy or waited for a processor when requests were due, which is in their latency: "+strings.Join(late, ", ")+".")
	}
	if len(others) > 0 {
		all = append(all, "Other work, the kernel's writeback included, kept "+results.SpreadOf(others).Text("")+" CPUs busy during the runs.")
	}
	if slices.ContainsFunc(r.lines, func(l results.Line) bool { return l.Machine != nil && l.Machine.Quick }) {
		all = append(all, "There were quick runs: they show that the suite works, and their figures mean nothing.")
	}
	return all
}
