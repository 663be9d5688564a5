// Command giouring runs the device level of the benchmark suite with the rings of github.com/pawelgaczynski/giouring instead of this
// project's: the same program in everything else, so that what differs is the binding. It is what zurau bench runs for --giouring:
//
//	giouring [-directory DIR] [-results FILE.jsonl] JOB.fio
//
// It is a module of its own because giouring links only with -ldflags=-checklinkname=0.
package main
