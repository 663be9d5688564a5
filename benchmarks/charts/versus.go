package main

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/zurau/zurau/benchmarks/results"
)

// The brokers of a comparison, as its lines name them.
const (
	ours   = "zurau"
	theirs = "kafka"
)

// aspects are what rows of a comparison are compared in; a row has one of each aspect's keys.
var aspects = []struct {
	name string
	keys []string
}{
	{"throughput", []string{"MB_s", "req_s"}},
	{"CPU", []string{"cpu_s_per_GB", "cpu_us_per_req", "cpu_cores"}},
	{"latency", []string{"e2e_p999_ms", "lat_p99_ms", "ready_ms", "killed_s"}},
	{"memory", []string{"rss_MB"}},
}

// ratioOf is our value by theirs, the median of the rounds in which there are both; 0 where there is none.
func ratioOf(rounds map[int]map[string]results.Values, keys []string) float64 {
	for _, key := range keys {
		var all []float64
		for _, by := range rounds {
			if x, y := by[ours][key], by[theirs][key]; x > 0 && y > 0 {
				all = append(all, x/y)
			}
		}
		if len(all) > 0 {
			return results.SpreadOf(all).Median
		}
	}
	return 0
}

// ratios draws what each row of a comparison came to: ours by theirs, on a logarithmic scale around 1.
func ratios(lines []results.Line) (*plot.Plot, error) {
	var rows []string
	of := map[string]map[int]map[string]results.Values{} // by row, round and broker
	for _, l := range lines {
		if !l.Measured() || l.Broker != ours && l.Broker != theirs || l.Profile != "" {
			continue
		}
		if of[l.Row] == nil {
			rows, of[l.Row] = append(rows, l.Row), map[int]map[string]results.Values{}
		}
		if of[l.Row][l.Round] == nil {
			of[l.Row][l.Round] = map[string]results.Values{}
		}
		of[l.Row][l.Round][l.Broker] = l.Values
	}
	slices.Sort(rows)
	p := axes("zurau beside Apache Kafka", "", "zurau / Kafka")
	drawn := 0
	for n, a := range aspects {
		var xy plotter.XYs
		for i, row := range rows {
			if r := ratioOf(of[row], a.keys); r > 0 {
				xy = append(xy, plotter.XY{X: float64(i), Y: r})
			}
		}
		if len(xy) == 0 {
			continue
		}
		s, err := plotter.NewScatter(xy)
		if err != nil {
			return nil, err
		}
		s.Color, s.Shape, s.Radius = plotutil.Color(n), plotutil.Shape(n), vg.Points(4)
		p.Add(s)
		p.Legend.Add(a.name, s)
		drawn += len(xy)
	}
	if drawn == 0 {
		return nil, nil
	}
	equal := plotter.NewFunction(func(float64) float64 { return 1 })
	equal.Width = vg.Points(1)
	p.Add(equal)
	logarithmic(&p.Y)
	p.Y.Min, p.Y.Max = min(p.Y.Min, 0.5), max(p.Y.Max*2, 2) // with room for the legend
	p.Y.Tick.Marker = times{}
	p.NominalX(rows...)
	return p, nil
}

// times are ticks of ratios, such as 0.1x and 10x.
type times struct{}

func (times) Ticks(low, high float64) []plot.Tick {
	var all []plot.Tick
	for decade := 0.001; decade <= 1000; decade *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if v := decade * n; v >= low && v <= high {
				all = append(all, plot.Tick{Value: v, Label: fmt.Sprintf("%.3gx", v)})
			}
		}
	}
	return all
}
