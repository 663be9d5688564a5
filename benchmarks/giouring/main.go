package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/results"
	"github.com/zurau/zurau/benchmarks/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// run measures and returns the exit status: 0 done, 1 failed, 2 called wrongly.
func run(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("giouring", flag.ContinueOnError)
	dir := f.String("directory", ".", "folder on the disk that is measured")
	lines := f.String("results", "", "file of lines to append to (default: standard output)")
	if err := f.Parse(args); err != nil || f.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: giouring [-directory DIR] [-results FILE.jsonl] JOB.fio")
		return 2
	}
	if err := measure(ctx, f.Arg(0), *dir, *lines); err != nil {
		fmt.Fprintln(os.Stderr, "giouring:", err)
		return 1
	}
	return 0
}

func measure(ctx context.Context, name, dir, lines string) (err error) {
	file, err := job.Load(name)
	if err != nil {
		return err
	}
	journal, last := &results.Journal{File: os.Stdout}, 0
	if lines != "" {
		if journal, last, err = results.Append(lines); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, journal.File.Close()) }()
	}
	s := suite.Session{
		Files: []*job.File{file}, Levels: []string{suite.Device}, Rounds: 1, First: last + 1, Journal: journal,
		Options: suite.Options{Dir: dir, Ring: newRing},
	}
	return s.Run(ctx)
}
