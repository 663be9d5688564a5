package main

import "fmt"

// A floor is what a row must reach.
type floor struct {
	row  string
	slot slot
	// absolute floors are about zurau's own value, others about the ratio to Kafka's.
	absolute bool
	least    float64 // 0: none
	most     float64 // 0: none
}

// floors are the first ones that were set; the goals beyond them are in BENCHMARKS.md.
var floors = []floor{
	{row: "P1a", slot: throughput, least: 2.5},
	{row: "P1a", slot: cpu, most: 0.4},
	{row: "P2", slot: throughput, least: 1.5},
	{row: "P2", slot: cpu, most: 0.5},
	{row: "P3b", slot: throughput, least: 10},
	{row: "P4", slot: throughput, least: 1.2},
	{row: "P4", slot: cpu, most: 0.8},
	{row: "P6", slot: memory, absolute: true, most: 40},
	{row: "P6", slot: latency, absolute: true, most: 100},
}

func (f *floor) reached(v float64) bool {
	return (f.least == 0 || v >= f.least) && (f.most == 0 || v <= f.most)
}

// text is what the floor asks for; unit is the figure's.
func (f *floor) text(unit string) string {
	if !f.absolute {
		unit = "x"
	} else {
		unit = " " + unit
	}
	if f.least > 0 {
		return fmt.Sprintf("≥ %g%s", f.least, unit)
	}
	return fmt.Sprintf("≤ %g%s", f.most, unit)
}
