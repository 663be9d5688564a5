package main

import (
	"fmt"
	"strings"

	"github.com/zurau/zurau/benchmarks/results"
)

// summary is the line's figures, as progress shows them.
func summary(l *results.Line, r *row) string {
	if l.Error != "" {
		return l.Error
	}
	var s []string
	for _, f := range r.figures {
		if v, ok := l.Values[f.key]; ok {
			s = append(s, fmt.Sprintf("%s %s %s", f.name, results.Significant(v), f.unit))
		}
	}
	return strings.Join(s, ", ")
}
