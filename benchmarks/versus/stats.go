package main

import (
	"fmt"
	"slices"
)

// A spread is the median of some numbers between the smallest and the largest.
type spread struct {
	median, min, max float64
	n                int
}

// spreadOf sorts all.
func spreadOf(all []float64) spread {
	n := len(all)
	if n == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{median: (all[(n-1)/2] + all[n/2]) / 2, min: all[0], max: all[n-1], n: n}
}

// text is the median, with minimum and maximum where there is more than one number. The unit stands behind the median.
func (s spread) text(unit string) string {
	switch s.n {
	case 0:
		return "–"
	case 1:
		return significant(s.median) + unit
	}
	return fmt.Sprintf("%s%s (%s–%s)", significant(s.median), unit, significant(s.min), significant(s.max))
}

// significant writes a number with about three digits.
func significant(f float64) string {
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

// medians takes the median of each value.
func medians(all []values) values {
	each := map[string][]float64{}
	for _, v := range all {
		for k, x := range v {
			each[k] = append(each[k], x)
		}
	}
	m := values{}
	for k, xs := range each {
		m[k] = spreadOf(xs).median
	}
	return m
}
