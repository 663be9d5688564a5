package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/tools/logfile"
)

type logVerifyFlags struct {
	json, records bool
}

func logVerifyCommand() *cobra.Command {
	var f logVerifyFlags
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check segments, indexes, snapshots and checkpoints",
		Long: `Check a log directory, the folder of a partition, or a segment with its indexes: every batch's checksum and offsets,
whether indexes, producer snapshots, leader epochs and checkpoints agree with the log, and that every file can be read.
Nothing is changed. The broker must be stopped, or the files a copy.

One line tells one problem: the file, the position in it, what was found and what was expected. What a crash leaves above
the recovery point is called torn, and is no problem: the next start cuts it off. The exit status is 1 where there are
problems.`,
		Example: `  zurau log verify zurau-data
  zurau log verify /var/lib/kafka/orders-0/00000000000000000000.log`,
		Args: atLeastOnePath,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
	c.Flags().BoolVar(&f.records, "records", false, "decompress batches and walk their records too")
	return c
}

func (f *logVerifyFlags) run(c *cobra.Command, paths []string) error {
	if err := exist(paths); err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	p := readingProgress("verify", paths)
	defer p.clear()
	out := newOutput(c.OutOrStdout())
	v := logfile.Verify{Records: f.records, Stop: func() error { return context.Cause(ctx) }, Progress: p.add}
	v.Report = func(problem logfile.Problem) {
		p.clear()
		f.print(out, problem)
		_ = out.Flush() // one by one, as they are found; the error stays for the end
	}
	for _, path := range paths {
		if err := v.Path(path); err != nil {
			return out.done(err)
		}
	}
	v.Summary.Type = "summary"
	f.print(out, v.Summary)
	if err := out.done(nil); err != nil {
		return err
	}
	if v.Summary.Problems > 0 {
		return errReported
	}
	return nil
}

func (f *logVerifyFlags) print(out *output, item fmt.Stringer) {
	if f.json {
		_ = out.object(item) // the error stays for the end
		return
	}
	fmt.Fprintln(out, item)
}
