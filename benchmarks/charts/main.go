package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/zurau/zurau/benchmarks/results"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run draws and returns the exit status: 0 done, 1 failed, 2 called wrongly.
func run(args []string, out io.Writer) int {
	f := flag.NewFlagSet("charts", flag.ContinueOnError)
	dir := f.String("out", ".", "folder for the files")
	if err := f.Parse(args); err != nil || f.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: charts [-out DIR] FILE.jsonl...")
		return 2
	}
	lines, err := results.ReadAll(f.Args())
	var names []string
	if err == nil {
		names, err = draw(lines, *dir)
	}
	for _, n := range names {
		fmt.Fprintln(out, n)
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("nothing in %v can be drawn", f.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		return 1
	}
	return 0
}
