package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/tools/logfile"
)

type logVerifyFlags struct {
	json, records, notes bool
}

func logVerifyCommand() *cobra.Command {
	var f logVerifyFlags
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check segments, indexes, snapshots and checkpoints",
		Long: `Check a log directory, the folder of a partition, or a segment with its indexes: every batch's checksum and offsets,
whether indexes, producer snapshots, leader epochs and checkpoints agree with the log, and that every file can be read.
Nothing is changed. The broker should be stopped, or the files a copy.

One line tells one finding: the file, the position in it, its row of the recovery table (engine/RECOVERY.md), what was
found and what was expected. At the end each row that was met says what it means, and what the next start of zurau does
about it.

  problem  is not as it has to be
  torn     what a crash leaves above the recovery point: the next start heals it, and nothing that was promised is lost
  note     nothing is wrong: what a stop or a crash has left, or what is not zurau's; --notes shows them

The exit status is 1 where there are problems, and 0 where there are none. zurau log repair shows what can be done about them.`,
		Example: `  zurau log verify zurau-data
  zurau log verify /var/lib/kafka/orders-0/00000000000000000000.log`,
		Args: atLeastOnePath,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
	c.Flags().BoolVar(&f.records, "records", false, "decompress batches and walk their records too")
	c.Flags().BoolVar(&f.notes, "notes", false, "show notes, too")
	return c
}

func (f *logVerifyFlags) run(c *cobra.Command, paths []string) error {
	if err := exist(paths); err != nil {
		return err
	}
	warnOfUse(paths)
	ctx, stop := interruptible(c.Context())
	defer stop()
	p := readingProgress("verify", paths)
	defer p.clear()
	out := newOutput(c.OutOrStdout())
	v := logfile.Verify{Records: f.records, Stop: func() error { return context.Cause(ctx) }, Progress: p.add}
	v.Report = func(problem logfile.Problem) {
		if problem.Note() && !f.notes {
			return
		}
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
	if !f.json {
		f.explain(out, v.Summary)
	}
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

// explain says of each row that was shown what it means.
func (f *logVerifyFlags) explain(out *output, s logfile.Summary) {
	for _, row := range append(engine.States(), logfile.States()...) {
		n := s.States[row.State]
		if n == 0 || row.Harm == engine.Note && !f.notes {
			continue
		}
		fmt.Fprintf(out, "\n%s (%s): %s\n  means: %s\n  next start: %s\n", row.State, grouped(n), row.Seen, row.Means, row.Done)
	}
	if len(s.States) > 0 {
		fmt.Fprintln(out)
	}
}

// warnOfUse says where a broker is writing what is about to be read.
func warnOfUse(paths []string) {
	told := map[string]bool{}
	for _, path := range paths {
		if root, yes := logfile.InUse(path); yes && !told[root] {
			told[root] = true
			fmt.Fprintf(os.Stderr, "zurau: warning: %s is %v: what is written meanwhile may be told as torn or as a problem\n", root, logfile.ErrInUse)
		}
	}
}
