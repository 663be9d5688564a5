package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/benchmarks/results"
)

const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
)

// A point is a row's medians at one level.
type point struct {
	row    string
	params results.Values
	values results.Values
	hist   string
}

// draw draws all charts that lines have figures for into a folder and returns the names of the files.
func draw(lines []results.Line, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var names []string
	all := profiles(lines)
	for _, profile := range slices.Sorted(maps.Keys(all)) {
		levels := all[profile]
		for _, c := range []struct {
			name string
			draw func(string, map[string][]point) (*plot.Plot, error)
		}{
			{"throughput-latency", throughputLatency}, {"cpu", cpuBars}, {"growth-files", over("files")}, {"growth-streams", over("streams")},
			{"growth-bytes", over("bs")}, {"percentiles", percentiles},
		} {
			p, err := c.draw(profile, levels)
			if err != nil {
				return names, fmt.Errorf("%s of %s: %w", c.name, profile, err)
			}
			if names, err = save(p, filepath.Join(dir, clean(profile)+"-"+c.name), names); err != nil {
				return names, err
			}
		}
	}
	p, err := ratios(lines)
	if err != nil {
		return names, fmt.Errorf("ratios: %w", err)
	}
	return save(p, filepath.Join(dir, "versus-ratios"), names)
}

// save writes a chart in both forms, if there is one, and adds the files to names.
func save(p *plot.Plot, stem string, names []string) ([]string, error) {
	if p == nil {
		return names, nil // nothing to show
	}
	for _, form := range []string{".svg", ".png"} {
		if err := p.Save(width, height, stem+form); err != nil {
			return names, err
		}
		names = append(names, stem+form)
	}
	return names, nil
}

// clean makes a file's name of a profile's.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// profiles takes the medians over rounds, by profile and level; rows stay in the order in which they came.
func profiles(lines []results.Line) map[string]map[string][]point {
	type key struct{ profile, who, row string }
	var order []key
	all, last := map[key][]results.Values{}, map[key]results.Line{}
	for _, l := range lines {
		if !l.Measured() {
			continue
		}
		k := key{cmp.Or(l.Profile, "versus"), l.Who(), l.Row}
		if all[k] == nil {
			order = append(order, k)
		}
		all[k], last[k] = append(all[k], l.Values), l
	}
	out := map[string]map[string][]point{}
	for _, k := range order {
		if out[k.profile] == nil {
			out[k.profile] = map[string][]point{}
		}
		p := point{k.row, last[k].Params, results.Medians(all[k]), last[k].Histogram}
		out[k.profile][k.who] = append(out[k.profile][k.who], p)
	}
	return out
}

// axes are a plot with its names.
func axes(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	p.Add(plotter.NewGrid())
	return p
}

// logarithmic makes axes logarithmic where their values allow it.
func logarithmic(a *plot.Axis) {
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// series adds a line with points for a level.
func series(p *plot.Plot, n int, name string, xy plotter.XYs) error {
	line, points, err := plotter.NewLinePoints(xy)
	if err != nil {
		return err
	}
	line.Color, points.Color, points.Shape = plotutil.Color(n), plotutil.Color(n), plotutil.Shape(n)
	line.Dashes = plotutil.Dashes(n)
	p.Add(line, points)
	p.Legend.Add(name, line, points)
	return nil
}

// throughputLatency is a cloud of rows: what they reach, and what that costs in p99.
func throughputLatency(profile string, levels map[string][]point) (*plot.Plot, error) {
	p := axes(profile, "MB/s", "latency p99, ms")
	drawn := 0
	for n, who := range slices.Sorted(maps.Keys(levels)) {
		var xy plotter.XYs
		for _, x := range levels[who] {
			if mb, ms := x.values["MB_s"], x.values["lat_p99_ms"]; mb > 0 && ms > 0 {
				xy = append(xy, plotter.XY{X: mb, Y: ms})
			}
		}
		if len(xy) == 0 {
			continue
		}
		s, err := plotter.NewScatter(xy)
		if err != nil {
			return nil, err
		}
		s.Color, s.Shape = plotutil.Color(n), plotutil.Shape(n)
		p.Add(s)
		p.Legend.Add(who, s)
		drawn += len(xy)
	}
	if drawn == 0 {
		return nil, nil
	}
	logarithmic(&p.X)
	logarithmic(&p.Y)
	return p, nil
}

// cpuBars are the CPU seconds for each GB, row by row, the levels beside each other.
func cpuBars(profile string, levels map[string][]point) (*plot.Plot, error) {
	var rows []string
	for _, who := range slices.Sorted(maps.Keys(levels)) {
		for _, x := range levels[who] {
			if x.values["cpu_s_per_GB"] > 0 && !slices.Contains(rows, x.row) {
				rows = append(rows, x.row)
			}
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	p := axes(profile, "", "CPU seconds for each GB")
	wide := width * 0.7 / vg.Length(len(rows)*len(levels))
	for n, who := range slices.Sorted(maps.Keys(levels)) {
		heights := make(plotter.Values, len(rows))
		for _, x := range levels[who] {
			if i := slices.Index(rows, x.row); i >= 0 {
				heights[i] = x.values["cpu_s_per_GB"]
			}
		}
		bars, err := plotter.NewBarChart(heights, wide)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(n), 0
		bars.Offset = wide * vg.Length(float64(n)-float64(len(levels)-1)/2)
		p.Add(bars)
		p.Legend.Add(who, bars)
	}
	p.NominalX(rows...)
	p.Y.Max *= 1.25 // room for the legend
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/6, -1, -0.5
	return p, nil
}

// over draws requests a second over one of the parameters, for rows that differ in it alone.
func over(param string) func(string, map[string][]point) (*plot.Plot, error) {
	return func(profile string, levels map[string][]point) (*plot.Plot, error) {
		p := axes(profile, param, "requests a second")
		n := 0
		for _, who := range slices.Sorted(maps.Keys(levels)) {
			curves := map[string]plotter.XYs{}
			for _, x := range levels[who] {
				if x.params[param] > 0 && x.values["ops_s"] > 0 {
					k := others(x.params, param)
					curves[k] = append(curves[k], plotter.XY{X: x.params[param], Y: x.values["ops_s"]})
				}
			}
			for _, k := range slices.Sorted(maps.Keys(curves)) {
				xy := curves[k]
				slices.SortFunc(xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
				if len(xy) < 2 || xy[0].X == xy[len(xy)-1].X {
					continue // no growth
				}
				if err := series(p, n, strings.TrimSpace(who+" "+k), xy); err != nil {
					return nil, err
				}
				n++
			}
		}
		if n == 0 {
			return nil, nil
		}
		logarithmic(&p.X)
		logarithmic(&p.Y)
		return p, nil
	}
}

// others names the parameters beside one, those that grow along with files left out.
func others(params results.Values, but string) string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if k == but || (but == "files" && k == "streams") || (but == "streams" && k == "files") {
			continue
		}
		s = append(s, fmt.Sprintf("%s=%g", k, params[k]))
	}
	return strings.Join(s, " ")
}

// most curves of percentiles in one plot: more are a scribble.
const mostCurves = 9

// percentiles draws the last round's latencies over their percentiles, each further nine as wide as the one before it.
func percentiles(profile string, levels map[string][]point) (*plot.Plot, error) {
	p := axes(profile, "percentile", "latency, ms")
	n := 0
	for _, who := range slices.Sorted(maps.Keys(levels)) {
		for _, x := range levels[who] {
			if x.hist == "" || n == mostCurves {
				continue
			}
			h, err := load.Decoded(x.hist)
			if err != nil {
				return nil, err
			}
			var xy plotter.XYs
			for at := 1.0; at <= 10000 && at <= float64(h.TotalCount()); at *= math.Sqrt2 {
				xy = append(xy, plotter.XY{X: at, Y: float64(h.ValueAtPercentile(100*(1-1/at))) / 1e6})
			}
			if len(xy) < 2 {
				continue
			}
			line, err := plotter.NewLine(xy)
			if err != nil {
				return nil, err
			}
			line.Color, line.Dashes = plotutil.Color(n), plotutil.Dashes(n)
			p.Add(line)
			p.Legend.Add(who+" "+x.row, line)
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	p.Legend.Left = true
	logarithmic(&p.X)
	logarithmic(&p.Y)
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "0"}, {Value: 2, Label: "50"}, {Value: 10, Label: "90"}, {Value: 100, Label: "99"}, {Value: 1000, Label: "99.9"}, {Value: 10000, Label: "99.99"}}
	return p, nil
}
