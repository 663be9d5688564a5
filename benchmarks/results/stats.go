package results

import (
	"fmt"
	"slices"
)

// A Spread is the median of N numbers between the smallest and the largest.
type Spread struct {
	Median, Min, Max float64
	N                int
}

// SpreadOf sorts all.
func SpreadOf(all []float64) Spread {
	n := len(all)
	if n == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{Median: (all[(n-1)/2] + all[n/2]) / 2, Min: all[0], Max: all[n-1], N: n}
}

// Text is the median, with minimum and maximum where there is more than one number. The unit stands behind the median.
func (s Spread) Text(unit string) string {
	switch s.N {
	case 0:
		return "–"
	case 1:
		return Significant(s.Median) + unit
	}
	return fmt.Sprintf("%s%s (%s–%s)", Significant(s.Median), unit, Significant(s.Min), Significant(s.Max))
}

// Significant writes a number with about three digits.
func Significant(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3f", f)
}

// Medians takes the median of each value.
func Medians(all []Values) Values {
	each := map[string][]float64{}
	for _, v := range all {
		for k, x := range v {
			each[k] = append(each[k], x)
		}
	}
	m := Values{}
	for k, xs := range each {
		m[k] = SpreadOf(xs).Median
	}
	return m
}
