// Package results keeps what benchmarks measured: raw lines of JSON, spreads over rounds, tables, and what can be said of
// the difference between two runs.
//
// # A results file
//
// Each line is an object (Line). The first is the machine's; then one for each run. A file may hold several rounds of
// the same rows; values of one round belong together, since the machine was in one state for them.
//
// # Compare
//
// Of two files, values of the same row, level and round make a pair. The logarithms of the pairs' ratios have a mean, and
// Student's t gives the interval in which the true one lies with 95 %. Where that has 1 in it, the difference is noise.
// Pairs are only worth their name where the two were measured in turn: a round of one, a round of the other.
package results
