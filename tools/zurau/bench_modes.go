package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/suite"
)

// benchMode is a way in which a log is written and flushed, as keys of a job.
type benchMode struct{ name, keys string }

// benchModes are those that modes compares. BATCHES stands for the batches between two flushes.
var benchModes = []benchMode{
	{"async", "ioengine=psync"},
	{"async-direct", "ioengine=io_uring\ndirect=1"},
	{"async-bounded", "ioengine=psync\nfdatasync=BATCHES\n#zurau: flush_ms=100"},
	{"sync-fdatasync", "ioengine=psync\nfdatasync=1"},
	{"sync-dsync", "ioengine=psync\nsync=dsync"},
	{"sync-direct", "ioengine=io_uring\ndirect=1\nsync=dsync"},
	{"sync-direct-no-ring", "ioengine=psync\ndirect=1\nsync=dsync"},
}

// benchBounded is the batches between two flushes of async-bounded.
const benchBounded = 256

type benchModesFlags struct {
	benchFlags
	sizes   []string
	writers []int
	logs    []int
	broker  bool
}

func benchModesCommand() *cobra.Command {
	f := &benchModesFlags{}
	f.levels = []string{suite.Engine, suite.Broker}
	c := &cobra.Command{
		Use:   "modes",
		Short: "Compare the flush modes",
		Long: fmt.Sprintf(`Measure the ways in which a log may be written and flushed, beside each other: throughput, latency to p99.99, CPU for each GB, and the bytes
that were acknowledged and would be lost if the power went now.

  async                through the page cache, acknowledged when written
  async-direct         past the page cache, acknowledged when written
  async-bounded        as async, flushed after %d batches (flush.messages) or 100 ms (flush.ms)
  sync-fdatasync       through the page cache, acknowledged when flushed by fdatasync; writers share flushes
  sync-dsync           the same by pwritev2 with RWF_DSYNC
  sync-direct          O_DIRECT and RWF_DSYNC through a ring, many logs in flight
  sync-direct-no-ring  the same by pwritev2, where io_uring is refused

The engine is measured in process; with --broker, a broker over the wire too; with --giouring, blocks written to files by giouring's ring
beside the modes that use one, which is no log.`, benchBounded),
		Example: `  zurau bench modes --directory /data
  zurau bench modes --bs 1k,64k --writers 1,32,1024 --logs 1,8 --rounds 3`,
		Args: argsBetween(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return f.compare(c) },
	}
	f.add(c)
	f.addGiouring(c)
	c.Flags().StringSliceVar(&f.sizes, "bs", []string{"4k", "64k"}, "`SIZES` of a batch")
	c.Flags().IntSliceVar(&f.writers, "writers", []int{32}, "`NUMBERS` of writers, each with one append in flight")
	c.Flags().IntSliceVar(&f.logs, "logs", []int{1, 8}, "`NUMBERS` of logs")
	c.Flags().BoolVar(&f.broker, "broker", false, "measure a broker as well")
	return c
}

func (f *benchModesFlags) compare(c *cobra.Command) error {
	if len(f.bootstrap) > 0 {
		f.broker = true
	}
	if !f.broker {
		f.levels = []string{suite.Engine}
	}
	text, err := f.job()
	if err != nil {
		return err
	}
	file, err := job.Parse("modes", []byte(text))
	if err != nil {
		return usageError{fmt.Errorf("--bs, --writers or --logs: %w", err)}
	}
	return f.measure(c, []*job.File{file}, false)
}

// job writes the modes as a job file, each with all sizes, numbers of writers and of logs.
func (f *benchModesFlags) job() (string, error) {
	var b strings.Builder
	b.WriteString("[global]\nrw=write\nruntime=3\ntime_based=1\nsize=1g\n")
	for _, size := range f.sizes {
		for _, writers := range f.writers {
			for _, logs := range f.logs {
				if writers < 1 || logs < 1 || logs > 1<<16 {
					return "", usagef("--writers %d, --logs %d: want 1 at least", writers, logs)
				}
				for _, m := range benchModes {
					keys := strings.ReplaceAll(m.keys, "BATCHES", fmt.Sprint(benchBounded))
					fmt.Fprintf(&b, "[%s-%s-w%d-l%d]\nstonewall\nbs=%s\niodepth=%d\nnrfiles=%d\n%s\n", m.name, size, writers, logs, size, writers, logs, keys)
				}
			}
		}
	}
	return b.String(), nil
}
